package local

import (
	"context"

	"github.com/parley-dev/parley/thread"
)

// GetRun implements thread.Runs.
func (s *Store) GetRun(ctx context.Context, threadID, runID string) (run thread.Run, err error) {
	err = s.readAll(ctx, func(c *conn) error {
		w, err := oneRun(c, threadID, runID)
		if err == nil {
			run, err = w.run()
		}
		return err
	})
	return run, err
}

// FindRun implements thread.Runs.
func (s *Store) FindRun(ctx context.Context, runID string) (thread.Run, error) {
	return s.GetRun(ctx, "", runID)
}

// ListRuns implements thread.Runs.
func (s *Store) ListRuns(ctx context.Context, threadID string, q thread.RunQuery) (list []thread.Run, err error) {
	err = s.readAll(ctx, func(c *conn) error {
		k, err := threadKey(c, threadID)
		if err != nil {
			return err
		}
		first, last := span(k, runBits)
		where, args := ` WHERE r.k BETWEEN ? AND ?`, []any{first, last}
		if q.ExecutionID != "" {
			where, args = where+` AND r.execution=?`, append(args, uuidID(q.ExecutionID))
		}
		r := c.query(selectRuns+where+` ORDER BY r.k`, args...)
		skip := q.Offset
		for r.next() && (q.Limit <= 0 || len(list) < q.Limit) {
			if q.Status == "" && skip > 0 {
				skip--
				continue
			}
			w := readRun(r)
			if q.Status != "" && runStatuses[w.status] != q.Status {
				continue
			}
			if skip > 0 {
				skip--
				continue
			}
			w.thread = threadID
			run, err := w.run()
			if err != nil {
				return errorsFirst(err, r.close())
			}
			list = append(list, run)
		}
		return r.close()
	})
	return list, err
}

// NewestRun implements thread.Runs.
func (s *Store) NewestRun(ctx context.Context, threadID string) (run thread.Run, err error) {
	found := false
	err = s.readAll(ctx, func(c *conn) error {
		k, err := threadKey(c, threadID)
		if err != nil {
			return err
		}
		first, last := span(k, runBits)
		r := c.query(selectRuns+` WHERE r.k BETWEEN ? AND ? ORDER BY r.k DESC`, first, last)
		for !found && r.next() {
			w := readRun(r)
			if w.status == runPending {
				continue
			}
			w.thread = threadID
			if run, err = w.run(); err != nil {
				return errorsFirst(err, r.close())
			}
			found = true
		}
		return r.close()
	})
	if err == nil && !found {
		err = &thread.NotFoundError{Kind: notFoundRun, ID: threadID}
	}
	return run, err
}

// Inflight implements thread.Runs.
func (s *Store) Inflight(ctx context.Context, threadID string) (list []thread.Run, err error) {
	err = s.readAll(ctx, func(c *conn) error {
		h, err := loadHead(c, threadID)
		if err != nil {
			return err
		}
		list, err = inflight(c, threadID, h)
		return err
	})
	return list, err
}

// inflight reads the runs that are pending or running, oldest first.
func inflight(c *conn, threadID string, h *head) ([]thread.Run, error) {
	var list []thread.Run
	numbers := make([]int64, 0, len(h.queue)+1)
	if h.running != 0 {
		numbers = append(numbers, h.running)
	}
	for _, p := range h.queue {
		numbers = append(numbers, p.run)
	}
	for _, n := range numbers {
		w, err := runByNumber(c, threadID, h.k, n)
		if err != nil {
			return nil, err
		}
		run, err := w.run()
		if err != nil {
			return nil, err
		}
		list = append(list, run)
	}
	return list, nil
}

// RunByKey implements thread.KeyFinder.
func (s *Store) RunByKey(ctx context.Context, threadID, key string) (run thread.Run, err error) {
	err = s.readAll(ctx, func(c *conn) error {
		k, err := threadKey(c, threadID)
		if err != nil {
			return err
		}
		n, err := keyedRun(c, k, key, micros(s.now()))
		if err != nil || n == 0 {
			return errorsFirst(err, &thread.NotFoundError{Kind: notFoundRun, ID: key})
		}
		w, err := runByNumber(c, threadID, k, n)
		if err == nil {
			run, err = w.run()
		}
		return err
	})
	return run, err
}

// keyedRun is the number of the run that was admitted with an idempotency key; 0
// for none, or when the key has been forgotten or its run removed.
func keyedRun(c *conn, k int64, key string, now int64) (n int64, err error) {
	_, err = c.one(func(r *rows) { n = r.int(0) },
		`SELECT i.run FROM idempotency i JOIN runs r ON r.k = (i.thread<<24) | i.run WHERE i.thread=? AND i.key=? AND i.expires>?`, k, key, now)
	return n, err
}
