package agent_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
)

// D-28: ten thousand tasks side by side that ask the same thing, each under an
// id of its own, which it keeps when it asks again.
func TestTenThousandParallelQuestionsHaveTheirOwnIDs(t *testing.T) {
	t.Parallel()
	n := 10_000
	if testing.Short() {
		n = 1_000
	}
	b := agent.NewGraph[xy]("fan").
		BranchTo(agent.Start, func(agent.Context, xy) ([]agent.Target, error) {
			all := make([]agent.Target, n)
			for i := range all {
				all[i] = agent.Send("ask", "same input")
			}
			return all, nil
		}, "ask").Edge("ask", agent.End)
	agent.NodeOf(b, "ask", func(ctx agent.Context, _ string) (agent.Update, error) {
		r, err := agent.Interrupt[string](ctx, "same question")
		return x(r), err
	})
	th := agenttest.New(b.MustCompile())
	res, err := th.Run(t.Context(), x())
	require.NoError(t, err)
	require.True(t, res.Suspended)
	ids := map[string]bool{}
	for _, q := range th.Pending() {
		require.Regexp(t, `^[0-9a-f]{32}$`, q.ID)
		ids[q.ID] = true
	}
	require.Len(t, ids, n)

	// An answer reaches the task that its id names, and no other.
	first, last := th.Pending()[0].ID, th.Pending()[n-1].ID
	_, err = th.Answer(t.Context(), map[string]any{last: "last", first: "first"})
	require.NoError(t, err)
	require.JSONEq(t, `{"x":["first","last"]}`, stateOf(t, th, ""))
	open := th.Pending()
	require.Len(t, open, n-2)
	for i, q := range open {
		require.True(t, ids[q.ID], fmt.Sprint("question ", i, " has another id than before"))
		require.NotContains(t, []string{first, last}, q.ID)
	}
}
