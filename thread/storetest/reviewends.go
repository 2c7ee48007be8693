package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// superseded requires that a review ended so, who did it and why, and that it is announced.
func (e *reviewEnv) superseded(threadID, interruptID, by, cause string) {
	e.Helper()
	r := e.review(threadID, interruptID)
	require.Equal(e, thread.ReviewSuperseded, r.Status)
	require.Nil(e, r.Decided)
	require.NotContains(e, e.pending(threadID), interruptID)
	require.Zero(e, r.Due())
	n := 0
	for _, b := range e.audited(threadID) {
		if b.Action != thread.AuditSuperseded || b.InterruptID != interruptID {
			continue
		}
		n++
		require.Equal(e, thread.AuditBody{Action: b.Action, Actor: e.actorOf(by), ReviewID: r.ID, InterruptID: r.InterruptID, RunID: r.RunID,
			ExecutionID: r.ExecutionID, Agent: r.Agent, Tool: r.Tool, Tools: r.Tools, Generation: r.Generation, Digest: r.Digest, Cause: cause}, b)
	}
	require.Equal(e, 1, n, "it is audited once")
	require.GreaterOrEqual(e, e.announced(threadID)[thread.AuditSuperseded], 2)
}

// actorOf is somebody's, or, for "", nobody's.
func (e *reviewEnv) actorOf(principal string) thread.Actor {
	if principal == "" {
		return thread.Actor{}
	}
	return e.actor(principal)
}

// marked asks to cancel the running run of w.
func (e *reviewEnv) marked(w *worker, by, action string) {
	e.Helper()
	run, _, err := e.RequestCancel(e.as(by), w.run.ThreadID, w.run.ID, action, now())
	require.NoError(e, err)
	require.Equal(e, thread.RunRunning, run.Status)
}

func cancelled(f *thread.Finish) { f.Status = thread.RunInterrupted }

