package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// reviewEnv is what a case of reviews works with.
type reviewEnv struct {
	*env
	project string
}

// reviewCase is a case of reviews.
func reviewCase(name string, run func(*reviewEnv)) testCase {
	return testCase{name, func(e *env) {
		run(&reviewEnv{env: e, project: "p-" + newID()})
	}}
}

// as is the context of what somebody does.
func (e *reviewEnv) as(principal string) context.Context {
	return thread.WithActor(e.ctx, thread.Actor{Principal: principal, Kind: "user", Roles: []string{"reviewer"}, Address: "192.0.2.1", RequestID: "q-" + principal, Via: "reviews"})
}

func (e *reviewEnv) actor(principal string) thread.Actor { return thread.ActorFrom(e.as(principal)) }

const payload = `{"tool":"send","text":"<Grüße>"}`

// draft is the draft of a question of w.
func (e *reviewEnv) draft(w *worker, id string, change ...func(*thread.ReviewDraft)) thread.ReviewDraft {
	sum := sha256.Sum256([]byte(payload))
	d := thread.ReviewDraft{
		InterruptID: id, Project: e.project, Workspace: "w", ExecutionID: w.run.ExecutionID, Agent: "g", Tool: "send", Tools: []string{"send", "pay"},
		Kind: "tool_calls", Requester: "rob", AllowedDecisions: []string{"approve", "reject"}, Digest: hex.EncodeToString(sum[:]),
		Text: "Refund for Order 42, Müller", Notify: []string{"/notify/a", "/notify/b"},
	}
	for _, f := range change {
		f(&d)
	}
	return d
}

func expiry(x thread.Expiry) func(*thread.ReviewDraft) {
	return func(d *thread.ReviewDraft) { d.Expiry = &x }
}

// putQuestion commits a checkpoint with one task that asks for reviews of new questions, and returns their ids.
func (e *reviewEnv) question(w *worker, n int, change ...func(*thread.ReviewDraft)) (checkpoint string, ids []string) {
	e.Helper()
	cp := w.checkpoint()
	for range n {
		ids = append(ids, newInterruptID())
	}
	e.askAt(w, cp.ID, ids, change, func(c *thread.Commit) { c.Checkpoints = []agent.CheckpointRecord{cp} })
	return cp.ID, ids
}

// askAt commits a task of a checkpoint that asks the given questions.
func (e *reviewEnv) askAt(w *worker, checkpoint string, ids []string, change []func(*thread.ReviewDraft), also ...func(*thread.Commit)) {
	e.Helper()
	w.commit(append(also, func(c *thread.Commit) {
		task := agent.TaskRecord{CheckpointID: checkpoint, TaskID: "task", Name: "review", Status: agent.TaskInterrupted, Path: "~review"}
		for _, id := range ids {
			task.Interrupts = append(task.Interrupts, agent.InterruptInfo{ID: id, Value: raw(payload), ResponseSchema: raw(`{"type":"object"}`)})
			c.Reviews = append(c.Reviews, e.draft(w, id, change...))
		}
		c.Tasks = append(c.Tasks, task)
	})...)
}

// suspended asks n questions with reviews on a new thread and ends the run at them.
func (e *reviewEnv) suspended(n int, change ...func(*thread.ReviewDraft)) (w *worker, head string, ids []string) {
	e.Helper()
	w = e.started()
	head, ids = e.question(w, n, change...)
	w.finish(func(f *thread.Finish) { f.Suspended, f.HasNext = true, true })
	return w, head, ids
}

// again starts a run that asks the same questions once more.
func (e *reviewEnv) again(threadID, head string, ids []string, change ...func(*thread.ReviewDraft)) *worker {
	e.Helper()
	w := e.claim(e.admit(threadID).Run.ID)
	e.askAt(w, head, ids, change)
	w.finish(func(f *thread.Finish) { f.Suspended, f.HasNext = true, true })
	return w
}

