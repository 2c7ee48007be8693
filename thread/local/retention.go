package local

import (
	"context"
	"time"
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
			if err := dropRunLog(t.conn, run.k, run.from); err != nil {
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

// dropRunLog removes the log of a run, which lies in one piece from position from.
func dropRunLog(c *conn, runKey, from int64) error {
	if from != 0 {
		k, n := runKey>>runBits, number(runKey, runBits)
		first := within(k, logBits, from)
		_, last := span(k, logBits)
		r := c.query(`SELECT k, run FROM log WHERE k BETWEEN ? AND ? ORDER BY k`, first, last)
		for r.next() {
			if r.int(1) != n {
				last = r.int(0) - 1
				break
			}
		}
		if err := r.close(); err != nil {
			return err
		}
		if _, err := c.exec(`DELETE FROM log WHERE k BETWEEN ? AND ?`, first, last); err != nil {
			return err
		}
	}
	_, err := c.exec(`UPDATE runs SET log_from=0, retire=NULL WHERE k=?`, runKey)
	return err
}
