package local

import (
	"context"
	"time"

	"github.com/parley-dev/parley/thread"
)

// ExpireLogs implements thread.Runs.
func (s *Store) ExpireLogs(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.write(ctx, false, func(t *tx) error {
		n = 0
		type run struct{ k, from int64 }
		var list []run
		r := t.query(`SELECT k, log_from FROM runs WHERE retire IS NOT NULL AND retire<? ORDER BY retire LIMIT ?`, micros(before), limit)
		for r.next() {
			list = append(list, run{r.int(0), r.int(1)})
		}
		if err := r.close(); err != nil {
			return err
		}
		for _, run := range list {
			if err := dropRunLog(t.conn, run.k, run.from, before); err != nil {
				return err
			}
			n++
		}
		now := micros(s.now())
		if _, err := t.exec(`DELETE FROM idempotency WHERE expires<=?`, now); err != nil {
			return err
		}
		return dropExpiredItems(t.conn, now)
	})
	return n, err
}

// dropRunLog removes the log of a run, which lies in one piece from position
// from, and the edits beside it that were made before the given time.
func dropRunLog(c *conn, runKey, from int64, before time.Time) error {
	if from != 0 {
		first, last, err := logOf(c, runKey, from, before)
		if err != nil {
			return err
		}
		if _, err := c.exec(`DELETE FROM log WHERE k BETWEEN ? AND ?`, first, last); err != nil {
			return err
		}
	}
	_, err := c.exec(`UPDATE runs SET log_from=0, retire=NULL WHERE k=?`, runKey)
	return err
}

// logOf is the range of log rows that dropRunLog removes.
func logOf(c *conn, runKey, from int64, before time.Time) (first, last int64, err error) {
	k, n := runKey>>runBits, number(runKey, runBits)
	start, end := span(k, logBits)
	first, last = within(k, logBits, from), end
	r := c.query(`SELECT k, run, data FROM log WHERE k BETWEEN ? AND ? ORDER BY k`, first, end)
	for r.next() {
		keep := r.int(1) != n && r.int(1) != outsideRuns
		if r.int(1) == outsideRuns {
			edit, err := thread.DecodeEntries(nil, r.view(2), "", 0)
			if err != nil {
				return 0, 0, errorsFirst(err, r.close())
			}
			keep = len(edit) > 0 && edit[0].Event.At >= before.UnixMilli()
		}
		if keep {
			last = r.int(0) - 1
			break
		}
	}
	if err := r.close(); err != nil {
		return 0, 0, err
	}
	r = c.query(`SELECT k, run FROM log WHERE k BETWEEN ? AND ? ORDER BY k DESC`, start, first-1)
	for r.next() && r.int(1) == outsideRuns {
		first = r.int(0)
	}
	return first, last, r.close()
}
