package local

import (
	"context"
	"time"

	"github.com/parley-dev/parley/thread"
)

// DueDeliveries implements thread.Outbox.
func (s *Store) DueDeliveries(ctx context.Context, now time.Time, limit int) (list []thread.Delivery, err error) {
	err = s.read(ctx, func(c *conn) error {
		r := c.query(`SELECT id, thread, run, url, attempt, due FROM outbox WHERE due<=? ORDER BY due LIMIT ?`, micros(now), limit)
		for r.next() {
			list = append(list, thread.Delivery{ID: r.text(0), ThreadID: r.text(1), RunID: r.text(2), URL: r.text(3),
				Attempt: int(r.int(4)), Due: timeOf(r.int(5))})
		}
		return r.close()
	})
	return list, err
}

// RetryDelivery implements thread.Outbox.
func (s *Store) RetryDelivery(ctx context.Context, id string, due time.Time, lastError string) error {
	return s.write(ctx, true, func(t *tx) error {
		n, err := t.exec(`UPDATE outbox SET attempt=attempt+1, due=?, error=? WHERE id=?`, micros(due), lastError, id)
		if err == nil && n == 0 {
			err = &thread.NotFoundError{Kind: notFoundDelivery, ID: id}
		}
		return err
	})
}

// FinishDelivery implements thread.Outbox. A delivery that is gone is finished.
func (s *Store) FinishDelivery(ctx context.Context, id string) error {
	return s.write(ctx, true, func(t *tx) error {
		_, err := t.exec(`DELETE FROM outbox WHERE id=?`, id)
		return err
	})
}
