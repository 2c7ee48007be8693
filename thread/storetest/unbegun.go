package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// ends lists the runs whose end the log tells, in order. The end of a run that
// never began stands right behind its beginning.
func (e *env) ends(threadID string) (ids []string) {
	e.Helper()
	list := e.log(threadID)
	for i, en := range list {
		if i > 0 {
			require.Greater(e, en.Pos, list[i-1].Pos)
		}
		if en.Event.Kind != agent.RunFinished {
			continue
		}
		ids = append(ids, en.RunID)
		if i > 0 && unbegun(list[i-1]) {
			require.Equal(e, list[i-1].RunID, en.RunID)
			require.Equal(e, []int64{list[i-1].Pos + 1, list[i-1].Seq + 1}, []int64{en.Pos, en.Seq})
		}
	}
	return ids
}

func unbegun(en thread.Entry) bool {
	start, ok := en.Event.Payload.(agent.RunStart)
	return ok && start.Unbegun
}

// drop cancels a pending run and returns what that told.
func (e *env) drop(run thread.Run, action string) []thread.Entry {
	e.Helper()
	_, told, err := e.RequestCancel(e.ctx, run.ThreadID, run.ID, action, now())
	require.NoError(e, err)
	return told
}

// M-19: a terminal for every run.
var unbegunCases = []testCase{
	{"the end of a run that never began is told with its cancel, if nothing runs", func(e *env) {
		for _, action := range []string{thread.CancelInterrupt, thread.CancelRollback} {
			t := e.newThread()
			w := e.claim(e.admit(t.ID).Run.ID)
			w.finish()
			run := e.admit(t.ID).Run
			at := now()
			_, told, err := e.RequestCancel(e.ctx, t.ID, run.ID, action, at)
			require.NoError(e, err)
			require.Len(e, told, 2)
			require.Equal(e, told, e.log(t.ID)[1:], "returned as stored")
			start, finish := told[0].Event, told[1].Event
			require.Equal(e, agent.RunStart{GraphID: "g", AssistantID: "a", Attempt: 1, Unbegun: true}, start.Payload)
			require.Equal(e, agent.RunFinish{GraphID: "g", Status: "interrupted", Cancel: action}, finish.Payload)
			require.Equal(e, at.UnixMilli(), finish.At)
			for i, en := range told {
				require.Equal(e, thread.Entry{Pos: w.pos + int64(i), Seq: w.seq + int64(i), RunID: run.ID, Event: en.Event}, en)
			}
			pos, seq, err := e.LogEnd(e.ctx, t.ID)
			require.NoError(e, err)
			require.Equal(e, []int64{told[1].Pos, told[1].Seq}, []int64{pos, seq})
			own, err := e.ReadRunLog(e.ctx, t.ID, run.ID, 0, 10)
			if action == thread.CancelRollback {
				require.ErrorIs(e, err, thread.ErrNotFound)
			} else {
				require.NoError(e, err)
				require.Equal(e, told, own)
			}
			require.Empty(e, e.drop(w.run, action), "once")
			if action == thread.CancelInterrupt {
				require.Empty(e, e.drop(run, action), "once")
			}
			next := e.claim(e.admit(t.ID).Run.ID)
			require.Equal(e, []int64{told[1].Pos + 1, told[1].Seq + 1}, []int64{next.lease.NextPos, next.lease.NextSeq})
			next.finish()
			require.Equal(e, []string{w.run.ID, run.ID, next.run.ID}, e.ends(t.ID))
		}
	}},
	{"while another run is leased its end waits for that one's", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		one, two := e.admit(id, strategy("enqueue")).Run, e.admit(id, strategy("enqueue")).Run
		last := e.admit(id, strategy("enqueue")).Run
		require.Empty(e, e.drop(two, thread.CancelRollback))
		require.Empty(e, e.drop(one, thread.CancelInterrupt))
		require.Empty(e, e.drop(one, thread.CancelInterrupt))
		require.Equal(e, thread.RunInterrupted, e.getRun(id, one.ID).Status, "which is true at once")
		w.commit(func(c *thread.Commit) { c.Entries = []thread.Entry{w.note("x")} })
		require.Len(e, e.log(id), 1)
		end := w.entry(agent.Event{Kind: agent.RunFinished, Payload: agent.RunFinish{GraphID: "g", Status: "success"}})
		c := w.newCommit(func(c *thread.Commit) {
			c.Entries, c.Finish = []thread.Entry{end}, &thread.Finish{Status: thread.RunSuccess, At: now()}
		})
		told, err := e.Store.Commit(e.ctx, w.lease, c)
		require.NoError(e, err)
		require.Equal(e, told, e.log(id)[2:])
		require.Equal(e, end.Pos+1, told[0].Pos)
		require.Equal(e, end.Seq+1, told[0].Seq)
		require.Equal(e, []string{w.run.ID, two.ID, one.ID}, e.ends(id))
		told, err = e.Store.Commit(e.ctx, w.lease, c)
		require.NoError(e, err)
		require.Empty(e, told, "a repeat tells nothing twice")
		require.Len(e, e.log(id), 6)
		own, err := e.ReadRunLog(e.ctx, id, one.ID, 0, 10)
		require.NoError(e, err)
		require.Len(e, own, 2)
		e.claim(last.ID).finish()
		require.Equal(e, []string{w.run.ID, two.ID, one.ID, last.ID}, e.ends(id))
	}},
	{"the next owner of a lost run owes it, too", func(e *env) {
		e.admit(e.newThread().ID)
		dead, ok := e.tryClaim(thread.Claim{Worker: "a", Lease: 10 * time.Millisecond})
		require.True(e, ok)
		id := dead.run.ThreadID
		run := e.admit(id, strategy("enqueue")).Run
		e.drop(run, thread.CancelInterrupt)
		w := e.eventually(thread.Claim{Worker: "b", Lease: time.Minute})
		require.Empty(e, e.log(id))
		require.NoError(e, e.ReleaseRun(e.ctx, w.lease))
		w = e.eventually(thread.Claim{Worker: "c", Lease: time.Minute})
		require.Empty(e, e.log(id))
		w.finish()
		require.Equal(e, []string{w.run.ID, run.ID}, e.ends(id))
	}},
	{"a run that is given up owes it, too", func(e *env) {
		e.admit(e.newThread().ID)
		w, ok := e.tryClaim(thread.Claim{Worker: "a", Lease: 10 * time.Millisecond, MaxAttempts: 1})
		require.True(e, ok)
		id := w.run.ThreadID
		run := e.admit(id, strategy("enqueue")).Run
		e.drop(run, thread.CancelInterrupt)
		require.Eventually(e, func() bool {
			_, ok := e.tryClaim(thread.Claim{Worker: "b", MaxAttempts: 1})
			require.False(e, ok)
			return e.getRun(id, w.run.ID).Status.Ended()
		}, patience, lookEach)
		require.Equal(e, []string{w.run.ID, run.ID}, e.ends(id))
	}},
	{"a rollback keeps its own end and those that it owes", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		w.save()
		w.commit(func(c *thread.Commit) { c.Entries = []thread.Entry{w.note("gone")} })
		waits := e.admit(id, strategy("enqueue")).Run
		next := e.admit(id, strategy("rollback"))
		require.Empty(e, next.Told)
		require.Len(e, next.Cancelled, 2)
		last := w.pos
		told := w.rollback()
		require.Equal(e, []string{w.run.ID, waits.ID}, e.ends(id))
		log := e.log(id)
		require.Equal(e, []int64{last, last + 1, last + 2}, positions(log))
		require.Equal(e, log[1:], told)
		nw := e.claim(next.Run.ID)
		require.Equal(e, last+3, nw.lease.NextPos)
		nw.finish()
		require.Equal(e, []string{w.run.ID, waits.ID, next.Run.ID}, e.ends(id))
	}},
	{"a multitask strategy tells of the pending runs that it drops", func(e *env) {
		for _, action := range []string{"interrupt", "rollback"} {
			t := e.newThread()
			one, two := e.admit(t.ID).Run, e.admit(t.ID, strategy("enqueue")).Run
			admitted := e.admit(t.ID, strategy(action), func(a *thread.Admission) { a.Claim = &thread.Claim{Worker: "w", Lease: time.Minute} })
			require.Len(e, admitted.Told, 4)
			require.Equal(e, admitted.Told, e.log(t.ID))
			require.Equal(e, []string{one.ID, two.ID}, e.ends(t.ID))
			e.claim(admitted.Run.ID).finish()
			require.Equal(e, []string{one.ID, two.ID, admitted.Run.ID}, e.ends(t.ID))
		}
	}},
	{"a repeated request tells nothing twice", func(e *env) {
		t := e.newThread()
		e.admit(t.ID)
		request := newAdmission(t.ID, strategy("interrupt"), func(a *thread.Admission) { a.IdempotencyKey, a.KeyTTL = "k", time.Hour })
		for i := range 2 {
			admitted, err := e.AdmitRun(e.ctx, request)
			require.NoError(e, err)
			require.Equal(e, i == 1, admitted.Repeat)
			require.Len(e, admitted.Told, 2-2*i)
		}
		require.Len(e, e.log(t.ID), 2)
	}},
	{"that a deleted run has ended is told", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		waits := e.admit(id, strategy("enqueue")).Run
		cancelled := e.admit(id, strategy("enqueue")).Run
		e.drop(cancelled, thread.CancelInterrupt)
		require.Empty(e, e.deleteRun(id, waits.ID))
		require.Empty(e, e.deleteRun(id, cancelled.ID), "before the log was told of its end")
		require.Empty(e, e.log(id))
		told := e.deleteRun(id, w.run.ID)
		require.Equal(e, told, e.log(id))
		require.Equal(e, []string{w.run.ID, cancelled.ID, waits.ID}, e.ends(id))
		require.Greater(e, told[0].Pos, w.lease.PosReserved, "the worker that lost it may have used numbers")
		require.Greater(e, told[0].Seq, w.lease.SeqReserved)
		run := e.admit(id).Run
		require.Equal(e, e.deleteRun(id, run.ID), e.log(id)[5:])
		require.Len(e, e.ends(id), 4)
	}},
	{"they are dropped with the log", func(e *env) {
		t := e.newThread()
		for _, action := range []string{"interrupt", "rollback"} {
			e.drop(e.admit(t.ID).Run, action)
		}
		w := e.claim(e.admit(t.ID).Run.ID)
		w.finish()
		e.drop(e.admit(t.ID).Run, "rollback")
		require.Len(e, e.log(t.ID), 7)
		_, err := e.ExpireLogs(e.ctx, now().Add(time.Hour), 100)
		require.NoError(e, err)
		require.Empty(e, e.events(t.ID))
		require.NoError(e, e.DeleteThread(e.ctx, t.ID))
		_, err = e.CopyThread(e.ctx, t.ID, newID(), now())
		require.ErrorIs(e, err, thread.ErrNotFound)
	}},
	{"a copy owes nothing", func(e *env) {
		w := e.started()
		e.drop(e.admit(w.run.ThreadID, strategy("enqueue")).Run, "interrupt")
		c, err := e.CopyThread(e.ctx, w.run.ThreadID, newID(), now())
		require.NoError(e, err)
		e.claim(e.admit(c.ID).Run.ID).finish()
		require.Len(e, e.ends(c.ID), 1)
	}},
	{"its webhook is sent, and the thread of a stateless one goes", func(e *env) {
		for _, action := range []string{"interrupt", "rollback"} {
			for _, running := range []bool{false, true} {
				t := e.newThread(func(t *thread.Thread) { t.Temporary = true })
				run := e.admit(t.ID, func(a *thread.Admission) {
					a.Run.Kwargs.Temporary, a.Run.Kwargs.Webhook = true, "http://example.com/"+a.Run.ID
				}).Run
				switch {
				case !running:
					e.drop(run, action)
				case action == "interrupt":
					continue // is up to the one that ends it
				default:
					e.claim(run.ID).rollback()
				}
				if action == "interrupt" {
					due, err := e.DueDeliveries(e.ctx, now().Add(time.Second), 10)
					require.NoError(e, err)
					require.Len(e, due, 1)
					require.Equal(e, []string{run.ID, t.ID, run.Kwargs.Webhook}, []string{due[0].RunID, due[0].ThreadID, due[0].URL})
					require.NoError(e, e.FinishDelivery(e.ctx, due[0].ID))
				}
				expired, err := e.ExpiredThreads(e.ctx, now().Add(time.Second), 10)
				require.NoError(e, err)
				require.Equal(e, []string{t.ID}, threadIDs(expired))
				require.NoError(e, e.DeleteThread(e.ctx, t.ID))
			}
		}
	}},
	{"every run has one end in the log, whoever cancels, claims and ends it", func(e *env) {
		seed := rand.Uint64()
		e.Logf("seed %d", seed)
		t := e.newThread()
		var mu sync.Mutex
		admitted := map[string]bool{}
		const actors, each = 8, 25
		together(actors, func(i int) {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			for range each {
				if err := e.stir(random, t.ID, func(id string) {
					mu.Lock()
					defer mu.Unlock()
					admitted[id] = true
				}); err != nil {
					e.Error(err)
				}
			}
		})
		for {
			w, ok := e.tryClaim(thread.Claim{Worker: "last", MaxAttempts: 1 << 20})
			if !ok {
				if inflight, err := e.Inflight(e.ctx, t.ID); err == nil && len(inflight) == 0 {
					break
				}
				time.Sleep(lookEach) // until the lease of one that was left alone has run out
				continue
			}
			w.finish()
		}
		ends := e.ends(t.ID)
		require.Len(e, ends, len(admitted))
		for _, id := range ends {
			require.True(e, admitted[id])
			delete(admitted, id)
		}
		require.Empty(e, admitted)
	}},
}

