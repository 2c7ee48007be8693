package agent_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/message"
)

// nowhere records nothing.
type nowhere struct{ events int }

func (n *nowhere) Emit(events ...agent.Event) { n.events += len(events) }
func (n *nowhere) Commit(_ context.Context, c agent.Commit) error {
	n.events += len(c.Events)
	return nil
}
func (n *nowhere) Now() time.Time                                            { return time.Unix(0, 0) }
func (n *nowhere) Sleep(context.Context, time.Duration) error                { return nil }
func (n *nowhere) Steps(context.Context, string) ([]agent.StepRecord, error) { return nil, nil }
func (n *nowhere) Checkpoint(context.Context, string, string) (*agent.Tuple, error) {
	return nil, nil
}
func (n *nowhere) Checkpoints(context.Context, string, agent.CheckpointQuery) ([]*agent.Tuple, error) {
	return nil, nil
}

func BenchmarkRunWith200Tokens(b *testing.B) {
	g := agent.NewGraph[chat]("tokens").
		Node("speak", func(ctx agent.Context, _ chat) (agent.Update, error) {
			out := agent.StreamMessage(ctx, agent.MessageOptions{})
			for range 200 {
				out.Chunk(message.Chunk{Text: "word "})
			}
			return agent.Set("messages", []message.Message{out.Finish()}), nil
		}).
		Edge(agent.Start, "speak").MustCompile()
	n := &nowhere{}
	exec := agenttest.New(g).Execution()
	exec.Reader, exec.Recorder, exec.Clock = n, n, n
	exec.Input = json.RawMessage(`{"messages":[{"type":"human","id":"h1","content":"hi","additional_kwargs":{},"response_metadata":{}}]}`)
	b.ReportAllocs()
	for b.Loop() {
		if out, err := g.Run(b.Context(), exec); err != nil || out.Status != "success" {
			b.Fatal(out, err)
		}
	}
}

// onThread reads one checkpoint, as a thread with a long list of messages would.
type onThread struct {
	nowhere
	tuple *agent.Tuple
}

func (t *onThread) Checkpoint(context.Context, string, string) (*agent.Tuple, error) {
	return t.tuple, nil
}

func BenchmarkSuperstepOnLongThread(b *testing.B) {
	for _, n := range []int{10, 2000} {
		b.Run(map[int]string{10: "10 messages", 2000: "2000 messages"}[n], func(b *testing.B) {
			g := agent.NewGraph[chat]("long").
				Node("a", func(_ agent.Context, s chat) (agent.Update, error) {
					return agent.Set("messages", []message.Message{{Type: message.AI, ID: "new", Content: message.TextContent("answer")}}), nil
				}).
				Edge(agent.Start, "a").MustCompile()
			th := agenttest.New(g)
			var list []message.Message
			for range n {
				list = append(list, message.NewHuman("a message of a usual length, with some words in it"))
			}
			if _, err := th.Run(b.Context(), map[string]any{"messages": list}); err != nil {
				b.Fatal(err)
			}
			t := &onThread{}
			t.tuple, _ = th.Checkpoint(b.Context(), "", "")
			// Fork the list once, so that each run appends to the same prefix.
			exec := th.Execution()
			exec.Reader, exec.Recorder, exec.Clock = t, t, t
			exec.Input = json.RawMessage(`{"messages":[{"type":"human","id":"h1","content":"hi","additional_kwargs":{},"response_metadata":{}}]}`)
			b.ReportAllocs()
			for b.Loop() {
				if out, err := g.Run(b.Context(), exec); err != nil || out.Status != "success" {
					b.Fatal(out, err)
				}
			}
		})
	}
}
