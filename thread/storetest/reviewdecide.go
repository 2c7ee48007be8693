package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// decide is a resume whose answers are decisions.
func decide(fingerprint, decision string, answers ...agent.Answer) func(*thread.Admission) {
	return func(a *thread.Admission) {
		resume(fingerprint, answers...)(a)
		for range answers {
			a.Resume.Outcomes = append(a.Resume.Outcomes, thread.AnswerOutcome{Decision: decision, Notes: "because"})
		}
	}
}

// byDeadline makes a resume one of a deadline.
func byDeadline(a *thread.Admission) {
	a.Resume.Expired = true
	for i := range a.Resume.Answers {
		a.Resume.Answers[i].By = ""
	}
}

func respectClaims(a *thread.Admission) { a.Resume.RespectClaims = true }

// refuse requires that an admission is refused and changes nothing.
func (e *reviewEnv) refuse(threadID string, change ...func(*thread.Admission)) error {
	e.Helper()
	look := func() (all []any) {
		list, err := e.ThreadReviews(e.ctx, threadID)
		require.NoError(e, err)
		runs, err := e.ListRuns(e.ctx, threadID, thread.RunQuery{})
		require.NoError(e, err)
		chain := e.chain(threadID)
		for i := range chain { // sealed whenever it may be
			chain[i].Seq, chain[i].Seal = 0, ""
		}
		return append(all, list, chain, e.announced(threadID), e.pending(threadID), len(runs), e.getThread(threadID))
	}
	before := look()
	_, err := e.AdmitRun(e.as("ann"), newAdmission(threadID, change...))
	require.Error(e, err)
	require.Equal(e, before, look(), "a refused transition writes nothing")
	return err
}

