package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

var claimCases = []testCase{
	{"nothing to claim", func(e *env) {
		_, ok := e.tryClaim(thread.Claim{Worker: "w"})
		require.False(e, ok)
		due, err := e.NextDue(e.ctx)
		require.NoError(e, err)
		require.Zero(e, due)
	}},
	{"a claimed run is running and leased", func(e *env) {
		t := e.newThread()
		run := e.admit(t.ID).Run
		before := time.Now()
		w, ok := e.tryClaim(thread.Claim{Worker: "me", Lease: time.Minute})
		require.True(e, ok)
		require.Equal(e, run.ID, w.run.ID)
		require.Equal(e, run.ID, w.lease.RunID)
		require.Equal(e, t.ID, w.lease.ThreadID)
		require.Equal(e, "me", w.lease.Worker)
		require.WithinDuration(e, before.Add(time.Minute), w.lease.Expires, 10*time.Second)
		require.Positive(e, w.lease.Token)
		for _, r := range []thread.Run{w.run, e.getRun(t.ID, run.ID)} {
			require.Equal(e, thread.RunRunning, r.Status)
			require.Equal(e, 1, r.Attempt)
			require.False(e, r.StartedAt.IsZero())
			require.Equal(e, run.Kwargs, r.Kwargs)
		}
		_, ok = e.tryClaim(thread.Claim{Worker: "other"})
		require.False(e, ok)
		due, err := e.NextDue(e.ctx)
		require.NoError(e, err)
		require.WithinDuration(e, w.lease.Expires, due, time.Second)
	}},
	{"the run that has waited longest comes first", func(e *env) {
		var want, got []string
		for range 5 {
			want = append(want, e.admit(e.newThread().ID).Run.ID)
			waitTick()
		}
		for range want {
			w, ok := e.tryClaim(thread.Claim{Worker: "w"})
			require.True(e, ok)
			got = append(got, w.run.ID)
		}
		require.Equal(e, want, got)
	}},
	{"a delayed run waits for its time and lets others pass", func(e *env) {
		t := e.newThread()
		at := time.Now().Add(2 * time.Second)
		late := e.admit(t.ID, func(a *thread.Admission) { a.Run.NotBefore = at }).Run
		require.Equal(e, thread.Busy, e.getThread(t.ID).Status)
		due, err := e.NextDue(e.ctx)
		require.NoError(e, err)
		require.WithinDuration(e, at, due, 2*time.Millisecond)
		soon := e.admit(t.ID, strategy("enqueue")).Run
		w, ok := e.tryClaim(thread.Claim{Worker: "w"})
		require.True(e, ok)
		require.Equal(e, soon.ID, w.run.ID)
		w.finish()
		require.Equal(e, thread.Busy, e.getThread(t.ID).Status)
		w = e.eventually(thread.Claim{Worker: "w"})
		require.Equal(e, late.ID, w.run.ID)
		require.False(e, time.Now().Before(at))
	}},
	{"a lease that ran out is taken over with the next attempt", func(e *env) {
		t := e.newThread()
		run := e.admit(t.ID).Run
		w, ok := e.tryClaim(thread.Claim{Worker: "a", Lease: 20 * time.Millisecond})
		require.True(e, ok)
		next := e.eventually(thread.Claim{Worker: "b", Lease: time.Minute})
		require.Equal(e, run.ID, next.run.ID)
		require.Equal(e, 2, next.run.Attempt)
		require.Equal(e, 2, e.getRun(t.ID, run.ID).Attempt)
		require.True(e, w.run.StartedAt.Equal(next.run.StartedAt))
		require.Greater(e, next.lease.Token, w.lease.Token)
	}},
	{"renewing keeps the lease", func(e *env) {
		w := e.started()
		expires, action, err := e.Renew(e.ctx, w.lease, time.Hour)
		require.NoError(e, err)
		require.Empty(e, action)
		require.WithinDuration(e, time.Now().Add(time.Hour), expires, time.Minute)
		due, err := e.NextDue(e.ctx)
		require.NoError(e, err)
		require.WithinDuration(e, expires, due, time.Second)
	}},
	{"a released run is free at once and isn't a lost attempt", func(e *env) {
		t := e.newThread()
		run := e.admit(t.ID).Run
		for attempt := 1; attempt <= 5; attempt++ {
			w, ok := e.tryClaim(thread.Claim{Worker: "w", Lease: time.Minute, MaxAttempts: 2})
			require.True(e, ok, "attempt %d", attempt)
			require.Equal(e, run.ID, w.run.ID)
			require.Equal(e, attempt, w.run.Attempt)
			require.NoError(e, e.ReleaseRun(e.ctx, w.lease))
			require.ErrorIs(e, e.ReleaseRun(e.ctx, w.lease), thread.ErrFenced)
		}
	}},
	{"a run that lost its worker too often ends as an error", func(e *env) {
		t := e.newThread()
		run := e.admit(t.ID, func(a *thread.Admission) { a.Run.Kwargs.Webhook = "/hook" }).Run
		claim := thread.Claim{Worker: "w", Lease: time.Millisecond, MaxAttempts: 2}
		var last *worker
		for attempt := 1; attempt <= 2; attempt++ {
			last = e.eventually(claim)
			require.Equal(e, attempt, last.run.Attempt)
		}
		require.Eventually(e, func() bool {
			_, ok := e.tryClaim(claim)
			require.False(e, ok)
			return e.getRun(t.ID, run.ID).Status == thread.RunError
		}, patience, lookEach)
		got := e.getRun(t.ID, run.ID)
		require.False(e, got.EndedAt.IsZero())
		require.NotEmpty(e, got.Error)
		require.Equal(e, thread.Failed, e.getThread(t.ID).Status)
		entries := e.log(t.ID)
		require.Len(e, entries, 1)
		require.Equal(e, agent.RunFinished, entries[0].Event.Kind)
		require.Equal(e, run.ID, entries[0].RunID)
		require.Greater(e, entries[0].Pos, last.lease.PosReserved)
		require.Greater(e, entries[0].Seq, last.lease.SeqReserved)
		require.ErrorIs(e, e.Commit(e.ctx, last.lease, last.newCommit()), thread.ErrFenced)
		due, err := e.DueDeliveries(e.ctx, now().Add(time.Minute), 10)
		require.NoError(e, err)
		require.Len(e, due, 1)
		require.Equal(e, run.ID, due[0].RunID)
		e.claim(e.admit(t.ID).Run.ID).finish()
	}},
	{"a run by its id", func(e *env) {
		first := e.admit(e.newThread().ID).Run
		second := e.admit(e.newThread().ID).Run
		w, ok := e.tryClaim(thread.Claim{Worker: "w", RunID: second.ID})
		require.True(e, ok)
		require.Equal(e, second.ID, w.run.ID)
		_, ok = e.tryClaim(thread.Claim{Worker: "w", RunID: second.ID})
		require.False(e, ok)
		_, ok = e.tryClaim(thread.Claim{Worker: "w", RunID: newID()})
		require.False(e, ok)
		e.claim(first.ID)
	}},
}

