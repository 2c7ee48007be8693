package local

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

func TestSmoke(t *testing.T) {
	for _, eph := range []bool{false, true} {
		ctx := context.Background()
		s, err := Open(ctx, Options{Dir: t.TempDir(), Ephemeral: eph})
		require.NoError(t, err)
		th := thread.Thread{ID: "018f0000-0000-7000-8000-000000000001", Metadata: thread.Metadata{"a": json.RawMessage(`"x"`)}, CreatedAt: time.Now()}
		require.NoError(t, s.CreateThread(ctx, th))
		require.ErrorIs(t, s.CreateThread(ctx, th), thread.ErrExists)
		got, err := s.GetThread(ctx, th.ID)
		require.NoError(t, err)
		require.Equal(t, th.ID, got.ID)
		ad, err := s.AdmitRun(ctx, thread.Admission{Run: thread.Run{ID: "018f0000-0000-7000-8000-000000000002", ThreadID: th.ID, GraphID: "g"}, Strategy: "reject"})
		require.NoError(t, err)
		require.Equal(t, thread.Busy, ad.Thread.Status)
		run, lease, ok, err := s.ClaimRun(ctx, thread.Claim{Worker: "w"})
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, 1, run.Attempt)
		require.NoError(t, s.Commit(ctx, lease, thread.Commit{ID: "r/1", Checkpoints: []agent.CheckpointRecord{{ID: "018f0000-0000-7000-8000-000000000003", RunID: run.ID, Metadata: []byte("{}"), State: []byte("{}")}},
			Entries: []thread.Entry{{Pos: 1, Seq: 1, RunID: run.ID, Event: agent.Event{Kind: agent.RunStarted, At: 5, Payload: agent.RunStart{GraphID: "g"}}},
				{Pos: 2, Seq: 2, RunID: run.ID, Event: agent.Event{Kind: agent.BlockDelta, At: 6, NS: "n", Payload: agent.Delta{ID: "m", Type: "text", Text: "hi"}}}}}))
		require.NoError(t, s.Commit(ctx, lease, thread.Commit{ID: "r/2", Finish: &thread.Finish{Status: thread.RunSuccess, At: time.Now()}}))
		got, err = s.GetThread(ctx, th.ID)
		require.NoError(t, err)
		require.Equal(t, thread.Idle, got.Status)
		require.EqualValues(t, 3, got.NextSeq)
		es, err := s.ReadRunLog(ctx, th.ID, run.ID, 0, 100)
		require.NoError(t, err)
		require.Len(t, es, 2)
		list, n, err := s.SearchThreads(ctx, thread.ThreadQuery{Metadata: thread.Metadata{"a": json.RawMessage(`"x"`)}, Limit: 10})
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Len(t, list, 1)
		require.NoError(t, s.DeleteThread(ctx, th.ID))
		require.NoError(t, s.Close())
	}
}