// review is the review of a question.
func (e *reviewEnv) review(threadID, interruptID string) thread.Review {
	e.Helper()
	list, err := e.ThreadReviews(e.ctx, threadID)
	require.NoError(e, err)
	i := slices.IndexFunc(list, func(r thread.Review) bool { return r.InterruptID == interruptID })
	require.GreaterOrEqual(e, i, 0, "no review of %s", interruptID)
	got, err := e.GetReview(e.ctx, list[i].ID)
	require.NoError(e, err)
	if list[i].Status == thread.ReviewClaimed && got.Status == thread.ReviewPending {
		return got // the claim has just lapsed
	}
	require.Equal(e, list[i], got)
	return got
}

func (e *reviewEnv) change(r thread.Review, change func(*thread.ReviewChange)) (thread.Review, error) {
	c := thread.ReviewChange{ThreadID: r.ThreadID, InterruptID: r.InterruptID, Version: r.Version, Terms: r.ReviewTerms, Audit: thread.AuditBody{Action: thread.AuditExtended}}
	change(&c)
	return e.ChangeReview(e.as("ann"), c)
}

func (e *reviewEnv) changed(r thread.Review, change func(*thread.ReviewChange)) thread.Review {
	e.Helper()
	got, err := e.change(r, change)
	require.NoError(e, err)
	require.Equal(e, got, e.review(r.ThreadID, r.InterruptID))
	return got
}

// expire moves a review's deadline into the past.
func (e *reviewEnv) expire(r thread.Review) thread.Review {
	e.Helper()
	return e.changed(r, func(c *thread.ReviewChange) { c.Terms.ExpiresAt = now().Add(-time.Second) })
}

// announced counts the deliveries of a thread's reviews by event.
func (e *reviewEnv) announced(threadID string) map[string]int {
	e.Helper()
	list, err := e.DueDeliveries(e.ctx, now().Add(time.Hour), 10_000)
	require.NoError(e, err)
	n := map[string]int{}
	for _, d := range list {
		if d.ThreadID == threadID {
			n[d.Event]++
		}
	}
	return n
}

// nearly requires that a store time lies between begin and now.
func (e *reviewEnv) nearly(begin, at time.Time) {
	e.Helper()
	require.False(e, at.Before(begin.Add(-5*time.Second)), "%s is before %s", at, begin)
	require.False(e, at.After(time.Now().Add(5*time.Second)), "%s is to come", at)
}

