package thread_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// TestFloatingBatchIsTheBatchOnceItHasItsNumbers: a store that numbers events
// inside of a transition stores what AppendEntries would have written.
func TestFloatingBatchIsTheBatchOnceItHasItsNumbers(t *testing.T) {
	t.Parallel()
	kinds := []agent.Event{
		{Kind: agent.BreakpointHit},
		{Kind: agent.RunStarted, Payload: agent.RunStart{GraphID: "g", Attempt: 1}},
		{Kind: agent.RunFinished, NS: "n:1", Payload: agent.RunFinish{GraphID: "g", Status: "interrupted"}},
		{Kind: agent.BlockDelta, Payload: agent.Delta{ID: "m", Type: "text", Text: "x"}},
	}
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOfN(rapid.SampledFrom(kinds), 1, 6).Draw(t, "events")
		pos := rapid.Int64Range(1, 1<<50).Draw(t, "pos")
		seq := rapid.Int64Range(1, 1<<50).Draw(t, "seq")
		b, err := thread.FloatEvents(events)
		require.NoError(t, err)
		entries := make([]thread.Entry, len(events))
		p, q := pos, seq
		for i, e := range events {
			entries[i] = thread.Entry{Pos: p, Event: e}
			p++
			if e.Kind.Numbered() {
				entries[i].Seq = q
				q++
			}
		}
		want, err := thread.AppendEntries(nil, entries)
		require.NoError(t, err)
		require.Equal(t, want, b.At(pos, seq))
		require.Equal(t, p-pos, b.Entries)
		require.Equal(t, q-seq, b.Numbered)
	})
}
