package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
)

// claim is a thread with a claim of so many cents on it.
func claim(t *testing.T, b *bank, cents int) (*agenttest.Thread, agenttest.Result) {
	t.Helper()
	g, err := newRefund(b).Graph(t.Context(), agent.Config{})
	require.NoError(t, err)
	thread := agenttest.New(g)
	r, err := thread.Run(t.Context(), map[string]any{"order": "A-17", "cents": cents})
	require.NoError(t, err)
	return thread, r
}

func lastWords(t *testing.T, thread *agenttest.Thread) string {
	t.Helper()
	s, err := thread.State(t.Context(), "")
	require.NoError(t, err)
	last, ok := s.State.Messages()["messages"].Last()
	require.True(t, ok)
	return last.Text()
}

func TestASmallClaimIsPaidAtOnce(t *testing.T) {
	t.Parallel()
	b := newBank()
	thread, r := claim(t, b, smallAmount)
	require.False(t, r.Suspended)
	require.Equal(t, 1, b.transfers())
	require.Equal(t, "The refund for order A-17 is paid. Receipt: A-17-5000-1", lastWords(t, thread))
}

func TestALargeClaimWaitsForAPerson(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer    Decision
		says      string
		transfers int
	}{
		"approved": {Decision{Approved: true}, "The refund for order A-17 is paid. Receipt: A-17-90000-1", 1},
		"less":     {Decision{Approved: true, Cents: 100}, "The refund for order A-17 is paid. Receipt: A-17-100-1", 1},
		"refused":  {Decision{Note: "Worn."}, "The refund for order A-17 was refused. Worn.", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBank()
			thread, r := claim(t, b, 900_00)
			require.True(t, r.Suspended)
			require.Zero(t, b.transfers())
			require.Len(t, thread.Pending(), 1)
			require.JSONEq(t, `{"title":"Pay this refund?","order":"A-17","cents":90000}`, string(thread.Pending()[0].Value))
			r, err := thread.Resume(t.Context(), c.answer)
			require.NoError(t, err)
			require.Equal(t, "success", r.Status)
			require.Equal(t, c.says, lastWords(t, thread))
			require.Equal(t, c.transfers, b.transfers())
		})
	}
}

func TestAnAnswerOfAnotherFormLeavesTheQuestionOpen(t *testing.T) { // D-35
	t.Parallel()
	b := newBank()
	thread, _ := claim(t, b, 900_00)
	for _, answer := range []any{"yes", map[string]any{"approved": "yes"}, map[string]any{"approved": true, "cents": -1}} {
		_, err := thread.Resume(t.Context(), answer)
		var refused *agent.ResumeError
		require.ErrorAs(t, err, &refused, "%v", answer)
		require.Equal(t, agent.InvalidAnswer, refused.Code)
		require.NotEmpty(t, refused.Issues)
	}
	_, err := thread.Resume(t.Context(), Decision{Approved: true})
	require.NoError(t, err)
	require.Equal(t, 1, b.transfers())
}

func TestACrashBehindTheTransferDoesNotPayTwice(t *testing.T) { // D-43
	t.Parallel()
	b := newBank()
	thread, _ := claim(t, b, 900_00)
	crashed := errors.New("the machine is gone")
	thread.OnCommit = func(c agent.Commit) error {
		for _, task := range c.Tasks {
			if task.Name == "pay" {
				return crashed
			}
		}
		return nil
	}
	r, err := thread.Resume(t.Context(), Decision{Approved: true})
	require.ErrorIs(t, err, crashed)
	require.Equal(t, 1, b.transfers())
	thread.OnCommit = nil
	r, err = thread.Recover(t.Context(), r.Run)
	require.NoError(t, err)
	require.Equal(t, "success", r.Status)
	require.Equal(t, 1, b.requests, "the recorded transfer isn't even asked for again")
	require.Equal(t, "The refund for order A-17 is paid. Receipt: A-17-90000-1", lastWords(t, thread))
}