// waitTick waits until the clock of a store has moved on.
func waitTick() {
	for start := time.Now(); time.Since(start) < 2*time.Millisecond; {
		time.Sleep(100 * time.Microsecond)
	}
}

var numberCases = []testCase{
	{"a clean end leaves no hole", func(e *env) {
		t := e.newThread()
		w := e.claim(e.admit(t.ID).Run.ID)
		require.EqualValues(e, 1, w.lease.NextPos)
		require.EqualValues(e, 1, w.lease.NextSeq)
		require.GreaterOrEqual(e, w.lease.PosReserved, int64(1<<20))
		require.GreaterOrEqual(e, w.lease.SeqReserved, int64(1<<20))
		require.GreaterOrEqual(e, w.lease.FrameReserved, int64(1<<20))
		require.Zero(e, w.lease.FrameBase)
		require.NoError(e, e.AppendLog(e.ctx, w.lease, []thread.Entry{w.note("a"), w.entry(agent.Event{Kind: agent.BreakpointHit})}))
		w.finish()
		got := e.getThread(t.ID)
		require.EqualValues(e, 4, got.NextPos)
		require.EqualValues(e, 3, got.NextSeq)
		next := e.claim(e.admit(t.ID).Run.ID)
		require.EqualValues(e, 4, next.lease.NextPos)
		require.EqualValues(e, 3, next.lease.NextSeq)
		require.Zero(e, next.lease.FrameBase)
	}},
	{"an end without a new entry sets the counters back, too", func(e *env) {
		t := e.newThread()
		w := e.claim(e.admit(t.ID).Run.ID)
		w.commit(func(c *thread.Commit) {
			c.Entries = []thread.Entry{w.note("a"), w.entry(agent.Event{Kind: agent.BreakpointHit})}
		})
		w.commit(func(c *thread.Commit) { c.Finish = &thread.Finish{Status: thread.RunSuccess, At: now()} })
		got := e.getThread(t.ID)
		require.EqualValues(e, 3, got.NextPos)
		require.EqualValues(e, 2, got.NextSeq)
		w = e.claim(e.admit(t.ID).Run.ID)
		w.commit(func(c *thread.Commit) { c.Finish = &thread.Finish{Status: thread.RunSuccess, At: now()} })
		got = e.getThread(t.ID)
		require.EqualValues(e, 3, got.NextPos)
		require.EqualValues(e, 2, got.NextSeq)
	}},
	{"after a crash the next owner starts behind the reserved range", func(e *env) {
		t := e.newThread()
		e.admit(t.ID)
		dead, ok := e.tryClaim(thread.Claim{Worker: "a", Lease: 20 * time.Millisecond, Reserve: 100})
		require.True(e, ok)
		require.NoError(e, e.AppendLog(e.ctx, dead.lease, []thread.Entry{dead.note("a")}))
		next := e.eventually(thread.Claim{Worker: "b", Lease: time.Minute})
		require.Equal(e, dead.lease.PosReserved+1, next.lease.NextPos)
		require.Equal(e, dead.lease.SeqReserved+1, next.lease.NextSeq)
		require.Equal(e, dead.lease.FrameReserved+1, next.lease.FrameBase)
		require.Greater(e, next.lease.FrameReserved, next.lease.FrameBase)
		next.finish()
		got := e.getThread(t.ID)
		require.Equal(e, next.pos, got.NextPos)
		require.Equal(e, next.seq, got.NextSeq)
		require.Equal(e, []int64{1, dead.lease.PosReserved + 1}, positions(e.log(t.ID)))
	}},
	{"a released run's next owner doesn't repeat a number", func(e *env) {
		w := e.started()
		require.NoError(e, e.AppendLog(e.ctx, w.lease, []thread.Entry{w.note("a")}))
		require.NoError(e, e.ReleaseRun(e.ctx, w.lease))
		next := e.claim(w.run.ID)
		require.GreaterOrEqual(e, next.lease.NextPos, w.pos)
		require.GreaterOrEqual(e, next.lease.NextSeq, w.seq)
		require.Positive(e, next.lease.FrameBase)
	}},
	{"reserving extends the range", func(e *env) {
		e.admit(e.newThread().ID)
		w, ok := e.tryClaim(thread.Claim{Worker: "w", Lease: 50 * time.Millisecond, Reserve: 10})
		require.True(e, ok)
		more, err := e.ReserveNumbers(e.ctx, w.lease, 1000)
		require.NoError(e, err)
		require.Equal(e, w.lease.PosReserved+1000, more.PosReserved)
		require.Equal(e, w.lease.SeqReserved+1000, more.SeqReserved)
		require.Equal(e, w.lease.FrameReserved+1000, more.FrameReserved)
		require.Equal(e, w.lease.Token, more.Token)
		next := e.eventually(thread.Claim{Worker: "w", Lease: time.Minute})
		require.Greater(e, next.lease.NextPos, more.PosReserved)
		require.Greater(e, next.lease.NextSeq, more.SeqReserved)
		require.Greater(e, next.lease.FrameBase, more.FrameReserved)
	}},
}

