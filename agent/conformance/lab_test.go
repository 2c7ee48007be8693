package conformance_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
)

// lab is a thread of one agent, whose runs it starts as a server would.
type lab struct {
	t      *testing.T
	agent  agent.Agent
	thread *agenttest.Thread
	items  *agenttest.Items
	start  time.Time
}

// run says what run to start. Neither input nor command: continue.
type run struct {
	input  string
	resume string
	// answers are those to the pending questions, in their order.
	answers       []string
	commandUpdate string
	before        []string
	configurable  map[string]json.RawMessage
	context       json.RawMessage
	metadata      map[string]json.RawMessage
	limit         int
}

type result struct {
	outcome agent.Outcome
	events  []agent.Event
}

func newLab(t *testing.T, a agent.Agent) *lab {
	t.Helper()
	thread := agenttest.New(graphOf(t, a, nil))
	thread.ID = uuid.NewString()
	thread.Clock().AutoAdvance = true
	items := &agenttest.Items{}
	thread.Items = items
	return &lab{t: t, agent: a, thread: thread, items: items, start: thread.Clock().Now()}
}

func humanInput(text string, more ...string) string {
	input := `{"messages":[{"type":"human","content":"` + text + `","id":"human-1"}]`
	for _, m := range more {
		input += "," + m
	}
	return input + "}"
}

func (l *lab) run(r run) result {
	l.t.Helper()
	return l.runIn(l.t.Context(), r)
}

func (l *lab) runIn(ctx context.Context, r run) result {
	l.t.Helper()
	l.thread.Config = agent.Config{
		Configurable: r.configurable, Context: r.context, Metadata: r.metadata, RecursionLimit: r.limit,
	}
	l.thread.SetGraph(graphOf(l.t, l.agent, r.configurable))
	var res agenttest.Result
	var err error
	switch {
	case r.resume != "" || r.answers != nil || r.commandUpdate != "":
		res, err = l.thread.Command(ctx, l.command(r))
	default:
		exec := l.thread.Execution()
		exec.InterruptBefore = r.before
		if r.input != "" {
			exec.Input = json.RawMessage(r.input)
		}
		res, err = l.thread.Start(ctx, exec)
	}
	require.NoError(l.t, err)
	return result{res.Outcome, res.Events}
}

// command is the command of a run.
func (l *lab) command(r run) agent.Command {
	l.t.Helper()
	cmd := agent.Command{Resume: json.RawMessage(r.resume), HasResume: r.resume != ""}
	if r.answers != nil {
		cmd.Resume, cmd.HasResume = l.answersByID(r.answers), true
	}
	var update map[string]json.RawMessage
	if r.commandUpdate != "" {
		require.NoError(l.t, json.Unmarshal([]byte(r.commandUpdate), &update))
	}
	for key, value := range update {
		cmd.Update = append(cmd.Update, agent.Write{Channel: key, Value: value})
	}
	return cmd
}

// state is the newest state, as the API shows it.
func (l *lab) state(subgraphs bool) *agent.Snapshot {
	l.t.Helper()
	head, err := l.thread.Checkpoint(l.t.Context(), "", "")
	require.NoError(l.t, err)
	require.NotNil(l.t, head)
	s, err := graphOf(l.t, l.agent, l.thread.Config.Configurable).SnapshotOf(l.t.Context(), l.thread, head, true, subgraphs)
	require.NoError(l.t, err)
	return s
}

func (l *lab) history(ns string) []*agent.Snapshot {
	l.t.Helper()
	all, err := l.thread.Snapshots(l.t.Context(), ns)
	require.NoError(l.t, err)
	return all
}

func (l *lab) edit(ns string, supersteps [][]agent.Edit) {
	l.t.Helper()
	require.NoError(l.t, l.thread.Edit(l.t.Context(), ns, supersteps...))
}

// update is a state update without a node's name.
func (l *lab) update(ns, values string) {
	l.t.Helper()
	l.edit(ns, [][]agent.Edit{{{Values: json.RawMessage(values)}}})
}

// elapsed is how long the agent slept.
func (l *lab) elapsed() time.Duration { return l.thread.Clock().Now().Sub(l.start) }

// value is a key of the state as JSON.
func (l *lab) value(key string) string {
	l.t.Helper()
	v, ok := l.state(false).State.Value(key)
	require.True(l.t, ok, key)
	return string(v.AppendJSON(nil))
}

// conversation lists the messages with their types.
func (l *lab) conversation() []string {
	l.t.Helper()
	var all []string
	for _, m := range l.state(false).State.Messages()["messages"].All() {
		all = append(all, m.Type+" "+m.Text())
	}
	return all
}

// pieces are the texts of the messages stream: chunks of streamed messages, and whole ones.
func (r result) pieces() []string {
	var all []string
	streamed := map[string]bool{}
	for _, e := range r.events {
		switch p := e.Payload.(type) {
		case agent.MessageStart:
			streamed[p.ID] = p.Streamed
		case agent.Delta:
			if streamed[p.ID] {
				all = append(all, p.Text)
			}
		case agent.MessageSnapshot:
			var m struct {
				Content string `json:"content"`
			}
			if json.Unmarshal(p.Message, &m) == nil {
				all = append(all, m.Content)
			}
		}
	}
	return all
}

// streamed are the texts of the messages that came in chunks.
func (r result) streamed() []string {
	texts := map[string]string{}
	var order []string
	for _, e := range r.events {
		switch p := e.Payload.(type) {
		case agent.MessageStart:
			if p.Streamed {
				order = append(order, p.ID)
			}
		case agent.Delta:
			texts[p.ID] += p.Text
		}
	}
	var all []string
	for _, id := range order {
		all = append(all, texts[id])
	}
	return all
}
