package local

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// RequestCancel implements thread.Runs.
func (s *Store) RequestCancel(ctx context.Context, threadID, runID, action string, at time.Time) (run thread.Run, told []thread.Entry, err error) {
	if action != "interrupt" && action != "rollback" && !thread.ArmsCall(action) {
		return run, nil, fmt.Errorf("local: no cancel action %q", action)
	}
	actor := thread.ActorFrom(ctx)
	err = s.write(ctx, true, func(t *tx) error {
		told = nil
		w, err := oneRun(t.conn, threadID, runID)
		if err != nil {
			return err
		}
		if run, err = w.run(); err != nil || run.Status.Ended() {
			return err
		}
		h, err := loadHead(t.conn, w.thread)
		if err != nil {
			return err
		}
		h.do(actor, s.now())
		if thread.ArmsCall(action) && run.Status == thread.RunPending {
			run.Cancel = action
			_, err := t.exec(`UPDATE runs SET cancel=? WHERE k=?`, action, w.k)
			return err
		}
		if run, told, err = cancelRun(t.conn, h, run, action, s.orNow(at)); err != nil {
			return err
		}
		h.settle()
		return h.save(t.conn)
	})
	return run, told, err
}

// cancelRun ends a pending run, or removes it (rollback), and returns what that
// told the log; a running one is marked, for its worker to see. The caller
// settles and saves h.
func cancelRun(c *conn, h *head, run thread.Run, action string, at time.Time) (thread.Run, []thread.Entry, error) {
	if run.Status == thread.RunRunning {
		err := h.mark(action)
		run.Cancel = h.cancel
		return run, nil, err
	}
	w, err := oneRun(c, run.ThreadID, run.ID)
	if err != nil {
		return run, nil, err
	}
	h.unqueue(number(w.k, runBits))
	h.updated = micros(at)
	if h.rest == statusError { // a cancel leaves no error behind
		h.rest = statusIdle
	}
	run.Status, run.Cancel, run.EndedAt, run.UpdatedAt = thread.RunInterrupted, action, at, at
	if action == "rollback" {
		err = removeRun(c, h, w, thread.CauseRollback)
	} else {
		end := endRun{status: runInterrupted, at: at, cancel: action, base: w.base, retire: true}
		if err = end.store(c, w.k); err == nil {
			err = h.dropExecution(c, w)
		}
	}
	if err != nil {
		return run, nil, err
	}
	told, err := h.dropped(c, w, action, at)
	return run, told, err
}

// removeRun removes the row of a run that isn't inflight, its log and its
// checkpoints; the questions it answered wait again.
func removeRun(c *conn, h *head, w runRow, cause string) error {
	run, err := w.run()
	if err != nil {
		return err
	}
	n := number(w.k, runBits)
	first, last := span(h.k, logBits)
	if w.logFrom != 0 {
		if _, err := c.exec(`DELETE FROM log WHERE k BETWEEN ? AND ? AND run=?`, first, last, n); err != nil {
			return err
		}
	}
	if err := h.forgetCheckpoints(c, w.id, cause); err != nil {
		return err
	}
	if err := h.reopen(c, run, w, cause); err != nil {
		return err
	}
	_, err = c.exec(`DELETE FROM runs WHERE k=?`, w.k)
	return err
}

// forgetCheckpoints removes the checkpoints of a run, and the questions they ask.
func (h *head) forgetCheckpoints(c *conn, runID, cause string) error {
	dropped, err := dropCheckpoints(c, h, `run=?`, uuidID(runID))
	if err != nil || len(dropped) == 0 {
		return err
	}
	gone := map[string]bool{}
	for _, id := range dropped {
		gone[id] = true
	}
	if h.open > 0 {
		list, err := pendingQuestions(c, h.k)
		if err != nil {
			return err
		}
		for _, q := range list {
			if !gone[q.CheckpointID] {
				continue
			}
			if err := h.close(c, q, cause); err != nil {
				return err
			}
		}
	}
	if !gone[h.head] {
		return nil
	}
	h.head, err = newestRoot(c, h.k)
	return err
}

// reopen takes back the answers of a resume that is undone, with its command's writes.
func (h *head) reopen(c *conn, run thread.Run, w runRow, cause string) error {
	for _, id := range run.Resumes {
		q, ok, err := loadQuestion(c, h.k, id)
		if err != nil {
			return err
		}
		if !ok || q.status != interruptAnswered || q.answerRun != run.ID {
			continue
		}
		if q.CheckpointID == "" { // it had no row before
			if _, err := c.exec(`DELETE FROM interrupts WHERE thread=? AND id=?`, h.k, id); err != nil {
				return err
			}
			continue
		}
		_, err = c.exec(`UPDATE interrupts SET status=0, answer=NULL, answered_by='', answered_at=0, answer_run='', fingerprint='' WHERE thread=? AND id=?`, h.k, id)
		if err != nil {
			return err
		}
		h.open++
		if err := h.reopenReview(c, q.review, cause); err != nil {
			return err
		}
	}
	if !w.hasWrites() {
		return nil
	}
	_, err := c.exec(`DELETE FROM tasks WHERE thread=? AND checkpoint=? AND task=?`, h.k, uuidID(w.base), uuidID(agent.NullTask))
	return err
}

