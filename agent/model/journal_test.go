package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/scripted"
)

// memory is a thread in memory: what runs commit is what the next one reads.
type memory struct {
	mu     sync.Mutex
	minted int
	tuples map[string][]*agent.Tuple
	steps  []agent.StepRecord
	events []agent.Event
}

func newMemory() *memory { return &memory{tuples: map[string][]*agent.Tuple{}} }

func (m *memory) mint() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.minted++
	return m.minted
}

func (m *memory) Checkpoint() string { return fmt.Sprintf("0198c0de-0000-7000-8000-%012d", m.mint()) }
func (m *memory) UUID() string       { return fmt.Sprintf("00000000-0000-4000-8000-%012d", m.mint()) }

// stoppedClock stands still: waits are over at once.
type stoppedClock struct{}

func (stoppedClock) Now() time.Time                                   { return time.UnixMilli(1764500000000) }
func (stoppedClock) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

func (m *memory) Emit(events ...agent.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, events...)
}

func (m *memory) Commit(_ context.Context, c agent.Commit) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, cp := range c.Checkpoints {
		m.tuples[cp.NS] = append(m.tuples[cp.NS], &agent.Tuple{Checkpoint: cp, Answers: map[string]agent.Answer{}})
	}
	for _, rec := range c.Tasks {
		t := m.find(rec.NS, rec.CheckpointID)
		kept := t.Tasks[:0:0]
		for _, old := range t.Tasks {
			if old.TaskID != rec.TaskID {
				kept = append(kept, old)
			}
		}
		t.Tasks = append(kept, rec)
	}
	m.steps = append(m.steps, c.Steps...)
	m.events = append(m.events, c.Events...)
	return nil
}

func (m *memory) find(ns, id string) *agent.Tuple {
	list := m.tuples[ns]
	for i := len(list) - 1; i >= 0; i-- {
		if id == "" || list[i].Checkpoint.ID == id {
			return list[i]
		}
	}
	return nil
}

// reader reads a memory.
type reader struct{ m *memory }

func (r reader) Checkpoint(_ context.Context, ns, id string) (*agent.Tuple, error) {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	return r.m.find(ns, id), nil
}

func (r reader) Checkpoints(context.Context, string, agent.CheckpointQuery) ([]*agent.Tuple, error) {
	return nil, errors.New("not used")
}

func (r reader) Steps(_ context.Context, origin string) ([]agent.StepRecord, error) {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	var found []agent.StepRecord
	for _, s := range r.m.steps {
		if s.Origin == origin {
			found = append(found, s)
		}
	}
	return found, nil
}

// run carries out one run and returns its events.
func (m *memory) run(t *testing.T, g *agent.Graph, change func(*agent.Execution)) (agent.Outcome, []agent.Event) {
	t.Helper()
	m.events = nil
	exec := agent.Execution{
		ThreadID: "t", RunID: m.UUID(), GraphID: g.Name(), Attempt: 1,
		Reader: reader{m}, Recorder: m, Clock: stoppedClock{}, IDs: m,
	}
	change(&exec)
	outcome, err := g.Run(t.Context(), exec)
	require.NoError(t, err)
	return outcome, m.events
}

func (m *memory) messages(t *testing.T) []message.Message {
	t.Helper()
	var all []message.Message
	for _, msg := range m.find("", "").Checkpoint.Channels["messages"].Value.List.All() {
		all = append(all, msg)
	}
	return all
}

// streamed returns what readers saw: each message's id with the text of its deltas.
func streamed(events []agent.Event) []string {
	var seen []string
	open := "" // the message that is streamed now
	for _, e := range events {
		switch p := e.Payload.(type) {
		case agent.MessageStart:
			open = ""
			if p.Streamed {
				open = p.ID
				seen = append(seen, p.ID+"=")
			}
		case agent.Delta:
			if p.ID == open {
				seen[len(seen)-1] += p.Text
			}
		case agent.MessageRef:
			seen = append(seen, "reset "+p.ID)
		case agent.MessageError:
			seen = append(seen, "failed "+p.ID)
		}
	}
	return seen
}

type chat struct {
	Messages message.List `json:"messages"`
}

func graph(t *testing.T, node func(ctx agent.Context, s chat) (agent.Update, error)) *agent.Graph {
	t.Helper()
	g, err := agent.NewGraph[chat]("chat").Node("n", node).Edge(agent.Start, "n").Edge("n", agent.End).Compile()
	require.NoError(t, err)
	return g
}

func start(e *agent.Execution) { e.Input = json.RawMessage(`{"messages":["hi"]}`) }

