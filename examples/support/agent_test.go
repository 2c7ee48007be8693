package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
)

// ask is a thread on which a customer has said something.
func ask(t *testing.T, s *shop, text string) (*agenttest.Thread, agenttest.Result) {
	t.Helper()
	support, err := newSupport(offline(), s)
	require.NoError(t, err)
	g, err := support.Graph(t.Context(), agent.Config{})
	require.NoError(t, err)
	thread := agenttest.New(g)
	res, err := thread.Run(t.Context(), map[string]any{"messages": text})
	require.NoError(t, err)
	return thread, res
}

func lastWords(t *testing.T, thread *agenttest.Thread) string {
	t.Helper()
	state, err := thread.State(t.Context(), "")
	require.NoError(t, err)
	last, ok := state.State.Messages()["messages"].Last()
	require.True(t, ok)
	return last.Text()
}

func decide(decisions ...map[string]any) map[string]any {
	return map[string]any{"decisions": decisions}
}

func TestItAnswersFromTheHelpPages(t *testing.T) {
	t.Parallel()
	thread, res := ask(t, newShop(), "How long does delivery take?")
	require.False(t, res.Suspended)
	require.Equal(t, "Here you are: Delivery takes three days.", lastWords(t, thread))
}

// D-99: a tool that waits for a person is a Go function; there is no other engine.
func TestItPaysWhatAPersonHasDecided(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decision map[string]any
		paid     int
		says     string
	}{
		"approved": {map[string]any{"type": "approve"}, 1, "Here you are: Paid 900 cents for order A-17. Receipt: R-A-17-900-1"},
		"less": {map[string]any{"type": "edit", "editedAction": map[string]any{
			"name": "pay_refund", "args": map[string]any{"order": "A-17", "cents": 500},
		}}, 1, "Paid 500 cents for order A-17. Receipt: R-A-17-500-1"},
		"rejected":  {map[string]any{"type": "reject", "message": "It was never paid."}, 0, "I could not do that. The user rejected"},
		"responded": {map[string]any{"type": "respond", "message": "It was paid yesterday."}, 0, "Here you are: It was paid yesterday."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop()
			thread, res := ask(t, s, "Please refund order A-17, 900 cents")
			require.True(t, res.Suspended)
			require.Empty(t, s.paid)
			_, err := thread.Resume(t.Context(), decide(map[string]any{"type": "edit", "editedAction": map[string]any{
				"name": "pay_refund", "args": map[string]any{"order": "A-17", "cents": 90_000},
			}}))
			require.Error(t, err, "more than the tool takes")
			_, err = thread.Resume(t.Context(), decide(c.decision))
			require.NoError(t, err)
			require.Len(t, s.paid, c.paid)
			require.Contains(t, lastWords(t, thread), c.says)
		})
	}
}
