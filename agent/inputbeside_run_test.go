package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
)

// Input that an update left waiting and a goto are carried out in one superstep (spec/runtime.md 3.1).
func TestAGotoBesideInputThatWaitsLosesNeither(t *testing.T) {
	t.Parallel()
	for name, target := range map[string]agent.Target{"a node": {Node: "b"}, "a Send": agent.Send("b", map[string]any{})} {
		thread := agenttest.New(agent.NewGraph[tally]("g").
			Node("a", func(agent.Context, tally) (agent.Update, error) { return agent.Set("got", []string{"a"}), nil }).
			Node("b", func(agent.Context, tally) (agent.Update, error) { return agent.Set("got", []string{"b"}), nil }).
			Edge(agent.Start, "a").BranchTo("a", func(agent.Context, tally) ([]agent.Target, error) { return nil, nil }, "b").MustCompile())
		require.NoError(t, thread.Edit(t.Context(), "", []agent.Edit{{Values: object(t, "got", []string{"input"}), AsNode: "__input__"}}))
		res, err := thread.Command(t.Context(), agent.Command{Goto: []agent.Target{target}})
		require.NoError(t, err, name)
		require.Equal(t, "success", res.Status, "%s: %+v", name, res.Err)
		require.ElementsMatch(t, []string{"input", "b", "a"}, got(t, thread), name)
	}
}