var reviewCases = []testCase{
	reviewCase("a commit with drafts requests reviews", func(e *reviewEnv) {
		begin := time.Now()
		w := e.started()
		id := w.run.ThreadID
		cp, ids := e.question(w, 2, expiry(thread.Expiry{After: 20 * time.Hour, Action: "reject", Message: "too late"}))
		list, err := e.ThreadReviews(e.ctx, id)
		require.NoError(e, err)
		require.Len(e, list, 2)
		for _, q := range ids {
			r := e.review(id, q)
			e.nearly(begin, r.CreatedAt)
			require.Equal(e, r.CreatedAt, r.UpdatedAt)
			want := e.draft(w, "", expiry(*r.Expiry))
			require.Equal(e, thread.Review{
				ID: thread.ReviewID(id, q, 1), ThreadID: id, InterruptID: q, RunID: w.run.ID, CheckpointID: cp, Generation: 1,
				Payload: raw(payload), ResponseSchema: raw(`{"type":"object"}`), ReviewDraft: want, Status: thread.ReviewPending,
				CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Version: 1,
				ReviewTerms: thread.ReviewTerms{ExpiresAt: r.CreatedAt.Add(20 * time.Hour), WarnAt: r.CreatedAt.Add(19 * time.Hour)},
			}, r)
			require.Equal(e, "too late", r.Expiry.Message)
		}
		bodies := e.audited(id)
		require.Len(e, bodies, 2)
		for _, b := range bodies {
			r := e.review(id, b.InterruptID)
			require.Equal(e, thread.AuditBody{Action: thread.AuditRequested, ReviewID: r.ID, InterruptID: r.InterruptID, RunID: w.run.ID, ExecutionID: w.run.ExecutionID,
				Agent: "g", Tool: "send", Tools: r.Tools, Generation: 1, Digest: r.Digest, Shown: b.Shown}, b)
			require.JSONEq(e, payload, string(b.Shown))
		}
		require.Equal(e, map[string]int{thread.AuditRequested: 4}, e.announced(id))
		due, err := e.DueDeliveries(e.ctx, now().Add(time.Hour), 100)
		require.NoError(e, err)
		ofOne := 0
		for _, d := range due {
			require.Contains(e, []string{"/notify/a", "/notify/b"}, d.URL)
			require.Equal(e, w.run.ID, d.RunID)
			if d.InterruptID == ids[0] {
				ofOne++
			}
		}
		require.Equal(e, 2, ofOne)
	}),
	reviewCase("a project and workspace that aren't named are the default ones, and a deadline's warning has a default", func(e *reviewEnv) {
		w := e.started()
		_, ids := e.question(w, 1, func(d *thread.ReviewDraft) {
			d.Project, d.Workspace, d.Expiry = "", "", &thread.Expiry{After: 10 * time.Minute, Action: "reject"}
		})
		r := e.review(w.run.ThreadID, ids[0])
		require.Equal(e, thread.DefaultProject, r.Project)
		require.Equal(e, thread.DefaultWorkspace, r.Workspace)
		require.Equal(e, r.CreatedAt.Add(9*time.Minute), r.WarnAt)
		require.Equal(e, thread.DefaultProject, e.chain(w.run.ThreadID)[0].Project)
	}),
	reviewCase("a question without a draft has no review, a draft without a question makes none", func(e *reviewEnv) {
		w := e.started()
		_, _ = w.ask(1)
		_, ids := e.question(w, 1)
		w.commit(func(c *thread.Commit) { c.Reviews = []thread.ReviewDraft{e.draft(w, newInterruptID())} })
		list, err := e.ThreadReviews(e.ctx, w.run.ThreadID)
		require.NoError(e, err)
		require.Len(e, list, 1)
		require.Equal(e, ids[0], list[0].InterruptID)
		_, err = e.GetReview(e.ctx, thread.ReviewID(w.run.ThreadID, newInterruptID(), 1))
		require.ErrorIs(e, err, thread.ErrNotFound)
		_, err = e.ThreadReviews(e.ctx, newID())
		require.ErrorIs(e, err, thread.ErrNotFound)
	}),
	reviewCase("a nested graph's question has one review, of its own record", func(e *reviewEnv) {
		w := e.started()
		root := w.save()
		nested := w.checkpoint(namespace("sub:1"))
		q := agent.InterruptInfo{ID: newInterruptID(), Value: raw(payload)}
		w.commit(func(c *thread.Commit) {
			c.Checkpoints = []agent.CheckpointRecord{nested}
			c.Tasks = []agent.TaskRecord{
				{NS: "sub:1", CheckpointID: nested.ID, TaskID: newID(), Status: agent.TaskInterrupted, Interrupts: []agent.InterruptInfo{q}},
				{CheckpointID: root, TaskID: newID(), Status: agent.TaskInterrupted, Nested: true, Interrupts: []agent.InterruptInfo{q}},
			}
			c.Reviews = []thread.ReviewDraft{e.draft(w, q.ID)}
		})
		r := e.review(w.run.ThreadID, q.ID)
		require.Equal(e, "sub:1", r.NS)
		require.Equal(e, nested.ID, r.CheckpointID)
		require.Len(e, e.audited(w.run.ThreadID), 1)
	}),
	reviewCase("asked again by another run it has a new generation and id, and keeps who has it, its deadline and its age", func(e *reviewEnv) {
		w, head, ids := e.suspended(1, expiry(thread.Expiry{After: time.Hour, Action: "reject"}))
		id := w.run.ThreadID
		first := e.changed(e.review(id, ids[0]), func(c *thread.ReviewChange) {
			c.Terms.Assignee, c.ClaimFor, c.Audit.Action = "ann", time.Hour, thread.AuditClaimed
			c.Terms.Comments = []thread.Comment{{By: "ann", Text: "hm"}}
		})
		next := e.again(id, head, ids, func(d *thread.ReviewDraft) { d.Text = "another text" }, expiry(thread.Expiry{After: 50 * time.Hour, Action: "reject"}))
		second := e.review(id, ids[0])
		require.EqualValues(e, 2, second.Generation)
		require.Equal(e, thread.ReviewID(id, ids[0], 2), second.ID)
		require.NotEqual(e, first.ID, second.ID)
		require.Equal(e, next.run.ID, second.RunID)
		require.Equal(e, next.run.ExecutionID, second.ExecutionID)
		require.Equal(e, thread.ReviewClaimed, second.Status)
		require.Equal(e, first.ReviewTerms, second.ReviewTerms)
		require.Equal(e, first.CreatedAt, second.CreatedAt)
		require.Equal(e, "another text", second.Text)
		require.Equal(e, first.Version+1, second.Version)
		for _, old := range []string{first.ID, second.ID} {
			got, err := e.GetReview(e.ctx, old)
			require.NoError(e, err)
			require.Equal(e, second, got)
		}
		require.Equal(e, []string{thread.AuditRequested, thread.AuditClaimed, thread.AuditRequested}, e.actions(id))
		require.Equal(e, second.ID, e.audited(id)[2].ReviewID)
	}),
	reviewCase("asked again without a draft it keeps its own", func(e *reviewEnv) {
		w, head, ids := e.suspended(1)
		next := e.claim(e.admit(w.run.ThreadID).Run.ID)
		next.commit(func(c *thread.Commit) {
			c.Tasks = []agent.TaskRecord{{CheckpointID: head, TaskID: "task", Status: agent.TaskInterrupted,
				Interrupts: []agent.InterruptInfo{{ID: ids[0], Value: raw(`"new"`)}}}}
		})
		r := e.review(w.run.ThreadID, ids[0])
		require.EqualValues(e, 2, r.Generation)
		require.Equal(e, next.run.ID, r.RunID)
		require.JSONEq(e, `"new"`, string(r.Payload))
		require.Equal(e, e.draft(w, ""), r.ReviewDraft)
	}),
	reviewCase("a run that says the same once more changes nothing, but what is shown may change", func(e *reviewEnv) {
		w := e.started()
		cp, ids := e.question(w, 1)
		first := e.review(w.run.ThreadID, ids[0])
		e.askAt(w, cp, ids, nil)
		require.Equal(e, first, e.review(w.run.ThreadID, ids[0]))
		require.Len(e, e.audited(w.run.ThreadID), 1)
		e.askAt(w, cp, ids, []func(*thread.ReviewDraft){func(d *thread.ReviewDraft) { d.Digest = "other" }})
		got := e.review(w.run.ThreadID, ids[0])
		require.Equal(e, first.ID, got.ID)
		require.Equal(e, "other", got.Digest)
		require.Equal(e, first.Version+1, got.Version)
		require.Equal(e, []string{thread.AuditRequested, thread.AuditRequested}, e.actions(w.run.ThreadID))
	}),
	reviewCase("a commit that is repeated, or fenced, requests nothing", func(e *reviewEnv) {
		w := e.started()
		cp, id := w.checkpoint(), newInterruptID()
		c := w.newCommit(func(c *thread.Commit) {
			c.Checkpoints = []agent.CheckpointRecord{cp}
			c.Tasks = []agent.TaskRecord{{CheckpointID: cp.ID, TaskID: newID(), Status: agent.TaskInterrupted, Interrupts: []agent.InterruptInfo{{ID: id, Value: raw(payload)}}}}
			c.Reviews = []thread.ReviewDraft{e.draft(w, id)}
			c.Audit = []thread.AuditBody{{Action: thread.AuditExecuted, Tool: "send"}}
		})
		stale := w.lease
		stale.Token--
		require.ErrorIs(e, e.Commit(e.ctx, stale, c), thread.ErrFenced)
		list, err := e.ThreadReviews(e.ctx, w.run.ThreadID)
		require.NoError(e, err)
		require.Empty(e, list)
		require.Empty(e, e.audited(w.run.ThreadID))
		for range 3 {
			require.NoError(e, e.Commit(e.ctx, w.lease, c))
		}
		require.Equal(e, []string{thread.AuditRequested, thread.AuditExecuted}, e.actions(w.run.ThreadID))
		require.Equal(e, map[string]int{thread.AuditRequested: 2}, e.announced(w.run.ThreadID))
		require.EqualValues(e, 1, e.review(w.run.ThreadID, id).Version)
	}),
	reviewCase("a state update requests reviews of what it asks", func(e *reviewEnv) {
		w, head, old := e.suspended(1)
		id := w.run.ThreadID
		cp, q := newCheckpoint(""), newInterruptID()
		cp.ParentID = head
		_, err := e.EditState(e.as("eve"), thread.StateEdit{ThreadID: id, ExpectHead: head, At: now(), Checkpoints: []agent.CheckpointRecord{cp},
			Tasks:   []agent.TaskRecord{{CheckpointID: cp.ID, TaskID: newID(), Status: agent.TaskInterrupted, Interrupts: []agent.InterruptInfo{{ID: q, Value: raw(payload)}}}},
			Reviews: []thread.ReviewDraft{e.draft(w, q)}})
		require.NoError(e, err)
		r := e.review(id, q)
		require.Empty(e, r.RunID)
		require.EqualValues(e, 2, r.Generation)
		require.Equal(e, thread.ReviewSuperseded, e.review(id, old[0]).Status)
		bodies := e.audited(id)
		require.Equal(e, []string{thread.AuditRequested, thread.AuditSuperseded, thread.AuditRequested}, e.actions(id))
		require.Equal(e, thread.CauseEdit, bodies[1].Cause)
		require.Equal(e, e.actor("eve"), bodies[1].Actor)
		require.Equal(e, e.actor("eve"), bodies[2].Actor)
	}),
	reviewCase("a copied thread has reviews of its own", func(e *reviewEnv) {
		w, head, ids := e.suspended(2, expiry(thread.Expiry{After: time.Hour, Action: "reject"}))
		id := w.run.ThreadID
		e.admit(id, resume("f", answer(ids[1], "1")))
		original := e.changed(e.review(id, ids[0]), func(c *thread.ReviewChange) {
			c.Terms.Assignee, c.ClaimFor, c.Terms.Comments = "ann", time.Hour, []thread.Comment{{By: "ann", Text: "hm"}}
			c.Terms.ExpiresAt = now().Add(5 * time.Hour)
		})
		copied, err := e.CopyThread(e.as("carl"), id, newID(), now())
		require.NoError(e, err)
		require.EqualValues(e, 1, copied.Generation)
		require.Equal(e, copied, e.getThread(copied.ID))
		require.Equal(e, ids[:1], e.pending(copied.ID))
		list, err := e.ThreadReviews(e.ctx, copied.ID)
		require.NoError(e, err)
		require.Len(e, list, 1, "what was answered is not asked again")
		r := list[0]
		want := original.ReviewDraft
		want.ExecutionID = ""
		require.Equal(e, want, r.ReviewDraft)
		require.Equal(e, thread.ReviewID(copied.ID, ids[0], 1), r.ID)
		require.Equal(e, thread.ReviewPending, r.Status)
		require.Empty(e, r.RunID)
		require.Equal(e, head, r.CheckpointID)
		require.Equal(e, thread.ReviewTerms{ExpiresAt: r.CreatedAt.Add(time.Hour), WarnAt: r.CreatedAt.Add(54 * time.Minute)}, r.ReviewTerms)
		require.False(e, r.CreatedAt.Before(original.CreatedAt))
		require.JSONEq(e, payload, string(r.Payload))
		bodies := e.audited(copied.ID)
		require.Len(e, bodies, 1, "the copy's audit begins with it")
		require.Equal(e, thread.AuditRequested, bodies[0].Action)
		require.Equal(e, thread.CauseCopy, bodies[0].Cause)
		require.Equal(e, e.actor("carl"), bodies[0].Actor)
		require.Equal(e, map[string]int{thread.AuditRequested: 2}, e.announced(copied.ID))

		run := e.admit(copied.ID, resume("f", answer(ids[0], "1"))).Run
		require.Equal(e, thread.ReviewDecided, e.review(copied.ID, ids[0]).Status)
		require.Equal(e, original, e.review(id, ids[0]), "the original still waits")
		e.cancel(run, "rollback")
		require.Equal(e, thread.ReviewPending, e.review(copied.ID, ids[0]).Status)
		require.Equal(e, ids[:1], e.pending(copied.ID))
	}),
}
