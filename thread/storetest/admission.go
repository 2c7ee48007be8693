package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
)

var admissionCases = []testCase{
	{"a run is stored pending and its thread is busy", func(e *env) {
		t := e.newThread()
		a := newAdmission(t.ID, func(a *thread.Admission) {
			a.Run.Kwargs.StreamMode = []string{"values", "messages"}
			a.Run.Kwargs.Webhook = "/hook"
			a.Run.Principal = "ann"
			a.Run.Warnings = []string{"dropped: x"}
		})
		admitted, err := e.AdmitRun(e.ctx, a)
		require.NoError(e, err)
		require.False(e, admitted.Repeat)
		require.False(e, admitted.ThreadCreated)
		require.Equal(e, thread.Busy, admitted.Thread.Status)
		for _, run := range []thread.Run{admitted.Run, e.getRun(t.ID, a.Run.ID)} {
			require.Equal(e, thread.RunPending, run.Status)
			require.Equal(e, a.Run.ID, run.ID)
			require.Equal(e, t.ID, run.ThreadID)
			require.Equal(e, a.Run.Kwargs, run.Kwargs)
			require.Equal(e, a.Run.Metadata, run.Metadata)
			require.Equal(e, a.Run.ExecutionID, run.ExecutionID)
			require.Equal(e, "g", run.GraphID)
			require.Equal(e, "a", run.AssistantID)
			require.Equal(e, "ann", run.Principal)
			require.Equal(e, "reject", run.Strategy)
			require.Equal(e, a.Run.Warnings, run.Warnings)
			require.True(e, a.Run.CreatedAt.Equal(run.CreatedAt))
			require.Zero(e, run.EndedAt)
		}
		require.Equal(e, thread.Busy, e.getThread(t.ID).Status)
		found, err := e.FindRun(e.ctx, a.Run.ID)
		require.NoError(e, err)
		require.Equal(e, t.ID, found.ThreadID)
		_, err = e.GetRun(e.ctx, newID(), a.Run.ID)
		require.ErrorIs(e, err, thread.ErrNotFound)
	}},
	{"an unknown thread is not found, unless it is to be created", func(e *env) {
		id := newID()
		_, err := e.AdmitRun(e.ctx, newAdmission(id))
		require.ErrorIs(e, err, thread.ErrNotFound)
		create := func(a *thread.Admission) {
			a.CreateThread = &thread.Thread{ID: id, CreatedAt: now(), Metadata: thread.Metadata{"m": raw("1")}}
			a.ThreadMetadata = thread.Metadata{"graph_id": raw(`"g"`)}
			a.ThreadConfig = raw(`{"configurable":{"k":1}}`)
			a.Strategy = "enqueue"
		}
		admitted := e.admit(id, create)
		require.True(e, admitted.ThreadCreated)
		require.Equal(e, thread.Metadata{"m": raw("1"), "graph_id": raw(`"g"`)}, admitted.Thread.Metadata)
		require.JSONEq(e, `{"configurable":{"k":1}}`, string(admitted.Thread.Config))
		require.Equal(e, admitted.Thread.Metadata, e.getThread(id).Metadata)
		require.False(e, e.admit(id, create).ThreadCreated)
	}},
	{"metadata and configuration are merged while nothing is inflight", func(e *env) {
		t := e.newThread(func(t *thread.Thread) {
			t.Metadata = thread.Metadata{"a": raw("1"), "b": raw("1")}
			t.Config = raw(`{"tags":["x"],"configurable":{"k":1,"l":1}}`)
		})
		merge := func(a *thread.Admission) {
			a.Strategy = "enqueue"
			a.ThreadMetadata = thread.Metadata{"b": raw("2"), "c": raw("3")}
			a.ThreadConfig = raw(`{"configurable":{"l":2}}`)
		}
		e.admit(t.ID, merge)
		got := e.getThread(t.ID)
		require.Equal(e, thread.Metadata{"a": raw("1"), "b": raw("2"), "c": raw("3")}, got.Metadata)
		require.JSONEq(e, `{"tags":["x"],"configurable":{"k":1,"l":2}}`, string(got.Config))
		require.Equal(e, []string{t.ID}, e.found(thread.ThreadQuery{IDs: []string{t.ID}, Metadata: thread.Metadata{"c": raw("3")}}))
		e.admit(t.ID, func(a *thread.Admission) { merge(a); a.ThreadMetadata = thread.Metadata{"late": raw("1")} })
		require.Equal(e, got.Metadata, e.getThread(t.ID).Metadata)
	}},
	{"reject refuses while a run is pending or running", func(e *env) {
		t := e.newThread()
		run := e.admit(t.ID).Run
		refused := newAdmission(t.ID)
		_, err := e.AdmitRun(e.ctx, refused)
		require.ErrorIs(e, err, thread.ErrBusy)
		w := e.claim(run.ID)
		_, err = e.AdmitRun(e.ctx, refused)
		require.ErrorIs(e, err, thread.ErrBusy)
		_, err = e.FindRun(e.ctx, refused.Run.ID)
		require.ErrorIs(e, err, thread.ErrNotFound, "nothing is stored of a refused run")
		w.finish()
		_, err = e.AdmitRun(e.ctx, refused)
		require.NoError(e, err)
	}},
	{"enqueue waits behind the others, in order", func(e *env) {
		t := e.newThread()
		var want []string
		for range 3 {
			want = append(want, e.admit(t.ID, strategy("enqueue")).Run.ID)
		}
		inflight, err := e.Inflight(e.ctx, t.ID)
		require.NoError(e, err)
		require.Equal(e, want, runIDs(inflight))
		var got []string
		for range 3 {
			w := e.eventually(thread.Claim{Worker: "w"})
			_, ok := e.tryClaim(thread.Claim{Worker: "w", RunID: want[2]})
			require.False(e, ok, "one at a time")
			got = append(got, w.run.ID)
			w.finish()
		}
		require.Equal(e, want, got)
		require.Equal(e, thread.Idle, e.getThread(t.ID).Status)
	}},
	{"interrupt ends pending runs and marks the running one", func(e *env) {
		t := e.newThread()
		w := e.claim(e.admit(t.ID).Run.ID)
		waiting := e.admit(t.ID, strategy("enqueue")).Run
		admitted := e.admit(t.ID, strategy("interrupt"))
		require.Equal(e, []string{w.run.ID, waiting.ID}, runIDs(admitted.Cancelled))
		require.Equal(e, thread.RunRunning, admitted.Cancelled[0].Status)
		require.Equal(e, thread.RunInterrupted, admitted.Cancelled[1].Status)
		running := e.getRun(t.ID, w.run.ID)
		require.Equal(e, thread.RunRunning, running.Status)
		require.Equal(e, "interrupt", running.Cancel)
		require.Equal(e, thread.RunInterrupted, e.getRun(t.ID, waiting.ID).Status)
		_, action, err := e.Renew(e.ctx, w.lease, time.Minute)
		require.NoError(e, err)
		require.Equal(e, "interrupt", action)
		require.Equal(e, thread.RunPending, e.getRun(t.ID, admitted.Run.ID).Status)
		w.finish(func(f *thread.Finish) { f.Status = thread.RunInterrupted })
		require.Equal(e, thread.Busy, e.getThread(t.ID).Status)
		e.claim(admitted.Run.ID)
	}},
	{"rollback removes pending runs and marks the running one", func(e *env) {
		t := e.newThread()
		w := e.claim(e.admit(t.ID).Run.ID)
		waiting := e.admit(t.ID, strategy("enqueue")).Run
		admitted := e.admit(t.ID, strategy("rollback"))
		require.Len(e, admitted.Cancelled, 2)
		_, err := e.GetRun(e.ctx, t.ID, waiting.ID)
		require.ErrorIs(e, err, thread.ErrNotFound)
		require.Equal(e, "rollback", e.getRun(t.ID, w.run.ID).Cancel)
		inflight, err := e.Inflight(e.ctx, t.ID)
		require.NoError(e, err)
		require.Equal(e, []string{w.run.ID, admitted.Run.ID}, runIDs(inflight))
	}},
	{"runs are listed oldest first, by pages and status", func(e *env) {
		t := e.newThread()
		var ids []string
		for i := range 5 {
			w := e.claim(e.admit(t.ID).Run.ID)
			ids = append(ids, w.run.ID)
			w.finish(func(f *thread.Finish) {
				if i == 2 {
					f.Status = thread.RunError
				}
			})
		}
		ids = append(ids, e.admit(t.ID).Run.ID)
		list := func(q thread.RunQuery) []string {
			runs, err := e.ListRuns(e.ctx, t.ID, q)
			require.NoError(e, err)
			return runIDs(runs)
		}
		require.Equal(e, ids, list(thread.RunQuery{}))
		require.Equal(e, ids[1:3], list(thread.RunQuery{Limit: 2, Offset: 1}))
		require.Equal(e, []string{ids[2]}, list(thread.RunQuery{Status: thread.RunError}))
		require.Equal(e, ids[1:2], list(thread.RunQuery{Status: thread.RunSuccess, Limit: 1, Offset: 1}))
		require.Equal(e, ids[5:], list(thread.RunQuery{Status: thread.RunPending}))
		require.Empty(e, list(thread.RunQuery{Status: thread.RunRunning}))
		e.claim(ids[5])
		require.Equal(e, ids[5:], list(thread.RunQuery{Status: thread.RunRunning}))
		_, err := e.ListRuns(e.ctx, newID(), thread.RunQuery{})
		require.ErrorIs(e, err, thread.ErrNotFound)
	}},
	{"the runs of an execution are listed", func(e *env) {
		other := e.started()
		other.finish()
		id := other.run.ThreadID
		w := e.claim(e.admit(id).Run.ID)
		_, ids := w.suspend(1)
		second := e.admit(id, resume("f", answer(ids[0], "1")), func(a *thread.Admission) { a.Run.ExecutionID = w.run.ID }).Run.ID
		e.claim(second).finish()
		last := e.admit(id).Run.ID
		list := func(q thread.RunQuery) []string {
			runs, err := e.ListRuns(e.ctx, id, q)
			require.NoError(e, err)
			return runIDs(runs)
		}
		require.Equal(e, []string{w.run.ID, second}, list(thread.RunQuery{ExecutionID: w.run.ID}))
		require.Equal(e, []string{second}, list(thread.RunQuery{ExecutionID: w.run.ID, Offset: 1}))
		require.Equal(e, []string{w.run.ID}, list(thread.RunQuery{ExecutionID: w.run.ID, Limit: 1}))
		require.Equal(e, []string{w.run.ID, second}, list(thread.RunQuery{ExecutionID: w.run.ID, Status: thread.RunSuccess}))
		require.Empty(e, list(thread.RunQuery{ExecutionID: w.run.ID, Status: thread.RunError}))
		require.Equal(e, []string{last}, list(thread.RunQuery{ExecutionID: last}))
		require.Empty(e, list(thread.RunQuery{ExecutionID: newID()}))
	}},
	{"an admission that keeps what waits is refused while something does", func(e *env) {
		keeping := func(a *thread.Admission) { a.KeepsPending = true }
		w := e.claim(e.admit(e.newThread().ID, keeping).Run.ID)
		id := w.run.ThreadID
		refused := func() error {
			_, err := e.AdmitRun(e.ctx, newAdmission(id, keeping))
			return err
		}
		require.ErrorIs(e, refused(), thread.ErrBusy)
		_, ids := w.suspend(1)
		require.ErrorIs(e, refused(), thread.ErrConflict)
		require.Len(e, e.pending(id), 1)
		e.claim(e.admit(id, resume("f", answer(ids[0], "1"))).Run.ID).finish()
		e.claim(e.admit(id, keeping).Run.ID).finish()
	}},
	{"new input drops what waited for a person", func(e *env) {
		w := e.started()
		_, ids := w.suspend(2)
		admitted := e.admit(w.run.ThreadID, func(a *thread.Admission) { a.DropsPending = true })
		require.Empty(e, e.pending(w.run.ThreadID))
		_, err := e.AdmitRun(e.ctx, newAdmission(w.run.ThreadID, resume("f", answer(ids[0], "1"))))
		require.ErrorIs(e, err, thread.ErrConflict)
		e.claim(admitted.Run.ID).finish()
		require.Equal(e, thread.Idle, e.getThread(w.run.ThreadID).Status)
	}},
	{"a run that may start at once can be claimed with its admission", func(e *env) {
		claiming := func(a *thread.Admission) {
			a.Strategy = "enqueue"
			a.Claim = &thread.Claim{Worker: "me", Lease: time.Minute, Reserve: 100}
		}
		t := e.newThread()
		admitted := e.admit(t.ID, claiming)
		require.NotNil(e, admitted.Lease)
		require.Equal(e, thread.RunPending, admitted.Run.Status)
		l := *admitted.Lease
		require.Equal(e, admitted.Run.ID, l.RunID)
		require.Equal(e, t.ID, l.ThreadID)
		require.EqualValues(e, 1, l.NextPos)
		require.EqualValues(e, 101, l.PosReserved)
		run := e.getRun(t.ID, l.RunID)
		require.Equal(e, thread.RunRunning, run.Status)
		require.Equal(e, 1, run.Attempt)
		_, ok := e.tryClaim(thread.Claim{Worker: "w"})
		require.False(e, ok)
		waiting := e.admit(t.ID, claiming)
		require.Nil(e, waiting.Lease, "another one runs")
		w := &worker{e: e, run: run, lease: l, pos: l.NextPos, seq: l.NextSeq}
		w.save()
		w.finish()
		e.claim(waiting.Run.ID).finish()
		late := e.admit(t.ID, claiming, func(a *thread.Admission) { a.Run.NotBefore = time.Now().Add(time.Hour) })
		require.Nil(e, late.Lease, "it may not start yet")
		entries, err := e.ReadRunLog(e.ctx, t.ID, run.ID, 0, 10)
		require.NoError(e, err)
		require.Len(e, entries, 1)
	}},
	{"a run id is taken once", func(e *env) {
		a := newAdmission(e.newThread().ID)
		_, err := e.AdmitRun(e.ctx, a)
		require.NoError(e, err)
		a.Run.ThreadID = e.newThread().ID
		_, err = e.AdmitRun(e.ctx, a)
		require.ErrorIs(e, err, thread.ErrExists)
		require.Equal(e, thread.Idle, e.getThread(a.Run.ThreadID).Status)
	}},
}