// A model call that was finished before a suspension is neither made nor streamed again.
func TestGenerateIsJournaled(t *testing.T) {
	t.Parallel()
	cursors := scripted.NewCursors()
	m := scripted.List{Answers: []string{"one", "two"}, Cursors: cursors}
	g := graph(t, func(ctx agent.Context, s chat) (agent.Update, error) {
		first, err := model.Generate(ctx, m, model.Request{Messages: s.Messages})
		if err != nil {
			return nil, err
		}
		if _, err := agent.Interrupt[string](ctx, "go on?"); err != nil {
			return nil, err
		}
		second, err := model.Generate(ctx, m, model.Request{Messages: s.Messages})
		if err != nil {
			return nil, err
		}
		return agent.Set("messages", []message.Message{first, second}), nil
	})
	thread := newMemory()
	outcome, events := thread.run(t, g, start)
	require.True(t, outcome.Suspended)
	seen := streamed(events)
	require.Len(t, seen, 1)
	require.Regexp(t, `=one$`, seen[0])

	head := thread.find("", "")
	question := head.Tasks[0].Interrupts[0].ID
	head.Answers[question] = agent.Answer{InterruptID: question, Value: json.RawMessage(`"yes"`)}
	outcome, events = thread.run(t, g, func(e *agent.Execution) { e.Resumed = []string{question} })
	require.Equal(t, agent.Outcome{Status: "success"}, outcome)
	require.Equal(t, 2, cursors.Calls(""), "each model call was made once")
	again := streamed(events)
	require.Len(t, again, 1, "the first message isn't streamed again")
	require.Regexp(t, `=two$`, again[0])

	messages := thread.messages(t)
	require.Len(t, messages, 3)
	require.Equal(t, seen[0], messages[1].ID+"=one", "readers saw the message that is stored")
	require.Equal(t, again[0], messages[2].ID+"=two")
	require.NotEqual(t, messages[1].ID, messages[2].ID)
}

// decisions 7: a second attempt keeps the message's id and readers drop the first.
func TestGenerateRetriesUnderOneID(t *testing.T) {
	t.Parallel()
	m := scripted.Script{Cursors: scripted.NewCursors(), Choose: scripted.Sequence(
		scripted.Turn{ID: "m1", Text: "half an", Err: errors.New("connection lost"), FailAfter: 1},
		scripted.Turn{ID: "m2", Text: "whole answer"},
	)}
	g := graph(t, func(ctx agent.Context, s chat) (agent.Update, error) {
		answer, err := model.Generate(ctx, m, model.Request{Messages: s.Messages}, model.Retry(agent.RetryPolicy{}))
		if err != nil {
			return nil, err
		}
		return agent.Set("messages", answer), nil
	})
	thread := newMemory()
	outcome, events := thread.run(t, g, start)
	require.Equal(t, agent.Outcome{Status: "success"}, outcome)
	require.Equal(t, []string{"m1=half ", "reset m1", "m1=whole answer"}, streamed(events))
	messages := thread.messages(t)
	require.Equal(t, "m1", messages[1].ID)
	require.Equal(t, "whole answer", messages[1].Text())
}

func TestGenerateFails(t *testing.T) {
	t.Parallel()
	m := scripted.Script{Choose: scripted.Always(scripted.Turn{ID: "m1", Text: "a b", Err: &agent.NamedError{Name: "RateLimit", Message: "slow down"}, FailAfter: 1})}
	g := graph(t, func(ctx agent.Context, s chat) (agent.Update, error) {
		answer, err := model.Generate(ctx, m, model.Request{Messages: s.Messages})
		return agent.Set("messages", answer), err
	})
	outcome, events := newMemory().run(t, g, start)
	require.Equal(t, &agent.ErrorInfo{Name: "RateLimit", Message: "slow down"}, outcome.Err)
	require.Equal(t, []string{"m1=a ", "failed m1"}, streamed(events))
}

// The tag nostream, and Unstreamed, keep tokens off the stream; the message comes whole.
func TestGenerateKeepsQuiet(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]model.Option{"nostream": model.Tags("nostream"), "unstreamed": model.Unstreamed()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := scripted.List{Answers: []string{"quiet"}, Cursors: scripted.NewCursors()}
			g := graph(t, func(ctx agent.Context, s chat) (agent.Update, error) {
				answer, err := model.Generate(ctx, m, model.Request{Messages: s.Messages}, opt, model.MessageName("bot"))
				return agent.Set("messages", answer), err
			})
			thread := newMemory()
			outcome, events := thread.run(t, g, start)
			require.Equal(t, agent.Outcome{Status: "success"}, outcome)
			require.Empty(t, streamed(events))
			answer := thread.messages(t)[1]
			require.Equal(t, "quiet", answer.Text())
			require.Equal(t, "bot", answer.Name)
			require.NotEmpty(t, answer.ID)
			for _, e := range events {
				if whole, ok := e.Payload.(agent.MessageSnapshot); ok { // a call that must not be seen says nothing of its model
					require.Equal(t, name == "unstreamed", string(whole.Meta.Extra["ls_model_type"]) == `"chat"`)
				}
			}
		})
	}
}

func TestGenerateTellsWhichModelSpeaks(t *testing.T) {
	t.Parallel()
	m := scripted.Script{Choose: scripted.Always(scripted.Say("hi")), Name: "demo"}
	g := graph(t, func(ctx agent.Context, s chat) (agent.Update, error) {
		answer, err := model.Generate(ctx, m, model.Request{Messages: s.Messages}, model.Tags("draft"))
		return agent.Set("messages", answer), err
	})
	_, events := newMemory().run(t, g, start)
	found := false
	for _, e := range events {
		if p, ok := e.Payload.(agent.MessageStart); ok && p.Streamed {
			found = true
			require.Equal(t, `"scripted"`, string(p.Meta.Extra["ls_provider"]))
			require.Equal(t, `"demo"`, string(p.Meta.Extra["ls_model_name"]))
			require.Equal(t, `"chat"`, string(p.Meta.Extra["ls_model_type"]))
			require.Contains(t, p.Meta.Tags, "draft")
		}
	}
	require.True(t, found)
}
