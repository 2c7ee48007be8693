package local

import (
	"encoding/json"
	"time"

	"github.com/parley-dev/parley/thread"
)

// doing is on whose behalf a transition acts on reviews, and when.
type doing struct {
	actor thread.Actor
	now   time.Time
	// quiet: what happens isn't announced.
	quiet bool
}

// do says on whose behalf the transition acts.
func (h *head) do(actor thread.Actor, now time.Time) {
	h.doing = doing{actor: actor, now: storeTime(now)}
}

// doAsCanceller makes whoever marked the running run the actor.
func (h *head) doAsCanceller() error {
	if len(h.cancelledBy) == 0 {
		return nil
	}
	h.doing.actor = thread.Actor{}
	return json.Unmarshal(h.cancelledBy, &h.doing.actor)
}

// mark notes that the running run is to be cancelled, or a call of it; the stronger action stays.
func (h *head) mark(action string) error {
	if h.cancel == "rollback" || h.cancel == action {
		return nil
	}
	if thread.ArmsCall(action) {
		if h.cancel == "" || thread.ArmsCall(h.cancel) {
			h.cancel = action
		}
		return nil
	}
	h.cancel = action
	var err error
	h.cancelledBy, err = json.Marshal(h.doing.actor)
	return err
}

// audit adds an entry to the thread's chain, in project unless the chain has one.
func (h *head) audit(c *conn, project string, b thread.AuditBody) (thread.AuditEntry, error) {
	id, err := threadIDOf(c, h.k)
	if err != nil {
		return thread.AuditEntry{}, err
	}
	return appendAudit(c, project, h.k, id, b.By(h.doing.actor), h.doing.now)
}

// auditRun adds entries of the run w, which its commit brought.
func (h *head) auditRun(c *conn, w runRow, list []thread.AuditBody) error {
	if len(list) == 0 {
		return nil
	}
	run, err := w.run()
	if err != nil {
		return err
	}
	for _, b := range list {
		if b.RunID == "" {
			b.RunID = run.ID
		}
		if b.ExecutionID == "" {
			b.ExecutionID = run.ExecutionID
		}
		if _, err := h.audit(c, run.Project, b); err != nil {
			return err
		}
	}
	return nil
}

// change stores a review as it became, with the audit entry and the announcements of that.
func (h *head) change(c *conn, w *reviewRow, b thread.AuditBody) error {
	if err := w.store(c); err != nil {
		return err
	}
	e, err := h.audit(c, w.Project, b)
	if err != nil || h.doing.quiet {
		return err
	}
	for _, d := range w.Announcements(b.Action, e) {
		if err := putDelivery(c, d); err != nil {
			return err
		}
	}
	return nil
}

// request makes a question's review, or requests the one of key k anew.
func (h *head) request(c *conn, q thread.OpenInterrupt, k int64, d *thread.ReviewDraft) (err error) {
	if q.ThreadID, err = threadIDOf(c, h.k); err != nil {
		return err
	}
	w := reviewRow{thread: h.k}
	if k == 0 {
		w.Review = thread.NewReview(q, *d, h.doing.now)
	} else {
		// The question's row is the new one already, so the generation that was asked for is what its newest id says.
		if w, err = loadReview(c, k); err != nil {
			return err
		}
		known, err := reviewKey(c, w.ID)
		if err != nil {
			return err
		}
		if known == 0 {
			w.Generation = 0
		}
		var requested bool
		if w.Review, requested = w.AskAgain(q, d, h.doing.now); !requested {
			return nil
		}
	}
	return h.requested(c, &w, "")
}

// requested stores a review that is requested.
func (h *head) requested(c *conn, w *reviewRow, cause string) error {
	first := w.k == 0
	if err := h.change(c, w, w.Request(cause)); err != nil {
		return err
	}
	if first {
		if _, err := c.exec(`UPDATE interrupts SET review=? WHERE thread=? AND id=?`, w.k, h.k, w.InterruptID); err != nil {
			return err
		}
	}
	return nameReview(c, w.k, w.ID)
}

// endReview supersedes a question's review; k is 0 when it has none.
func (h *head) endReview(c *conn, k int64, cause string) error {
	if k == 0 {
		return nil
	}
	w, err := loadReview(c, k)
	if err != nil || !w.Status.Open() {
		return err
	}
	var b thread.AuditBody
	w.Review, b = w.Supersede(cause, h.doing.now)
	return h.change(c, &w, b)
}

// reopenReview takes back the outcome of a question's review; k is 0 when it has none.
func (h *head) reopenReview(c *conn, k int64, cause string) error {
	if k == 0 {
		return nil
	}
	w, err := loadReview(c, k)
	if err != nil || w.Status.Open() {
		return err
	}
	var b thread.AuditBody
	w.Review, b = w.Reopen(cause, h.doing.now)
	return h.change(c, &w, b)
}

// dropExecution supersedes the open questions of an execution whose run w was cancelled (decisions 13).
func (h *head) dropExecution(c *conn, w runRow) error {
	if h.open == 0 {
		return nil
	}
	list, err := pendingQuestions(c, h.k)
	if err != nil {
		return err
	}
	dropped := false
	for _, q := range list {
		own := q.RunID == w.id
		if !own && q.RunID != "" {
			own, err = c.one(func(*rows) {}, `SELECT 1 FROM runs WHERE id=? AND execution=?`, uuidID(q.RunID), uuidID(w.execution))
			if err != nil {
				return err
			}
		}
		if !own {
			continue
		}
		if err := h.close(c, q, thread.CauseCancel); err != nil {
			return err
		}
		dropped = true
	}
	if !dropped || h.open > 0 {
		return nil
	}
	if h.rest == statusInterrupted {
		h.rest = statusIdle
	}
	return h.dropSuspended(c, micros(h.doing.now))
}

// copyReviews gives the copy h of a thread its open questions, if any of them has a review (decisions 13).
func (h *head) copyReviews(c *conn, from int64, to string) error {
	list, err := pendingQuestions(c, from)
	if err != nil {
		return err
	}
	reviewed := false
	for _, q := range list {
		reviewed = reviewed || q.review != 0
	}
	if !reviewed {
		return nil
	}
	h.generation = 1
	for _, q := range list {
		_, err := c.exec(`INSERT INTO interrupts(thread, id, status, ns, checkpoint, task, run, generation, created, value, schema)
			VALUES(?,?,0,?,?,?,'',1,?,?,?)`, h.k, q.ID, q.NS, uuidID(q.CheckpointID), uuidID(q.TaskID), micros(h.doing.now), q.Value, q.ResponseSchema)
		if err != nil {
			return err
		}
		h.open++
		if q.review == 0 {
			continue
		}
		original, err := loadReview(c, q.review)
		if err != nil {
			return err
		}
		asked := q.OpenInterrupt
		asked.ThreadID, asked.RunID, asked.Generation = to, "", 1
		if err := h.requested(c, &reviewRow{thread: h.k, Review: original.Copied(asked, h.doing.now)}, thread.CauseCopy); err != nil {
			return err
		}
	}
	return nil
}