// Rollback implements thread.Runs.
func (s *Store) Rollback(ctx context.Context, l thread.Lease, last []thread.Entry) (told []thread.Entry, err error) {
	batch, err := encodeLog(last)
	if err != nil {
		return nil, err
	}
	actor := thread.ActorFrom(ctx)
	err = s.write(ctx, true, func(t *tx) error {
		told = nil
		h, err := owned(t.conn, l)
		if err != nil {
			return err
		}
		h.do(actor, s.now())
		if err := h.doAsCanceller(); err != nil {
			return err
		}
		w, err := runByNumber(t.conn, l.ThreadID, h.k, h.running)
		if err != nil {
			return err
		}
		pos, seq, err := logEnd(t.conn, h.k, h.startPos-1, h.startSeq-1)
		if err != nil {
			return err
		}
		h.nextPos, h.nextSeq = max(pos, batch.last)+1, max(seq, batch.lastSeq)+1
		if told, err = undo(t.conn, h, w, batch, thread.CauseRollback, s.now()); err != nil {
			return err
		}
		return h.save(t.conn)
	})
	return told, err
}

// undo removes the running run and puts the thread where it was before. Numbers
// that the run has used are never given again. Of its log only the last entries
// stay: what readers were told is that it has ended. The caller saves h.
func undo(c *conn, h *head, w runRow, last logBatch, cause string, now time.Time) ([]thread.Entry, error) {
	if err := h.undoTasks(c, w, cause); err != nil {
		return nil, err
	}
	base, rest := h.base, h.baseRest
	h.token++
	h.stop()
	if err := removeRun(c, h, w, cause); err != nil {
		return nil, err
	}
	if err := last.putOwned(c, h.k, outsideRuns, w.id); err != nil {
		return nil, err
	}
	run, err := w.run()
	if err != nil {
		return nil, err
	}
	if err := h.leave(c, run.Kwargs, now); err != nil {
		return nil, err
	}
	told, err := h.tellOwed(c)
	if err != nil {
		return nil, err
	}
	if base != h.head && base != "" {
		if _, err := findCheckpoint(c, h, "", base); err == nil {
			h.head = base
		} else if !isNotFound(err) {
			return nil, err
		}
	}
	h.rest = rest
	if h.open > 0 {
		h.rest = statusInterrupted
	}
	h.updated = micros(now)
	h.settle()
	return told, nil
}

// DeleteRun implements thread.Runs.
func (s *Store) DeleteRun(ctx context.Context, threadID, runID string) (told []thread.Entry, err error) {
	actor := thread.ActorFrom(ctx)
	err = s.write(ctx, true, func(t *tx) error {
		told = nil
		w, err := oneRun(t.conn, threadID, runID)
		if err != nil {
			return err
		}
		h, err := loadHead(t.conn, w.thread)
		if err != nil {
			return err
		}
		h.do(actor, s.now())
		if w.status == runRunning { // its worker finds itself fenced
			if told, err = h.deleteRunning(t.conn, w, s.now()); err != nil {
				return err
			}
			return h.save(t.conn)
		}
		h.unqueue(number(w.k, runBits))
		if err := deleteEnded(t.conn, h, w); err != nil {
			return err
		}
		if w.status == runPending {
			if told, err = h.dropped(t.conn, w, "rollback", s.now()); err != nil {
				return err
			}
		}
		h.updated = micros(s.now())
		h.settle()
		return h.save(t.conn)
	})
	return told, err
}

// deleteRunning removes a run from under its worker, and tells of its end.
func (h *head) deleteRunning(c *conn, w runRow, now time.Time) ([]thread.Entry, error) {
	var d runDoc
	if err := json.Unmarshal(w.doc, &d); err != nil {
		return nil, err
	}
	last := []thread.Entry{{Pos: h.nextPos, Seq: h.nextSeq, RunID: w.id, Event: agent.Event{
		Kind: agent.RunFinished, At: now.UnixMilli(),
		Payload: agent.RunFinish{GraphID: d.Graph, Status: string(thread.RunInterrupted), Cancel: "rollback"},
	}}}
	batch, err := encodeLog(last)
	if err != nil {
		return nil, err
	}
	h.nextPos++
	h.nextSeq++
	told, err := undo(c, h, w, batch, thread.CauseDelete, now)
	return append(last, told...), err
}

// deleteEnded removes a run that isn't running. Answers that an ended run brought stay accepted.
func deleteEnded(c *conn, h *head, w runRow) error {
	if w.status == runPending {
		return removeRun(c, h, w, thread.CauseDelete)
	}
	first, last := span(h.k, logBits)
	if _, err := c.exec(`DELETE FROM log WHERE k BETWEEN ? AND ? AND run=?`, first, last, number(w.k, runBits)); err != nil {
		return err
	}
	head := h.head
	if err := h.forgetCheckpoints(c, w.id, thread.CauseDelete); err != nil {
		return err
	}
	if h.head != head && h.open == 0 {
		h.rest = statusIdle
	}
	if _, err := c.exec(`DELETE FROM runs WHERE k=?`, w.k); err != nil {
		return err
	}
	// What a snapshot of the log shows may be gone.
	return h.cutLog(c, func(int64) (bool, error) { return false, nil }, math.MinInt64, true)
}
