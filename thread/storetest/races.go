package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// together runs f n times at once.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Add(1)
		go func() {
			defer wg.Done()
			<-start
			f(i)
		}()
	}
	close(start)
	wg.Wait()
}

var raceCases = []testCase{
	{"of 100 different answers one is accepted", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		head, ids := w.suspend(1)
		var accepted, decided atomic.Int64
		var winner atomic.Value
		together(100, func(i int) {
			a := newAdmission(id, resume(fmt.Sprint("f", i), answer(ids[0], fmt.Sprint(i))), func(a *thread.Admission) { a.Resume.ExpectHead = head })
			admitted, err := e.AdmitRun(e.ctx, a)
			var other *thread.AlreadyDecidedError
			switch {
			case err == nil && !admitted.Repeat:
				accepted.Add(1)
				winner.Store(admitted.Run.ID)
			case errors.As(err, &other):
				decided.Add(1)
			default:
				e.Errorf("answer %d: %v, repeat %v", i, err, admitted.Repeat)
			}
		})
		require.EqualValues(e, 1, accepted.Load())
		require.EqualValues(e, 99, decided.Load())
		answers, err := e.Answers(e.ctx, id, ids)
		require.NoError(e, err)
		require.Equal(e, winner.Load(), answers[ids[0]].RunID)
	}},
	{"100 equal answers are one run", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		_, ids := w.suspend(1)
		var first atomic.Int64
		var runs sync.Map
		together(100, func(i int) {
			admitted, err := e.AdmitRun(e.ctx, newAdmission(id, resume("f", answer(ids[0], "1"))))
			if err != nil {
				e.Errorf("answer %d: %v", i, err)
				return
			}
			if !admitted.Repeat {
				first.Add(1)
			}
			runs.Store(admitted.Run.ID, true)
		})
		require.EqualValues(e, 1, first.Load())
		n := 0
		runs.Range(func(any, any) bool { n++; return true })
		require.Equal(e, 1, n)
		list, err := e.ListRuns(e.ctx, id, thread.RunQuery{})
		require.NoError(e, err)
		require.Len(e, list, 2)
	}},
	{"100 requests with one key are one run", func(e *env) {
		id := newID()
		var runs sync.Map
		together(100, func(i int) {
			admitted, err := e.AdmitRun(e.ctx, newAdmission(id, func(a *thread.Admission) {
				a.IdempotencyKey, a.KeyTTL = "k", time.Hour
				a.CreateThread = &thread.Thread{ID: id, CreatedAt: now()}
			}))
			if err != nil {
				e.Errorf("request %d: %v", i, err)
				return
			}
			runs.Store(admitted.Run.ID, true)
		})
		n := 0
		runs.Range(func(any, any) bool { n++; return true })
		require.Equal(e, 1, n)
	}},
	{"of 50 rejecting runs one is accepted", func(e *env) {
		t := e.newThread()
		var accepted atomic.Int64
		together(50, func(int) {
			_, err := e.AdmitRun(e.ctx, newAdmission(t.ID))
			if err == nil {
				accepted.Add(1)
			} else if !errors.Is(err, thread.ErrBusy) {
				e.Error(err)
			}
		})
		require.EqualValues(e, 1, accepted.Load())
	}},
	{"no run is given to two workers, and no thread runs two at once", func(e *env) {
		const threads, runs = 10, 5
		for range threads {
			t := e.newThread()
			for range runs {
				e.admit(t.ID, strategy("enqueue"))
			}
		}
		var claimed, active sync.Map
		var done atomic.Int64
		together(8, func(int) {
			for done.Load() < threads*runs {
				run, lease, ok, err := e.ClaimRun(e.ctx, thread.Claim{Worker: "w", Lease: time.Minute})
				if err != nil {
					e.Error(err)
					return
				}
				if !ok {
					continue
				}
				if _, twice := claimed.LoadOrStore(run.ID, true); twice {
					e.Errorf("run %s was given twice", run.ID)
				}
				if _, busy := active.LoadOrStore(run.ThreadID, true); busy {
					e.Errorf("thread %s runs two at once", run.ThreadID)
				}
				active.Delete(run.ThreadID)
				err = e.Commit(e.ctx, lease, thread.Commit{ID: run.ID + "/1", Finish: &thread.Finish{Status: thread.RunSuccess, At: now()}})
				if err != nil {
					e.Error(err)
				}
				done.Add(1)
			}
		})
		require.EqualValues(e, threads*runs, done.Load())
	}},
	{"commits of many runs don't disturb each other", func(e *env) {
		const n, commits = 16, 10
		workers := make([]*worker, n)
		for i := range workers {
			workers[i] = e.started()
		}
		together(n, func(i int) {
			w := workers[i]
			for j := range commits {
				c := w.newCommit(func(c *thread.Commit) {
					c.Checkpoints = []agent.CheckpointRecord{w.checkpoint()}
					c.Entries = []thread.Entry{w.note(fmt.Sprint(j))}
				})
				if j%4 == 3 { // one that is refused in the middle of the others
					bad := c
					bad.ID += "x"
					bad.Checkpoints = []agent.CheckpointRecord{newCheckpoint(w.run.ID), {ID: "0", State: []byte("{}"), Metadata: []byte("{}")}}
					if err := e.Commit(e.ctx, w.lease, bad); !errors.Is(err, thread.ErrConflict) {
						e.Errorf("commit: %v", err)
					}
					c.Checkpoints = []agent.CheckpointRecord{w.checkpoint()}
				}
				if err := e.Commit(e.ctx, w.lease, c); err != nil {
					e.Error(err)
				}
			}
		})
		for _, w := range workers {
			require.Len(e, e.log(w.run.ThreadID), commits)
			require.Len(e, e.checkpointIDs(w.run.ThreadID, "", agent.CheckpointQuery{Limit: 100}), commits)
		}
	}},
	{"a cron fires once", func(e *env) {
		c := e.newCron()
		var fired atomic.Int64
		together(20, func(int) {
			ok, err := e.FireCron(e.ctx, c.ID, c.NextRun, c.NextRun.Add(time.Minute))
			if err != nil {
				e.Error(err)
			}
			if ok {
				fired.Add(1)
			}
		})
		require.EqualValues(e, 1, fired.Load())
	}},
	{"an id is taken once", func(e *env) {
		id := newID()
		var created atomic.Int64
		together(20, func(int) {
			err := e.CreateThread(e.ctx, thread.Thread{ID: id, CreatedAt: now()})
			if err == nil {
				created.Add(1)
			} else if !errors.Is(err, thread.ErrExists) {
				e.Error(err)
			}
		})
		require.EqualValues(e, 1, created.Load())
	}},
}
