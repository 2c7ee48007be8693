package local

import (
	"context"
	"time"
)

// retireDone takes the place of the time when a run's execution ended, once that
// lies far enough back: the run's events go as soon as all before them do.
const retireDone = -1

// ExpireLogs implements thread.Runs.
func (s *Store) ExpireLogs(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.write(ctx, false, func(t *tx) error {
		n = 0
		var threads []int64 // in which something goes
		r := t.query(`SELECT k FROM runs WHERE retire>0 AND retire<? ORDER BY retire LIMIT ?`, micros(before), limit)
		var runs []int64
		for r.next() {
			runs = append(runs, r.int(0))
		}
		if err := r.close(); err != nil {
			return err
		}
		seen := map[int64]bool{}
		for _, k := range runs {
			if _, err := t.exec(`UPDATE runs SET retire=CASE WHEN log_from=0 THEN NULL ELSE ? END WHERE k=?`, retireDone, k); err != nil {
				return err
			}
			if owner := k >> runBits; !seen[owner] {
				seen[owner] = true
				threads = append(threads, owner)
			}
			n++
		}
		for _, k := range threads {
			if err := expireLog(t.conn, k, before); err != nil {
				return err
			}
		}
		now := micros(s.now())
		if _, err := t.exec(`DELETE FROM idempotency WHERE expires<=?`, now); err != nil {
			return err
		}
		return dropExpiredItems(t.conn, now)
	})
	return n, err
}

// expireLog cuts the log of a thread behind what is old enough.
func expireLog(c *conn, k int64, before time.Time) error {
	h := &head{k: k}
	var err error
	if _, e := c.one(func(r *rows) { h.owed, err = decodeOwed(r.view(0)) }, `SELECT owed FROM heads WHERE k=?`, k); e != nil || err != nil {
		return errorsFirst(err, e)
	}
	due := micros(before)
	return h.cutLog(c, func(run int64) (old bool, err error) {
		found, err := c.one(func(r *rows) { old = r.int(0) != 0 && r.int(0) < due },
			`SELECT retire FROM runs WHERE k=?`, within(k, runBits, run))
		return old || !found, err
	}, before.UnixMilli(), false)
}

// retired tells whether the execution of a run is over.
func (h *head) retired(c *conn) func(run int64) (bool, error) {
	return func(run int64) (over bool, err error) {
		found, err := c.one(func(r *rows) { over = r.int(0) != 0 }, `SELECT retire FROM runs WHERE k=?`, within(h.k, runBits, run))
		return over || !found, err
	}
}
