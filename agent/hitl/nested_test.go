package hitl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/message"
)

// An agent that is a part of another graph is reviewed as one that stands alone.
func TestANestedAgentIsReviewedToo(t *testing.T) {
	t.Parallel()
	for _, mode := range []hitl.Mode{hitl.Batch, hitl.PerCall} {
		for _, options := range [][]agent.GraphOption{nil, {agent.Stateful()}} {
			d := &desk{}
			set := d.tools(t)
			c := standard()
			c.Mode = mode
			gate, err := hitl.New(c, set)
			require.NoError(t, err)
			child := loop(gate, set, script(calls(payAnn), calls(call("c2", "pay", `{"to":"Bob","amount":1}`))), options...)
			thread := newThread(agent.NewGraph[chat]("outer").Subgraph("inner", child).Edge(agent.Start, "inner").MustCompile())
			say(t, thread, "go")
			wire := `{"decisions":[{"type":"approve"}]}`
			if mode == hitl.PerCall {
				wire = `{"type":"approve"}`
			}
			require.True(t, answer(t, thread, wire).Suspended)
			require.Equal(t, []string{`pay{"to":"Ann","amount":5}`}, d.all())
			require.False(t, answer(t, thread, wire).Suspended)
			require.Len(t, d.all(), 2)
			var results int
			for _, m := range conversation(t, thread).All() {
				if m.Type == message.Tool {
					results++
				}
			}
			require.Equal(t, 2, results)
		}
	}
}

// A run that keeps nothing can't ask: then nothing runs.
func TestARunThatKeepsNothingRunsNoGatedTool(t *testing.T) {
	t.Parallel()
	for _, mode := range []hitl.Mode{hitl.Batch, hitl.PerCall} {
		d := &desk{}
		set := d.tools(t)
		c := standard()
		c.Mode = mode
		gate, err := hitl.New(c, set)
		require.NoError(t, err)
		thread := newThread(loop(gate, set, script(calls(payAnn))))
		exec := thread.Execution()
		exec.Ephemeral, exec.Input = true, []byte(`{"messages":"go"}`)
		res, err := thread.Start(t.Context(), exec)
		require.NoError(t, err)
		require.Equal(t, "error", res.Status)
		require.Equal(t, "GraphValueError", res.Err.Name)
		require.Empty(t, d.all())
	}
}
