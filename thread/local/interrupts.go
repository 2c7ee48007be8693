package local

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// The statuses of an interrupt as stored.
const (
	interruptPending = iota
	interruptAnswered
	interruptSuperseded
)

var interruptStatuses = []string{"pending", "answered", "superseded"}

// question is a row of interrupts.
type question struct {
	thread.OpenInterrupt
	status      int64
	value       json.RawMessage // the answer's
	by          string
	at          int64
	answerRun   string
	fingerprint string
	review      int64 // key of its review; 0 for none
	unknown     bool  // no row yet
}

const (
	questionColumns = `id, status, ns, checkpoint, task, run, generation, created, value, schema, answer, answered_by, answered_at, answer_run, fingerprint, review`
	selectQuestion  = `SELECT ` + questionColumns + ` FROM interrupts WHERE thread=? AND id=?`
	selectPending   = `SELECT ` + questionColumns + ` FROM interrupts WHERE thread=? AND status=0 ORDER BY created, id`
)

func readQuestion(r *rows) question {
	q := question{status: r.int(1), value: r.blob(10), by: r.text(11), at: r.int(12), answerRun: r.id(13), fingerprint: r.text(14), review: r.int(15)}
	q.ID, q.Value, q.ResponseSchema = r.text(0), r.blob(8), r.blob(9)
	q.NS, q.CheckpointID, q.TaskID, q.RunID = r.text(2), r.id(3), r.id(4), r.id(5)
	q.Generation, q.CreatedAt, q.Status = r.int(6), timeOf(r.int(7)), interruptStatuses[q.status]
	return q
}

func loadQuestion(c *conn, thread int64, id string) (q question, ok bool, err error) {
	ok, err = c.one(func(r *rows) { q = readQuestion(r) }, selectQuestion, thread, id)
	return q, ok, err
}

// answer is the accepted answer.
func (q question) answer() agent.Answer {
	return agent.Answer{InterruptID: q.ID, Value: q.value, By: q.by, At: timeOf(q.at), RunID: q.answerRun}
}

// decide stores the answer: the only one that the question ever gets.
func (q question) decide(c *conn, h *head, a agent.Answer, runID, fingerprint string, now int64) error {
	at := now
	if !a.At.IsZero() {
		at = micros(a.At)
	}
	if a.RunID != "" {
		runID = a.RunID
	}
	value := a.Value
	if len(value) == 0 {
		value = json.RawMessage("null")
	}
	if q.unknown {
		_, err := c.exec(`INSERT INTO interrupts(thread, id, status, ns, checkpoint, task, run, generation, created, answer, answered_by, answered_at, answer_run, fingerprint)
			VALUES(?,?,1,'','','','',?,?,?,?,?,?,?)`, h.k, q.ID, h.generation, now, value, a.By, at, uuidID(runID), fingerprint)
		return err
	}
	h.open--
	_, err := c.exec(`UPDATE interrupts SET status=1, answer=?, answered_by=?, answered_at=?, answer_run=?, fingerprint=? WHERE thread=? AND id=?`,
		value, a.By, at, uuidID(runID), fingerprint, h.k, q.ID)
	return err
}

// pendingQuestions reads the open questions of a thread.
func pendingQuestions(c *conn, thread int64) ([]question, error) {
	var list []question
	r := c.query(selectPending, thread)
	for r.next() {
		list = append(list, readQuestion(r))
	}
	return list, r.close()
}

// close supersedes a pending question, with its review.
func (h *head) close(c *conn, q question, cause string) error {
	if _, err := c.exec(`UPDATE interrupts SET status=? WHERE thread=? AND id=?`, interruptSuperseded, h.k, q.ID); err != nil {
		return err
	}
	h.open--
	return h.endReview(c, q.review, cause)
}

// dropPending supersedes all open questions: new input discards the pending superstep.
func dropPending(c *conn, h *head, now int64) error {
	if h.open > 0 {
		var reviews []int64
		r := c.query(`SELECT review FROM interrupts WHERE thread=? AND status=0 AND review<>0 ORDER BY created, id`, h.k)
		for r.next() {
			reviews = append(reviews, r.int(0))
		}
		if err := r.close(); err != nil {
			return err
		}
		for _, k := range reviews {
			if err := h.endReview(c, k, thread.CauseInput); err != nil {
				return err
			}
		}
		if _, err := c.exec(`UPDATE interrupts SET status=2 WHERE thread=? AND status=0`, h.k); err != nil {
			return err
		}
		h.open = 0
	}
	if h.rest == statusInterrupted {
		h.rest = statusIdle
	}
	return h.dropSuspended(c, now)
}

