package local

import (
	"time"

	"github.com/parley-dev/parley/thread"
)

// finish ends the running run of h (whose row is w) and saves h: row, status of
// the thread (spec/rest-api.md 3.1), outbox. It returns what the log got beside.
func finish(c *conn, h *head, f *thread.Finish, commit string, w runRow) ([]thread.Entry, error) {
	code, err := runStatusCode(f.Status)
	if err != nil {
		return nil, err
	}
	at := micros(f.At)
	// A suspended execution keeps its log until a later run of it ends (decisions 12).
	over := !f.Suspended
	end := endRun{status: code, at: f.At, attempt: h.attempt, started: h.started, cancel: h.cancel, suspended: f.Suspended,
		err: f.Error, base: h.base, logFrom: h.logFrom, commit: commit, retire: over}
	if err := end.store(c, w.k); err != nil {
		return nil, err
	}
	if over {
		if err := retireChain(c, w.k, w.execution, at); err != nil {
			return nil, err
		}
		h.suspended = 0
	} else {
		h.suspended = h.running
	}
	if code == runInterrupted {
		if err := h.doAsCanceller(); err != nil {
			return nil, err
		}
		if err := h.dropExecution(c, w); err != nil {
			return nil, err
		}
	}
	h.stop()
	told, err := h.tellOwed(c)
	if err != nil {
		return nil, err
	}
	h.rest = restAfter(f, code)
	h.err = nil
	if h.rest == statusError {
		h.err = f.Error
	}
	h.ended = true
	h.updated = at
	// While others wait the thread is busy, unless a person has to see something.
	h.status = h.rest
	if h.rest == statusIdle && len(h.queue) > 0 {
		h.status = statusBusy
	}
	if f.Webhook != nil {
		if err := putDelivery(c, *f.Webhook); err != nil {
			return nil, err
		}
	}
	if f.DropThread {
		if err := h.expire(c, f.At); err != nil {
			return nil, err
		}
	}
	return told, h.save(c)
}

// putDelivery stores a webhook to be sent.
func putDelivery(c *conn, d thread.Delivery) error {
	_, err := c.exec(`INSERT OR IGNORE INTO outbox(id, thread, run, url, attempt, due, error, event, interrupt) VALUES(?,?,?,?,?,?,'',?,?)`,
		d.ID, d.ThreadID, d.RunID, d.URL, d.Attempt, micros(d.Due), d.Event, d.InterruptID)
	return err
}

// expire makes the thread due for removal.
func (h *head) expire(c *conn, at time.Time) error {
	_, err := c.exec(`UPDATE threads SET expires=?, ttl='delete' WHERE k=?`, micros(at), h.k)
	return err
}

// stop clears what belongs to the running run.
func (h *head) stop() {
	h.running, h.attempt, h.lost, h.released, h.cancel, h.worker, h.started = 0, 0, 0, false, "", "", 0
	h.frameBase, h.frameReserved, h.base, h.baseRest, h.logFrom, h.cancelledBy = 0, 0, "", 0, 0, nil
}

// restAfter is the status that a finished run leaves.
func restAfter(f *thread.Finish, code int64) int64 {
	switch {
	case code == runInterrupted: // cancelled
		return statusIdle
	case code != runSuccess:
		return statusError
	case f.HasNext || f.Suspended:
		return statusInterrupted
	}
	return statusIdle
}

// retireChain starts the retention of the earlier runs of an execution, the last
// of which has key k: they lie before it, behind one another.
func retireChain(c *conn, k int64, execution string, at int64) error {
	var keys []int64
	first, _ := span(k>>runBits, runBits)
	r := c.query(`SELECT k, execution, retire IS NULL, started=0 FROM runs WHERE k BETWEEN ? AND ? ORDER BY k DESC`, first, k-1)
	for r.next() {
		own := r.id(1) == execution
		if !own && !r.bool(3) { // runs that were dropped before they began lie in between
			break
		}
		if own && r.bool(2) {
			keys = append(keys, r.int(0))
		}
	}
	if err := r.close(); err != nil {
		return err
	}
	for _, key := range keys {
		if _, err := c.exec(`UPDATE runs SET retire=? WHERE k=?`, at, key); err != nil {
			return err
		}
	}
	return nil
}

// dropSuspended starts the retention of a suspended execution that nobody will go on with.
func (h *head) dropSuspended(c *conn, now int64) error {
	if h.suspended == 0 {
		return nil
	}
	k := within(h.k, runBits, h.suspended)
	h.suspended = 0
	var execution string
	ok, err := c.one(func(r *rows) { execution = r.id(0) }, `SELECT execution FROM runs WHERE k=?`, k)
	if err != nil || !ok {
		return err
	}
	return retireChain(c, k+1, execution, now)
}
