package storetest

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

func (e *env) cancel(run thread.Run, action string) thread.Run {
	e.Helper()
	got, _, err := e.RequestCancel(e.ctx, run.ThreadID, run.ID, action, now())
	require.NoError(e, err)
	return got
}

var cancelCases = []testCase{
	{"a pending run ends at once", func(e *env) {
		t := e.newThread()
		run := e.admit(t.ID).Run
		got := e.cancel(run, "interrupt")
		require.Equal(e, thread.RunInterrupted, got.Status)
		stored := e.getRun(t.ID, run.ID)
		require.Equal(e, thread.RunInterrupted, stored.Status)
		require.Equal(e, "interrupt", stored.Cancel)
		require.False(e, stored.EndedAt.IsZero())
		require.Equal(e, thread.Idle, e.getThread(t.ID).Status)
		_, ok := e.tryClaim(thread.Claim{Worker: "w"})
		require.False(e, ok)
	}},
	{"a pending run is removed by a rollback", func(e *env) {
		t := e.newThread()
		run := e.admit(t.ID).Run
		got := e.cancel(run, "rollback")
		require.Equal(e, "rollback", got.Cancel)
		_, err := e.GetRun(e.ctx, t.ID, run.ID)
		require.ErrorIs(e, err, thread.ErrNotFound)
		require.Equal(e, thread.Idle, e.getThread(t.ID).Status)
	}},
	{"the thread stays busy with the others", func(e *env) {
		t := e.newThread()
		first := e.admit(t.ID).Run
		second := e.admit(t.ID, strategy("enqueue")).Run
		e.cancel(first, "interrupt")
		require.Equal(e, thread.Busy, e.getThread(t.ID).Status)
		e.claim(second.ID).finish()
		require.Equal(e, thread.Idle, e.getThread(t.ID).Status)
	}},
	{"a running run is marked, and its owner learns of it", func(e *env) {
		w := e.started()
		got := e.cancel(w.run, "interrupt")
		require.Equal(e, thread.RunRunning, got.Status)
		require.Equal(e, "interrupt", got.Cancel)
		_, action, err := e.Renew(e.ctx, w.lease, time.Minute)
		require.NoError(e, err)
		require.Equal(e, "interrupt", action)
		e.cancel(w.run, "rollback")
		e.cancel(w.run, "interrupt")
		require.Equal(e, "rollback", e.getRun(w.run.ThreadID, w.run.ID).Cancel, "the stronger one stays")
		w.finish(func(f *thread.Finish) { f.Status = thread.RunInterrupted })
		require.Equal(e, "rollback", e.getRun(w.run.ThreadID, w.run.ID).Cancel)
	}},
	{"the next owner of a cancelled run learns of it", func(e *env) {
		e.admit(e.newThread().ID)
		w, ok := e.tryClaim(thread.Claim{Worker: "a", Lease: 10 * time.Millisecond})
		require.True(e, ok)
		e.cancel(w.run, "interrupt")
		require.Equal(e, "interrupt", e.eventually(thread.Claim{Worker: "b"}).run.Cancel)
	}},
	{"an armed call cancels nothing, and every owner of the run learns of it until it ends", func(e *env) {
		const seven, eight = `call 7 {"principal":"ann"}`, `call 8 {}`
		require.True(e, thread.ArmsCall(seven))
		e.admit(e.newThread().ID)
		w, ok := e.tryClaim(thread.Claim{Worker: "a", Lease: 10 * time.Millisecond})
		require.True(e, ok)
		require.Empty(e, w.run.Cancel)
		got := e.cancel(w.run, seven)
		require.Equal(e, thread.RunRunning, got.Status)
		require.Equal(e, seven, got.Cancel)
		require.Equal(e, seven, e.getRun(w.run.ThreadID, w.run.ID).Cancel)
		w = e.eventually(thread.Claim{Worker: "b", Lease: time.Minute})
		require.Equal(e, seven, w.run.Cancel)
		_, action, err := e.Renew(e.ctx, w.lease, time.Minute)
		require.NoError(e, err)
		require.Equal(e, seven, action)
		require.Equal(e, eight, e.cancel(w.run, eight).Cancel, "the last one counts")
		require.NoError(e, e.ReleaseRun(e.ctx, w.lease))
		w = e.eventually(thread.Claim{Worker: "c", Lease: time.Minute})
		require.Equal(e, eight, w.run.Cancel)
		w.finish()
		ended := e.getRun(w.run.ThreadID, w.run.ID)
		require.Equal(e, thread.RunSuccess, ended.Status)
		require.Empty(e, ended.Cancel)
		require.Empty(e, e.cancel(w.run, seven).Cancel)
		next := e.admit(w.run.ThreadID).Run
		require.Empty(e, e.claim(next.ID).run.Cancel, "another run has nothing of it")
	}},
	{"an armed call of a pending run waits for its owner", func(e *env) {
		const one, two = `call 1 {}`, `call 2 {}`
		t := e.newThread()
		first := e.admit(t.ID).Run
		second := e.admit(t.ID, strategy("enqueue")).Run
		require.Equal(e, thread.RunPending, e.cancel(second, one).Status)
		got := e.cancel(second, two)
		require.Equal(e, thread.RunPending, got.Status)
		require.Equal(e, two, got.Cancel)
		require.Equal(e, two, e.getRun(t.ID, second.ID).Cancel)
		w := e.claim(first.ID)
		require.Empty(e, w.run.Cancel)
		w.finish()
		w = e.claim(second.ID)
		require.Equal(e, two, w.run.Cancel)
		require.Equal(e, two, e.getRun(t.ID, second.ID).Cancel)
		w.finish()
		require.Empty(e, e.getRun(t.ID, second.ID).Cancel)
		third := e.admit(t.ID).Run
		e.cancel(third, one)
		require.Equal(e, thread.RunInterrupted, e.cancel(third, "interrupt").Status)
		require.Equal(e, "interrupt", e.getRun(t.ID, third.ID).Cancel)
	}},
	{"a cancel takes the place of an armed call, and stays", func(e *env) {
		w := e.started()
		e.cancel(w.run, `call 1 {}`)
		require.Equal(e, "interrupt", e.cancel(w.run, "interrupt").Cancel)
		require.Equal(e, "interrupt", e.cancel(w.run, `call 2 {}`).Cancel)
		w.finish(func(f *thread.Finish) { f.Status = thread.RunInterrupted })
		require.Equal(e, "interrupt", e.getRun(w.run.ThreadID, w.run.ID).Cancel)
		_, _, err := e.RequestCancel(e.ctx, w.run.ThreadID, w.run.ID, "call", now())
		require.Error(e, err, "no action")
	}},
	{"a finished run is left alone", func(e *env) {
		w := e.started()
		w.finish()
		require.Equal(e, thread.RunSuccess, e.cancel(w.run, "rollback").Status)
		require.Equal(e, thread.RunSuccess, e.getRun(w.run.ThreadID, w.run.ID).Status)
	}},
	{"an unknown run is not found", func(e *env) {
		_, _, err := e.RequestCancel(e.ctx, e.newThread().ID, newID(), "interrupt", now())
		require.ErrorIs(e, err, thread.ErrNotFound)
	}},
	{"what waited before a cancelled run still waits", func(e *env) {
		w := e.started()
		_, ids := w.suspend(1)
		run := e.admit(w.run.ThreadID).Run // null input, which drops nothing
		e.cancel(run, "interrupt")
		require.Equal(e, thread.Interrupted, e.getThread(w.run.ThreadID).Status)
		require.Equal(e, ids, e.pending(w.run.ThreadID))
	}},
}