var decideCases = []testCase{
	reviewCase("an answer decides its review", func(e *reviewEnv) {
		w, _, ids := e.suspended(2)
		id := w.run.ThreadID
		begin := time.Now()
		asked := e.review(id, ids[0])
		a := newAdmission(id, decide("f", "approve", answer(ids[0], `{"x": 1}`)), func(a *thread.Admission) {
			a.Resume.Outcomes[0].Audit = thread.AuditBody{Shown: raw(payload), Detail: raw(`"d"`)}
		})
		admitted, err := e.AdmitRun(e.as("ann"), a)
		require.NoError(e, err)
		r := e.review(id, ids[0])
		require.Equal(e, thread.ReviewDecided, r.Status)
		e.nearly(begin, r.Decided.At)
		require.Equal(e, r.Decided.At, r.UpdatedAt)
		require.JSONEq(e, `{"x":1}`, string(r.Decided.Answer))
		require.Equal(e, thread.Outcome{By: "ann", At: r.Decided.At, Decision: "approve", Notes: "because", Answer: r.Decided.Answer, RunID: admitted.Run.ID}, *r.Decided)
		require.Equal(e, asked.Version+1, r.Version)
		require.Equal(e, asked.CreatedAt, r.CreatedAt)
		require.Equal(e, thread.ReviewPending, e.review(id, ids[1]).Status)
		b := e.lastAudit(id)
		require.Equal(e, thread.AuditBody{Action: thread.AuditDecided, Actor: e.actor("ann"), ReviewID: r.ID, InterruptID: ids[0], RunID: admitted.Run.ID,
			ExecutionID: r.ExecutionID, Agent: "g", Tool: "send", Tools: r.Tools, Generation: 1, Digest: r.Digest, Decision: "approve", Notes: "because",
			Shown: b.Shown, Detail: raw(`"d"`), Answer: raw(`{"x":1}`)}, b)
		require.JSONEq(e, payload, string(b.Shown))
		require.Equal(e, 2, e.announced(id)[thread.AuditDecided])
		chain := e.chain(id)
		require.Equal(e, r.Decided.At, chain[len(chain)-1].At, "one time for all of the transition")
	}),
	reviewCase("without outcomes a review is decided all the same", func(e *reviewEnv) {
		w, _, ids := e.suspended(1)
		run := e.admit(w.run.ThreadID, resume("f", answer(ids[0], "1"))).Run
		r := e.review(w.run.ThreadID, ids[0])
		require.Equal(e, thread.ReviewDecided, r.Status)
		require.Equal(e, thread.Outcome{By: "ann", At: r.Decided.At, Answer: raw("1"), RunID: run.ID}, *r.Decided)
		require.Equal(e, thread.AuditDecided, e.lastAudit(w.run.ThreadID).Action)
	}),
	reviewCase("a question without a review is answered without one", func(e *reviewEnv) {
		w := e.started()
		_, ids := w.suspend(1)
		e.admit(w.run.ThreadID, decide("f", "approve", answer(ids[0], "1")))
		list, err := e.ThreadReviews(e.ctx, w.run.ThreadID)
		require.NoError(e, err)
		require.Empty(e, list)
		require.Empty(e, e.audited(w.run.ThreadID))
	}),
	reviewCase("a repeat decides nothing twice, another answer nothing at all", func(e *reviewEnv) {
		w, _, ids := e.suspended(1)
		id := w.run.ThreadID
		first := e.admit(id, decide("f", "approve", answer(ids[0], "1")))
		before := e.review(id, ids[0])
		again := e.admit(id, decide("f", "approve", answer(ids[0], "1")))
		require.True(e, again.Repeat)
		require.Equal(e, first.Run.ID, again.Run.ID)
		var decided *thread.AlreadyDecidedError
		require.ErrorAs(e, e.refuse(id, decide("g", "reject", answer(ids[0], "2"))), &decided)
		require.ErrorAs(e, e.refuse(id, decide("h", "reject", answer(ids[0], "2")), byDeadline), &decided)
		require.Equal(e, before, e.review(id, ids[0]))
		require.Equal(e, []string{thread.AuditRequested, thread.AuditDecided}, e.actions(id))
		require.Equal(e, 2, e.announced(id)[thread.AuditDecided])
	}),
	reviewCase("once the deadline has come only its own answer is accepted", func(e *reviewEnv) { // D-103
		w, _, ids := e.suspended(2)
		id := w.run.ThreadID
		require.ErrorIs(e, e.refuse(id, decide("d", "reject", answer(ids[0], "0")), byDeadline), thread.ErrConflict, "it never comes")
		r := e.changed(e.review(id, ids[0]), func(c *thread.ReviewChange) { c.Terms.ExpiresAt = now().Add(time.Hour) })
		require.ErrorIs(e, e.refuse(id, decide("d", "reject", answer(ids[0], "0")), byDeadline), thread.ErrConflict, "it is to come")
		r = e.expire(r)
		require.Equal(e, thread.ReviewPending, r.Status, "it is open until its deadline is carried out")
		err := e.refuse(id, decide("f", "approve", answer(ids[1], "1"), answer(ids[0], "1")))
		var expired *thread.ReviewExpiredError
		require.ErrorAs(e, err, &expired)
		require.Equal(e, ids[0], expired.InterruptID)
		require.True(e, r.ExpiresAt.Equal(expired.At))
		require.ErrorIs(e, e.refuse(id, decide("d", "reject", answer(ids[0], "0"), answer(ids[1], "0")), byDeadline), thread.ErrConflict, "one is too early for all")

		admitted, err := e.AdmitRun(e.as("the system"), newAdmission(id, decide("d", "reject", answer(ids[0], `"too late"`)), byDeadline))
		require.NoError(e, err)
		got := e.review(id, ids[0])
		require.Equal(e, thread.ReviewExpired, got.Status)
		require.Equal(e, thread.Outcome{At: got.Decided.At, Decision: "reject", Notes: "because", Answer: raw(`"too late"`), RunID: admitted.Run.ID}, *got.Decided)
		b := e.lastAudit(id)
		require.Equal(e, thread.AuditExpired, b.Action)
		require.Equal(e, "the system", b.Actor.Principal)
		require.Equal(e, map[string]int{thread.AuditRequested: 4, thread.AuditExtended: 4, thread.AuditExpired: 2}, e.announced(id))
		due, err := e.DueReviews(e.ctx, 10)
		require.NoError(e, err)
		require.Empty(e, due)
	}),
	reviewCase("a deadline of seconds comes by the store's clock", func(e *reviewEnv) {
		w, _, ids := e.suspended(1, expiry(thread.Expiry{After: 50 * time.Millisecond, Action: "reject"}))
		a := newAdmission(w.run.ThreadID, decide("d", "reject", answer(ids[0], "0")), byDeadline)
		require.Eventually(e, func() bool {
			_, err := e.AdmitRun(e.ctx, a)
			if err != nil {
				require.ErrorIs(e, err, thread.ErrConflict)
			}
			return err == nil
		}, patience, lookEach)
		r := e.review(w.run.ThreadID, ids[0])
		require.False(e, r.Decided.At.Before(r.ExpiresAt))
	}),
	reviewCase("who respects claims can't decide what somebody else has claimed", func(e *reviewEnv) {
		w, _, ids := e.suspended(2)
		id := w.run.ThreadID
		r := e.changed(e.review(id, ids[0]), func(c *thread.ReviewChange) { c.Terms.Assignee, c.ClaimFor = "bea", time.Hour })
		err := e.refuse(id, decide("f", "approve", answer(ids[1], "1"), answer(ids[0], "1")), respectClaims)
		var claimed *thread.ClaimedError
		require.ErrorAs(e, err, &claimed)
		require.Equal(e, thread.ClaimedError{InterruptID: ids[0], Assignee: "bea", Until: r.ClaimedUntil}, *claimed)
		e.admit(id, decide("f", "approve", answer(ids[0], "1"))) // who doesn't, can
		require.Equal(e, "bea", e.review(id, ids[0]).Assignee, "an ended review keeps who had it")

		r, err = e.change(e.review(id, ids[1]), func(c *thread.ReviewChange) { c.Terms.Assignee, c.ClaimFor = "bea", 30*time.Millisecond })
		require.NoError(e, err)
		require.Equal(e, "bea", r.Assignee)
		require.Eventually(e, func() bool {
			_, err := e.AdmitRun(e.ctx, newAdmission(id, decide("g", "approve", answer(ids[1], "1")), respectClaims))
			return err == nil
		}, patience, lookEach, "the claim lapses")
	}),
	reviewCase("who has claimed a review can decide it", func(e *reviewEnv) {
		w, _, ids := e.suspended(1)
		e.changed(e.review(w.run.ThreadID, ids[0]), func(c *thread.ReviewChange) { c.Terms.Assignee, c.ClaimFor = "ann", time.Hour })
		e.admit(w.run.ThreadID, decide("f", "approve", answer(ids[0], "1")), respectClaims)
		require.Equal(e, thread.ReviewDecided, e.review(w.run.ThreadID, ids[0]).Status)
	}),
	reviewCase("of 100 different answers to each of 20 questions one decides", func(e *reviewEnv) {
		const threads, questions = 10, 2
		type asked struct {
			thread, id string
			accepted   atomic.Int64
			decided    atomic.Int64
		}
		var all []*asked
		for range threads {
			w, _, ids := e.suspended(questions)
			for _, id := range ids {
				all = append(all, &asked{thread: w.run.ThreadID, id: id})
			}
		}
		together(100, func(i int) {
			for j := range all {
				q := all[(i+j)%len(all)]
				_, err := e.AdmitRun(e.as(fmt.Sprint("r", i)), newAdmission(q.thread, decide(fmt.Sprint("f", i), "approve", answer(q.id, fmt.Sprint(i)))))
				var other *thread.AlreadyDecidedError
				switch {
				case err == nil:
					q.accepted.Add(1)
				case errors.As(err, &other):
					q.decided.Add(1)
				default:
					e.Errorf("answer %d: %v", i, err)
				}
			}
		})
		for _, q := range all {
			require.EqualValues(e, 1, q.accepted.Load())
			require.EqualValues(e, 99, q.decided.Load())
			r := e.review(q.thread, q.id)
			answers, err := e.Answers(e.ctx, q.thread, []string{q.id})
			require.NoError(e, err)
			require.Equal(e, answers[q.id].RunID, r.Decided.RunID)
			require.JSONEq(e, string(answers[q.id].Value), string(r.Decided.Answer))
			n := 0
			for _, b := range e.audited(q.thread) {
				if b.Action == thread.AuditDecided && b.InterruptID == q.id {
					n++
					require.JSONEq(e, string(r.Decided.Answer), string(b.Answer))
					require.Equal(e, "r"+string(b.Answer), b.Actor.Principal)
				}
			}
			require.Equal(e, 1, n)
			require.Equal(e, questions*2, e.announced(q.thread)[thread.AuditDecided])
		}
		require.Len(e, e.sealed(e.project), threads*questions*2)
	}),
}