// stir does one thing to the runs of a thread.
func (e *env) stir(random *rand.Rand, threadID string, admitted func(id string)) error {
	strategies := []string{"enqueue", "enqueue", "enqueue", "interrupt", "rollback"}
	actions := []string{thread.CancelInterrupt, thread.CancelRollback}
	switch random.IntN(4) {
	case 0:
		a := newAdmission(threadID, strategy(strategies[random.IntN(len(strategies))]))
		_, err := e.AdmitRun(e.ctx, a)
		if err == nil {
			admitted(a.Run.ID)
		}
		return err
	case 1:
		inflight, err := e.Inflight(e.ctx, threadID)
		if err != nil || len(inflight) == 0 {
			return err
		}
		run := inflight[random.IntN(len(inflight))]
		if _, _, err = e.RequestCancel(e.ctx, threadID, run.ID, actions[random.IntN(2)], now()); errors.Is(err, thread.ErrNotFound) {
			return nil // removed meanwhile
		}
		return err
	}
	lease := time.Minute
	abandon := random.IntN(4) == 0
	if abandon {
		lease = time.Millisecond
	}
	run, l, ok, err := e.ClaimRun(e.ctx, thread.Claim{Worker: "w", Lease: lease, MaxAttempts: 1 << 20})
	if err != nil || !ok || abandon {
		return err
	}
	w := &worker{e: e, run: run, lease: l, pos: l.NextPos, seq: l.NextSeq}
	end := w.entry(agent.Event{Kind: agent.RunFinished, Payload: agent.RunFinish{GraphID: "g", Status: "success"}})
	switch random.IntN(3) {
	case 0:
		return e.ReleaseRun(e.ctx, l)
	case 1:
		_, err = e.Rollback(e.ctx, l, []thread.Entry{end})
	default:
		err = e.Commit(e.ctx, l, thread.Commit{ID: fmt.Sprintf("%s/%d/1", run.ID, l.Token), Entries: []thread.Entry{end}, Finish: &thread.Finish{Status: thread.RunSuccess, At: now()}})
	}
	return err
}
