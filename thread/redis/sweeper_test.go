package redis_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
)

var errCut = errors.New("connection cut")

// TestSweeperRepairsWhatAWriterLeft: a process that dies between a transition and
// its derived entries loses no run, and leaves no entry behind (decisions 4).
func TestSweeperRepairsWhatAWriterLeft(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"evalsha admit", "evalsha derive"} {
		b := setup(t, slow)
		a := admission(newID())
		b.fail = func(cmd string) error {
			if cmd == at {
				return errCut
			}
			return nil
		}
		_, err := b.AdmitRun(b.ctx, a)
		require.ErrorIs(t, err, errCut)
		b.fail = nil
		require.NoError(t, b.SweepAll(b.ctx))
		run, _, ok, err := b.ClaimRun(b.ctx, thread.Claim{Worker: "w"})
		require.NoError(t, err)
		list, total, err := b.SearchThreads(b.ctx, thread.ThreadQuery{Metadata: thread.Metadata{"owner": raw(`"ann"`)}})
		require.NoError(t, err)
		if at == "evalsha derive" {
			require.True(t, ok)
			require.Equal(t, a.Run.ID, run.ID)
			require.Equal(t, 1, total)
			require.Equal(t, a.Run.ThreadID, list[0].ID)
			require.NoError(t, b.DeleteThread(b.ctx, a.Run.ThreadID))
		} else {
			require.False(t, ok)
			require.Zero(t, total)
			_, err = b.FindRun(b.ctx, a.Run.ID)
			require.ErrorIs(t, err, thread.ErrNotFound)
		}
		require.Equal(t, []string{b.prefix + "settings"}, b.keys(t))
	}
}

// TestEndOfAWriterAtARunsEnd: the entry in the queue stands for a mark.
func TestEndOfAWriterAtARunsEnd(t *testing.T) {
	t.Parallel()
	b := setup(t, slow)
	a := admission(newID())
	a.Claim = &thread.Claim{Worker: "w", Lease: 50 * time.Millisecond}
	admitted, err := b.AdmitRun(b.ctx, a)
	require.NoError(t, err)
	next := admission(a.Run.ThreadID)
	_, err = b.AdmitRun(b.ctx, next)
	require.NoError(t, err)
	b.fail = func(cmd string) error {
		if cmd == "evalsha derive" {
			return errCut
		}
		return nil
	}
	c := finish(superstep(*admitted.Lease, 1))
	c.Finish.HasNext = true
	_, err = b.Commit(b.ctx, *admitted.Lease, c)
	require.NoError(t, err, "the run has ended all the same")
	b.fail = nil
	var run thread.Run
	require.Eventually(t, func() bool {
		r, _, ok, err := b.ClaimRun(b.ctx, thread.Claim{Worker: "w"})
		require.NoError(t, err)
		run = r
		return ok
	}, 20*time.Second, 5*time.Millisecond)
	require.Equal(t, next.Run.ID, run.ID)
}

// TestDeletionCutOff: what a deletion left is removed.
func TestDeletionCutOff(t *testing.T) {
	t.Parallel()
	b := setup(t, slow)
	a := admission(newID())
	_, err := b.AdmitRun(b.ctx, a)
	require.NoError(t, err)
	b.fail = func(cmd string) error {
		if cmd == "evalsha derive" {
			return errCut
		}
		return nil
	}
	require.ErrorIs(t, b.DeleteThread(b.ctx, a.Run.ThreadID), errCut)
	b.fail = nil
	require.NoError(t, b.SweepAll(b.ctx))
	_, total, err := b.SearchThreads(b.ctx, thread.ThreadQuery{})
	require.NoError(t, err)
	require.Zero(t, total)
	require.Equal(t, []string{b.prefix + "settings"}, b.keys(t))
}

// TestAuditFindsWhatNoMarkTellsOf: after a fail-over a shard may know other things than the threads.
func TestAuditFindsWhatNoMarkTellsOf(t *testing.T) {
	t.Parallel()
	b := setup(t, slow)
	kept, gone := admission(newID()), admission(newID())
	for _, a := range []thread.Admission{kept, gone} {
		_, err := b.AdmitRun(b.ctx, a)
		require.NoError(t, err)
	}
	id := kept.Run.ThreadID
	before, err := b.client.HGet(b.ctx, b.EntriesKey(id), id).Result()
	require.NoError(t, err)
	_, err = b.PatchThread(b.ctx, id, thread.ThreadPatch{Metadata: thread.Metadata{"owner": raw(`"bob"`)}})
	require.NoError(t, err)
	// The shard forgets the patch; the other thread is lost behind its shard's back.
	require.NoError(t, b.client.HSet(b.ctx, b.EntriesKey(id), id, before).Err())
	keys, err := b.client.Keys(b.ctx, b.prefix+"{"+gone.Run.ThreadID+"}*").Result()
	require.NoError(t, err)
	require.NoError(t, b.client.Del(b.ctx, keys...).Err())

	require.NoError(t, b.AuditAll(b.ctx))
	list, total, err := b.SearchThreads(b.ctx, thread.ThreadQuery{})
	require.NoError(t, err)
	require.Equal(t, 1, total)
	require.Equal(t, id, list[0].ID)
	_, total, err = b.SearchThreads(b.ctx, thread.ThreadQuery{Metadata: thread.Metadata{"owner": raw(`"bob"`)}, CountOnly: true})
	require.NoError(t, err)
	require.Equal(t, 1, total)
	_, err = b.FindRun(b.ctx, kept.Run.ID)
	require.NoError(t, err)
	owned, err := b.client.HExists(b.ctx, b.RunsKey(gone.Run.ID), gone.Run.ID).Result()
	require.NoError(t, err)
	require.False(t, owned)
	require.NoError(t, b.DeleteThread(b.ctx, id))
	require.Equal(t, []string{b.prefix + "settings"}, b.keys(t))
}