var fencingCases = []testCase{
	{"a stale token is refused everywhere", func(e *env) {
		t := e.newThread()
		e.admit(t.ID)
		stale, ok := e.tryClaim(thread.Claim{Worker: "a", Lease: 10 * time.Millisecond})
		require.True(e, ok)
		fresh := e.eventually(thread.Claim{Worker: "b", Lease: time.Minute})
		check := func(stale *worker) {
			e.Helper()
			cp := stale.checkpoint()
			require.ErrorIs(e, e.Commit(e.ctx, stale.lease, stale.newCommit(func(c *thread.Commit) {
				c.Checkpoints = []agent.CheckpointRecord{cp}
				c.Entries = []thread.Entry{stale.note("late")}
				c.Steps = []agent.StepRecord{{Origin: "o", Name: "s", Status: agent.StepDone}}
			})), thread.ErrFenced)
			require.ErrorIs(e, e.AppendLog(e.ctx, stale.lease, []thread.Entry{stale.note("late")}), thread.ErrFenced)
			_, _, err := e.Renew(e.ctx, stale.lease, time.Minute)
			require.ErrorIs(e, err, thread.ErrFenced)
			_, err = e.ReserveNumbers(e.ctx, stale.lease, 1)
			require.ErrorIs(e, err, thread.ErrFenced)
			_, err = e.Rollback(e.ctx, stale.lease, nil)
			require.ErrorIs(e, err, thread.ErrFenced)
			require.ErrorIs(e, e.ReleaseRun(e.ctx, stale.lease), thread.ErrFenced)
			_, err = e.Checkpoint(e.ctx, t.ID, "", cp.ID)
			require.ErrorIs(e, err, thread.ErrNotFound)
		}
		check(stale)
		require.Empty(e, e.log(t.ID))
		require.Equal(e, thread.RunRunning, e.getRun(t.ID, fresh.run.ID).Status)
		fresh.finish()
		check(stale)
		check(fresh)
		require.NoError(e, e.DeleteThread(e.ctx, t.ID))
		require.ErrorIs(e, e.Commit(e.ctx, fresh.lease, fresh.newCommit()), thread.ErrFenced)
		_, _, err := e.Renew(e.ctx, fresh.lease, time.Minute)
		require.ErrorIs(e, err, thread.ErrFenced)
	}},
	{"tokens grow over the runs of a thread", func(e *env) {
		t := e.newThread()
		var last int64
		for range 3 {
			w := e.claim(e.admit(t.ID).Run.ID)
			require.Greater(e, w.lease.Token, last)
			last = w.lease.Token
			w.finish()
		}
	}},
	{"a lease that ran out is good until another takes over", func(e *env) {
		e.admit(e.newThread().ID)
		w, ok := e.tryClaim(thread.Claim{Worker: "w", Lease: time.Nanosecond})
		require.True(e, ok)
		w.finish()
	}},
}