var repeatCases = []testCase{
	{"the same idempotency key gets the first run, also after its end", func(e *env) {
		t := e.newThread()
		keyed := func(a *thread.Admission) { a.IdempotencyKey, a.KeyTTL = "k", time.Hour }
		run := e.admit(t.ID, keyed).Run
		again := e.admit(t.ID, keyed)
		require.True(e, again.Repeat)
		require.Equal(e, run.ID, again.Run.ID)
		e.claim(run.ID).finish()
		again = e.admit(t.ID, keyed)
		require.True(e, again.Repeat)
		require.Equal(e, thread.RunSuccess, again.Run.Status)
		other := e.admit(t.ID, func(a *thread.Admission) { keyed(a); a.IdempotencyKey = "other" })
		require.False(e, other.Repeat)
		elsewhere := e.admit(e.newThread().ID, keyed)
		require.False(e, elsewhere.Repeat, "keys belong to a thread")
		if finder, ok := e.Store.(thread.KeyFinder); ok {
			found, err := finder.RunByKey(e.ctx, t.ID, "k")
			require.NoError(e, err)
			require.Equal(e, run.ID, found.ID)
			_, err = finder.RunByKey(e.ctx, t.ID, "unknown")
			require.ErrorIs(e, err, thread.ErrNotFound)
		}
	}},
	{"a key is forgotten after its time", func(e *env) {
		t := e.newThread()
		keyed := func(a *thread.Admission) {
			a.IdempotencyKey, a.KeyTTL, a.Strategy = "k", 20*time.Millisecond, "enqueue"
		}
		run := e.admit(t.ID, keyed).Run
		require.Eventually(e, func() bool { return e.admit(t.ID, keyed).Run.ID != run.ID }, patience, lookEach)
	}},
	{"a key of a removed run is free", func(e *env) {
		t := e.newThread()
		keyed := func(a *thread.Admission) { a.IdempotencyKey, a.KeyTTL = "k", time.Hour }
		run := e.admit(t.ID, keyed).Run
		e.deleteRun(t.ID, run.ID)
		require.False(e, e.admit(t.ID, keyed).Repeat)
	}},
	{"equal requests are one while the first is inflight and the newest", func(e *env) {
		t := e.newThread()
		same := func(a *thread.Admission) { a.Fingerprint, a.Window, a.Strategy = "f", time.Minute, "enqueue" }
		run := e.admit(t.ID, same).Run
		again := e.admit(t.ID, same)
		require.True(e, again.Repeat)
		require.Equal(e, run.ID, again.Run.ID)
		require.False(e, e.admit(t.ID, func(a *thread.Admission) { same(a); a.Fingerprint = "other" }).Repeat)
		third := e.admit(t.ID, same)
		require.False(e, third.Repeat, "another run came in between")
		e.claim(run.ID)
	}},
	{"an equal request after the end is a new run", func(e *env) {
		t := e.newThread()
		same := func(a *thread.Admission) { a.Fingerprint, a.Window = "f", time.Minute }
		w := e.claim(e.admit(t.ID, same).Run.ID)
		require.True(e, e.admit(t.ID, same).Repeat, "running counts as inflight")
		w.finish()
		require.False(e, e.admit(t.ID, same).Repeat)
	}},
	{"an equal request outside of the window is a new run", func(e *env) {
		t := e.newThread()
		old := func(a *thread.Admission) {
			a.Fingerprint, a.Window, a.Strategy = "f", time.Second, "enqueue"
			a.Run.CreatedAt = now().Add(-time.Minute)
		}
		e.admit(t.ID, old)
		require.False(e, e.admit(t.ID, old).Repeat)
	}},
}
