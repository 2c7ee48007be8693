package thread_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// invoking runs a graph by hand inside a node: no graph of the agent has it as a part.
func invoking() agent.Agent {
	inner := agent.NewGraph[board]("inner").
		Node("one", func(agent.Context, board) (agent.Update, error) { return agent.Set("log", []string{"one"}), nil }).
		Node("ask", func(ctx agent.Context, _ board) (agent.Update, error) {
			answer, err := agent.Interrupt[string](ctx, "go on?")
			return agent.Set("answer", answer), err
		}).
		Edge(agent.Start, "one").Edge("one", "ask").Edge("ask", agent.End).MustCompile()
	return agent.NewGraph[board]("invoking").
		Node("call", func(ctx agent.Context, s board) (agent.Update, error) {
			state, err := agent.Invoke(ctx, inner, map[string]any{"note": s.Note})
			if err != nil {
				return nil, err
			}
			answer, _ := state.Value("answer")
			return agent.Set("answer", answer.JSON), nil
		}).
		Edge(agent.Start, "call").Edge("call", agent.End)
}

// A graph that a node invoked by hand has states like any other: its events in
// the log give what was seen live, and its namespace can be read.
func TestStatesOfAGraphThatANodeInvoked(t *testing.T) {
	t.Parallel()
	b := setup(t, with(func(o *thread.Options) { o.Agents = []agent.Agent{invoking()} }))
	id := b.thread()
	b.run(input(id, "invoking", `{"note":"n"}`))
	b.run(command(id, "invoking", `{"resume":"yes"}`))

	ns, nested := "", 0
	for _, e := range b.events.of(id) {
		v, ok := e.Event.Payload.(*agent.ValuesNote)
		if !ok {
			continue
		}
		s, err := b.svc.Materialize(t.Context(), id, e.Event.NS, v.CheckpointID)
		require.NoError(t, err)
		require.Equal(t, string(v.State.JSON()), string(s.JSON()), "keys in the same order, too")
		if e.Event.NS != "" {
			ns = e.Event.NS
			nested++
		}
	}
	require.True(t, strings.HasPrefix(ns, "call:"))
	require.Equal(t, 4, nested, "after the input, the first node, at the resume and at the end")

	state, err := b.svc.State(t.Context(), id, thread.StateQuery{CheckpointNS: ns})
	require.NoError(t, err)
	require.Equal(t, `{"log":["one"],"answer":"yes","note":"n","messages":[]}`, string(state.State.JSON()))
	require.Empty(t, state.Next)
	history, err := b.svc.History(t.Context(), id, thread.HistoryQuery{CheckpointNS: ns, Limit: 10})
	require.NoError(t, err)
	require.Len(t, history, 4)
	require.Equal(t, `{"log":[],"messages":[]}`, string(history[3].State.JSON()))

	none, err := b.svc.State(t.Context(), id, thread.StateQuery{CheckpointNS: "call:" + id})
	require.NoError(t, err)
	require.Empty(t, none.CheckpointID)
}