var reviewEndCases = []testCase{
	reviewCase("new input that drops the pending superstep", func(e *reviewEnv) {
		w, _, ids := e.suspended(2)
		id := w.run.ThreadID
		_, err := e.AdmitRun(e.as("ian"), newAdmission(id, func(a *thread.Admission) { a.DropsPending = true }))
		require.NoError(e, err)
		for _, q := range ids {
			e.superseded(id, q, "ian", thread.CauseInput)
		}
		require.ErrorIs(e, e.refuse(id, decide("f", "approve", answer(ids[0], "1"))), thread.ErrConflict)
	}),
	reviewCase("input that is refused leaves it waiting", func(e *reviewEnv) {
		w := e.started()
		_, ids := e.question(w, 1)
		require.ErrorIs(e, e.refuse(w.run.ThreadID, func(a *thread.Admission) { a.DropsPending = true }), thread.ErrBusy)
		require.Equal(e, thread.ReviewPending, e.review(w.run.ThreadID, ids[0]).Status)
	}),
	reviewCase("a state update that replaces the checkpoint", func(e *reviewEnv) {
		w, head, ids := e.suspended(1)
		id := w.run.ThreadID
		cp := newCheckpoint("")
		edit := thread.StateEdit{ThreadID: id, ExpectHead: newID(), At: now(), Checkpoints: []agent.CheckpointRecord{cp}}
		_, err := e.EditState(e.as("eve"), edit)
		require.ErrorIs(e, err, thread.ErrConflict)
		require.Equal(e, []string{thread.AuditRequested}, e.actions(id))
		edit.ExpectHead = head
		_, err = e.EditState(e.as("eve"), edit)
		require.NoError(e, err)
		e.superseded(id, ids[0], "eve", thread.CauseEdit)
	}),
	reviewCase("a run that goes on without the answer", func(e *reviewEnv) {
		w := e.started()
		_, ids := e.question(w, 1)
		w.save()
		e.superseded(w.run.ThreadID, ids[0], "", thread.CauseRun)
		cp, more := e.question(w, 1)
		w.commit(func(c *thread.Commit) {
			c.Tasks = []agent.TaskRecord{{CheckpointID: cp, TaskID: "task", Status: agent.TaskDone, Interrupts: []agent.InterruptInfo{{ID: more[0]}}}}
		})
		e.superseded(w.run.ThreadID, more[0], "", thread.CauseRun)
	}),
	reviewCase("a cancel of the run that asked, by who asked for the cancel", func(e *reviewEnv) {
		w := e.started()
		_, ids := e.question(w, 1)
		e.marked(w, "cas", "interrupt")
		require.Equal(e, thread.ReviewPending, e.review(w.run.ThreadID, ids[0]).Status)
		w.finish(cancelled)
		e.superseded(w.run.ThreadID, ids[0], "cas", thread.CauseCancel)
		require.Equal(e, thread.Idle, e.getThread(w.run.ThreadID).Status)
	}),
	reviewCase("a cancel of a later run of the execution", func(e *reviewEnv) {
		w, _, ids := e.suspended(2)
		id := w.run.ThreadID
		next := e.claim(e.admit(id, decide("f", "approve", answer(ids[0], "1")), func(a *thread.Admission) { a.Run.ExecutionID = w.run.ExecutionID }).Run.ID)
		e.marked(next, "cas", "interrupt")
		e.marked(next, "other", "interrupt") // it was cancelled already
		next.finish(cancelled)
		e.superseded(id, ids[1], "cas", thread.CauseCancel)
		require.Equal(e, thread.ReviewDecided, e.review(id, ids[0]).Status, "what was decided stays so")
	}),
	reviewCase("a cancel of a later run that hasn't begun", func(e *reviewEnv) {
		w, _, ids := e.suspended(2)
		id := w.run.ThreadID
		run := e.admit(id, decide("f", "approve", answer(ids[0], "1")), func(a *thread.Admission) { a.Run.ExecutionID = w.run.ExecutionID }).Run
		_, _, err := e.RequestCancel(e.as("cas"), id, run.ID, "interrupt", now())
		require.NoError(e, err)
		e.superseded(id, ids[1], "cas", thread.CauseCancel)
		require.Equal(e, thread.Idle, e.getThread(id).Status)
	}),
	reviewCase("but the cancel of another execution leaves it waiting", func(e *reviewEnv) {
		w, _, ids := e.suspended(1)
		id := w.run.ThreadID
		e.cancel(e.admit(id).Run, "interrupt")
		next := e.claim(e.admit(id).Run.ID)
		e.marked(next, "cas", "interrupt")
		next.finish(cancelled)
		require.Equal(e, thread.ReviewPending, e.review(id, ids[0]).Status)
		require.Equal(e, ids, e.pending(id))
		failed := e.claim(e.admit(id).Run.ID)
		failed.finish(func(f *thread.Finish) { f.Status = thread.RunError })
		require.Equal(e, ids, e.pending(id), "and so does an error")
		require.Len(e, e.audited(id), 1)
	}),
	reviewCase("a rollback of the run that asked", func(e *reviewEnv) {
		w := e.started()
		_, ids := e.question(w, 1)
		e.marked(w, "cas", "interrupt")
		e.marked(w, "rob", "rollback") // which is the stronger
		e.marked(w, "cas", "interrupt")
		w.rollback()
		e.superseded(w.run.ThreadID, ids[0], "rob", thread.CauseRollback)
	}),
	reviewCase("a strategy that rolls back", func(e *reviewEnv) {
		w := e.started()
		_, ids := e.question(w, 1)
		_, err := e.AdmitRun(e.as("ian"), newAdmission(w.run.ThreadID, strategy("rollback")))
		require.NoError(e, err)
		w.rollback()
		e.superseded(w.run.ThreadID, ids[0], "ian", thread.CauseRollback)
	}),
	reviewCase("the mark of one run is not the next one's", func(e *reviewEnv) {
		w := e.started()
		e.marked(w, "cas", "interrupt")
		w.finish(cancelled)
		next := e.claim(e.admit(w.run.ThreadID).Run.ID)
		_, ids := e.question(next, 1)
		next.rollback()
		e.superseded(w.run.ThreadID, ids[0], "", thread.CauseRollback)
	}),
	reviewCase("the removal of the run that asked", func(e *reviewEnv) {
		w, _, ids := e.suspended(1)
		id := w.run.ThreadID
		_, err := e.DeleteRun(e.as("dan"), id, w.run.ID)
		require.NoError(e, err)
		e.superseded(id, ids[0], "dan", thread.CauseDelete)
		running := e.claim(e.admit(id).Run.ID)
		_, ids = e.question(running, 1)
		_, err = e.DeleteRun(e.as("dan"), id, running.run.ID)
		require.NoError(e, err)
		e.superseded(id, ids[0], "dan", thread.CauseDelete)
	}),
	reviewCase("the removal of the thread isn't announced", func(e *reviewEnv) {
		w, _, _ := e.suspended(1)
		require.NoError(e, e.DeleteThread(e.as("dan"), w.run.ThreadID))
		require.Zero(e, e.announced(w.run.ThreadID)[thread.AuditSuperseded])
		list, _, err := e.SearchReviews(e.ctx, thread.ReviewQuery{Project: e.project})
		require.NoError(e, err)
		require.Empty(e, list)
	}),
	reviewCase("what is superseded and asked again begins anew", func(e *reviewEnv) {
		w, head, ids := e.suspended(1, expiry(thread.Expiry{After: time.Hour, Action: "reject"}))
		id := w.run.ThreadID
		first := e.changed(e.review(id, ids[0]), func(c *thread.ReviewChange) {
			c.Terms.Assignee, c.ClaimFor, c.Terms.ExpiresAt = "ann", time.Hour, now().Add(9*time.Hour)
		})
		run := e.admit(id, func(a *thread.Admission) { a.DropsPending = true }).Run
		next := e.claim(run.ID)
		e.askAt(next, head, ids, []func(*thread.ReviewDraft){expiry(thread.Expiry{After: time.Hour, Action: "reject"})})
		r := e.review(id, ids[0])
		require.Equal(e, thread.ReviewPending, r.Status)
		require.EqualValues(e, 2, r.Generation)
		require.False(e, r.CreatedAt.Before(first.UpdatedAt))
		require.Equal(e, r.CreatedAt.Add(time.Hour), r.ExpiresAt)
		require.Empty(e, r.Assignee)
		old, err := e.GetReview(e.ctx, first.ID)
		require.NoError(e, err)
		require.Equal(e, r, old)
	}),
	reviewCase("a rollback of the run with the answer opens it again", func(e *reviewEnv) {
		w, _, ids := e.suspended(1, expiry(thread.Expiry{After: time.Hour, Action: "reject"}))
		id := w.run.ThreadID
		before := e.review(id, ids[0])
		next := e.claim(e.admit(id, decide("f", "approve", answer(ids[0], "1"))).Run.ID)
		e.marked(next, "rob", "rollback")
		next.rollback()
		r := e.review(id, ids[0])
		require.Equal(e, thread.ReviewPending, r.Status)
		require.Nil(e, r.Decided)
		require.Equal(e, before.ReviewTerms, r.ReviewTerms)
		require.Equal(e, before.ID, r.ID)
		b := e.lastAudit(id)
		require.Equal(e, thread.AuditReopened, b.Action)
		require.Equal(e, thread.CauseRollback, b.Cause)
		require.Equal(e, e.actor("rob"), b.Actor)
		require.Equal(e, next.run.ID, b.RunID)
		require.Equal(e, 2, e.announced(id)[thread.AuditReopened])
		list, _, err := e.SearchReviews(e.ctx, thread.ReviewQuery{Project: e.project, Statuses: []thread.ReviewStatus{thread.ReviewPending}})
		require.NoError(e, err)
		require.Equal(e, []thread.Review{r}, list)

		run := e.admit(id, decide("g", "reject", answer(ids[0], "2"))).Run
		_, _, err = e.RequestCancel(e.as("cas"), id, run.ID, "rollback", now())
		require.NoError(e, err)
		require.Equal(e, thread.ReviewPending, e.review(id, ids[0]).Status)
		require.Equal(e, e.actor("cas"), e.lastAudit(id).Actor)
		run = e.admit(id, decide("h", "reject", answer(ids[0], "2"))).Run
		_, err = e.DeleteRun(e.as("dan"), id, run.ID)
		require.NoError(e, err)
		require.Equal(e, thread.CauseDelete, e.lastAudit(id).Cause)
		require.Equal(e, []string{thread.AuditRequested, thread.AuditDecided, thread.AuditReopened, thread.AuditDecided, thread.AuditReopened, thread.AuditDecided, thread.AuditReopened}, e.actions(id))
	}),
	reviewCase("the removal of an ended run with the answer leaves it decided", func(e *reviewEnv) {
		w, _, ids := e.suspended(1)
		id := w.run.ThreadID
		next := e.claim(e.admit(id, decide("f", "approve", answer(ids[0], "1"))).Run.ID)
		next.finish()
		e.deleteRun(id, next.run.ID)
		require.Equal(e, thread.ReviewDecided, e.review(id, ids[0]).Status)
		require.Len(e, e.audited(id), 2)
	}),
}