// supersede closes the questions that a new checkpoint replaces: those of other
// checkpoints of its namespace, and those of graphs nested in them.
func supersede(c *conn, h *head, ns, checkpoint, cause string) error {
	if h.open == 0 {
		return nil
	}
	list, err := pendingQuestions(c, h.k)
	if err != nil {
		return err
	}
	for _, q := range list {
		replaced := q.NS == ns && q.CheckpointID != checkpoint
		if !replaced && !nestedIn(q.NS, ns) {
			continue
		}
		if err := h.close(c, q, cause); err != nil {
			return err
		}
	}
	return nil
}

// nestedIn tells whether namespace ns lies below the namespace above.
func nestedIn(ns, above string) bool {
	if above == "" {
		return ns != ""
	}
	return strings.HasPrefix(ns, above+"|")
}

// asker is who asks the questions of task records: a run, by id and number, or,
// with number 0, an edit.
type asker struct {
	id    string
	run   int64
	now   int64
	cause string // of what a finished task doesn't ask any more
	// drafts are those of the reviews.
	drafts []thread.ReviewDraft
}

func (a *asker) draft(id string) *thread.ReviewDraft {
	for i := range a.drafts {
		if a.drafts[i].InterruptID == id {
			return &a.drafts[i]
		}
	}
	return nil
}

// raise stores the questions of a task record. The generation grows once for each
// run that asks (decisions 8).
func raise(c *conn, h *head, rec *agent.TaskRecord, by *asker) error {
	if rec.Nested || rec.TaskID == agent.NullTask {
		return nil // the nested graph's own record has them
	}
	for _, info := range rec.Interrupts {
		q, ok, err := loadQuestion(c, h.k, info.ID)
		if err != nil {
			return err
		}
		if ok && q.status == interruptAnswered {
			continue
		}
		if rec.Status == agent.TaskDone {
			if ok && q.status == interruptPending {
				if err := h.close(c, q, by.cause); err != nil {
					return err
				}
			}
			continue
		}
		if h.asked != by.run || by.run == 0 && h.open == 0 {
			h.generation++
			h.asked = by.run
		}
		if !ok || q.status != interruptPending {
			h.open++
		}
		_, err = c.exec(`INSERT INTO interrupts(thread, id, status, ns, checkpoint, task, run, generation, created, value, schema)
			VALUES(?,?,0,?,?,?,?,?,?,?,?)
			ON CONFLICT(thread, id) DO UPDATE SET status=0, ns=excluded.ns, checkpoint=excluded.checkpoint, task=excluded.task,
				run=excluded.run, generation=excluded.generation, value=excluded.value, schema=excluded.schema`,
			h.k, info.ID, rec.NS, uuidID(rec.CheckpointID), uuidID(rec.TaskID), uuidID(by.id), h.generation, by.now, info.Value, info.ResponseSchema)
		if err != nil {
			return err
		}
		draft := by.draft(info.ID)
		if draft == nil && q.review == 0 {
			continue
		}
		asked := thread.OpenInterrupt{InterruptInfo: info, RunID: by.id, NS: rec.NS, CheckpointID: rec.CheckpointID, Generation: h.generation}
		if err := h.request(c, asked, q.review, draft); err != nil {
			return err
		}
	}
	return nil
}

// PendingInterrupts implements thread.Runs.
func (s *Store) PendingInterrupts(ctx context.Context, threadID string) (list []thread.OpenInterrupt, err error) {
	err = s.readAll(ctx, func(c *conn) error {
		k, err := threadKey(c, threadID)
		if err != nil {
			return err
		}
		qs, err := pendingQuestions(c, k)
		for _, q := range qs {
			q.ThreadID = threadID
			list = append(list, q.OpenInterrupt)
		}
		return err
	})
	return list, err
}

// Answers implements thread.Runs.
func (s *Store) Answers(ctx context.Context, threadID string, ids []string) (answers map[string]agent.Answer, err error) {
	err = s.readAll(ctx, func(c *conn) error {
		k, err := threadKey(c, threadID)
		if err != nil {
			return err
		}
		answers, err = answersOf(c, k, ids)
		return err
	})
	return answers, err
}

// answersOf reads the accepted answers to the given questions.
func answersOf(c *conn, thread int64, ids []string) (map[string]agent.Answer, error) {
	answers := map[string]agent.Answer{}
	for _, id := range ids {
		q, ok, err := loadQuestion(c, thread, id)
		if err != nil {
			return nil, err
		}
		if ok && q.status == interruptAnswered {
			answers[id] = q.answer()
		}
	}
	return answers, nil
}