var rollbackCases = []testCase{
	{"the thread is as it was before the run", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		head := w.save()
		w.commit(func(c *thread.Commit) { c.Entries = []thread.Entry{w.note("kept")} })
		w.finish()
		before := e.getThread(id)
		next := e.claim(e.admit(id).Run.ID)
		dropped := next.save()
		next.save(namespace("sub:1"))
		next.commit(func(c *thread.Commit) {
			c.Tasks = []agent.TaskRecord{{CheckpointID: dropped, TaskID: newID(), Status: agent.TaskDone}}
			c.Entries = []thread.Entry{next.note("gone")}
		})
		e.cancel(next.run, "rollback")
		next.rollback()
		_, err := e.GetRun(e.ctx, id, next.run.ID)
		require.ErrorIs(e, err, thread.ErrNotFound)
		got := e.getThread(id)
		require.Equal(e, head, got.Head)
		require.Equal(e, thread.Idle, got.Status)
		require.GreaterOrEqual(e, got.NextPos, next.pos, "its numbers are never given again")
		require.GreaterOrEqual(e, got.NextSeq, next.seq)
		require.Greater(e, got.NextPos, before.NextPos)
		log := e.log(id)
		require.Len(e, log, 3)
		require.Equal(e, agent.RunFinished, log[2].Event.Kind, "all that is left of it is its end")
		require.Equal(e, next.run.ID, log[2].RunID)
		for _, ns := range []string{"", "sub:1"} {
			list, err := e.ListCheckpoints(e.ctx, id, ns, agent.CheckpointQuery{Limit: 10})
			require.NoError(e, err)
			require.Len(e, list, map[string]int{"": 1, "sub:1": 0}[ns])
		}
		require.ErrorIs(e, e.Commit(e.ctx, next.lease, next.newCommit()), thread.ErrFenced)
		e.claim(e.admit(id).Run.ID).finish()
	}},
	{"a thread that waited waits again, and an answer can be given anew", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		head, ids := w.suspend(1)
		writes := agent.TaskRecord{CheckpointID: head, TaskID: agent.NullTask, Status: agent.TaskDone, Writes: []agent.Write{{Channel: "x", Value: raw("1")}}}
		next := e.claim(e.admit(id, resume("f", answer(ids[0], "1")), func(a *thread.Admission) { a.Resume.Writes = &writes }).Run.ID)
		next.save()
		next.rollback()
		require.Equal(e, thread.Interrupted, e.getThread(id).Status)
		require.Equal(e, ids, e.pending(id))
		tuple, err := e.Checkpoint(e.ctx, id, "", "")
		require.NoError(e, err)
		require.Equal(e, head, tuple.Record.ID)
		require.Len(e, tuple.Tasks, 1, "the command's writes are gone")
		require.Empty(e, tuple.Answers)
		again := e.admit(id, resume("g", answer(ids[0], "2")))
		require.False(e, again.Repeat)
	}},
	{"what an answer led to is taken back with it", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		head, ids := w.suspend(2)
		before, err := e.Checkpoint(e.ctx, id, "", "")
		require.NoError(e, err)
		asked := before.Tasks[0]
		next := e.claim(e.admit(id, resume("f", answer(ids[0], "1"))).Run.ID)
		more, beside := newInterruptID(), newID()
		for _, status := range []agent.TaskStatus{agent.TaskInterrupted, agent.TaskDone} { // it asks something else, and is done all the same
			next.commit(func(c *thread.Commit) {
				done := asked
				done.Status = status
				done.Interrupts = append(slices.Clone(asked.Interrupts[:1]), agent.InterruptInfo{ID: more, Value: raw(`"sure?"`)})
				if status == agent.TaskDone {
					done.Interrupts = done.Interrupts[:1]
					done.Writes = []agent.Write{{Channel: "x", Value: raw("1")}}
				}
				c.Tasks = []agent.TaskRecord{done, {CheckpointID: head, TaskID: beside, Name: "beside", Status: agent.TaskDone}}
			})
		}
		next.rollback()
		require.ElementsMatch(e, ids, e.pending(id), "and what it was the first to ask")
		after, err := e.Checkpoint(e.ctx, id, "", "")
		require.NoError(e, err)
		require.Equal(e, before.Tasks, after.Tasks)
		again := e.claim(e.admit(id, resume("g", answer(ids[0], "2"))).Run.ID)
		again.commit(func(c *thread.Commit) {
			done := asked
			done.Status = agent.TaskDone
			c.Tasks = []agent.TaskRecord{done}
		})
		again.finish()
		after, err = e.Checkpoint(e.ctx, id, "", "")
		require.NoError(e, err)
		require.Equal(e, agent.TaskDone, after.Tasks[0].Status)
	}},
	{"a cancelled resume that never started gives its question back", func(e *env) {
		w := e.started()
		_, ids := w.suspend(1)
		run := e.admit(w.run.ThreadID, resume("f", answer(ids[0], "1"))).Run
		e.cancel(run, "rollback")
		require.Equal(e, ids, e.pending(w.run.ThreadID))
		require.Equal(e, thread.Interrupted, e.getThread(w.run.ThreadID).Status)
	}},
	{"the first run of a thread leaves an empty thread", func(e *env) {
		w := e.started()
		_, _ = w.ask(1)
		w.rollback()
		t := e.getThread(w.run.ThreadID)
		require.Empty(e, t.Head)
		require.Equal(e, thread.Idle, t.Status)
		require.Empty(e, e.pending(t.ID))
		_, err := e.Checkpoint(e.ctx, t.ID, "", "")
		require.ErrorIs(e, err, thread.ErrNotFound)
	}},
	{"the queue goes on behind a rolled back run", func(e *env) {
		w := e.started()
		next := e.admit(w.run.ThreadID, strategy("rollback")).Run
		require.Equal(e, "rollback", e.getRun(w.run.ThreadID, w.run.ID).Cancel)
		w.rollback()
		require.Equal(e, thread.Busy, e.getThread(w.run.ThreadID).Status)
		e.claim(next.ID).finish()
	}},
	{"deleting a run removes what it left", func(e *env) {
		w := e.started()
		id := w.run.ThreadID
		head := w.save()
		w.finish()
		next := e.claim(e.admit(id).Run.ID)
		_, _ = next.suspend(1)
		e.deleteRun(id, next.run.ID)
		_, err := e.DeleteRun(e.ctx, id, next.run.ID)
		require.ErrorIs(e, err, thread.ErrNotFound)
		t := e.getThread(id)
		require.Equal(e, head, t.Head)
		require.Equal(e, thread.Idle, t.Status)
		require.Empty(e, e.pending(id))
		require.Len(e, e.log(id), 1)
		_, err = e.ReadRunLog(e.ctx, id, next.run.ID, 0, 10)
		require.ErrorIs(e, err, thread.ErrNotFound)
		runs, err := e.ListRuns(e.ctx, id, thread.RunQuery{})
		require.NoError(e, err)
		require.Equal(e, []string{w.run.ID}, runIDs(runs))
	}},
	{"deleting a pending run takes it from the queue", func(e *env) {
		t := e.newThread()
		first := e.admit(t.ID).Run
		second := e.admit(t.ID, strategy("enqueue")).Run
		e.deleteRun(t.ID, first.ID)
		require.Equal(e, second.ID, e.eventually(thread.Claim{Worker: "w"}).run.ID)
	}},
	{"deleting a running run fences its worker", func(e *env) {
		w := e.started()
		w.save()
		e.deleteRun(w.run.ThreadID, w.run.ID)
		require.ErrorIs(e, e.Commit(e.ctx, w.lease, w.newCommit()), thread.ErrFenced)
		t := e.getThread(w.run.ThreadID)
		require.Equal(e, thread.Idle, t.Status)
		require.Empty(e, t.Head)
		require.GreaterOrEqual(e, t.NextPos, w.pos)
	}},
}
