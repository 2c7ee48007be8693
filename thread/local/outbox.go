package local

import (
	"context"
	"time"

	"github.com/parley-dev/parley/thread"
)

// DueDeliveries implements thread.Outbox.
func (s *Store) DueDeliveries(ctx context.Context, now time.Time, limit int) (list []thread.Delivery, err error) {
	err = s.read(ctx, func(c *conn) error {
		list, err = listDeliveries(c, `dead=0 AND due<=? ORDER BY due LIMIT ?`, micros(now), limit)
		return err
	})
	return list, err
}

// listDeliveries reads those that a condition selects.
func listDeliveries(c *conn, where string, args ...any) (list []thread.Delivery, err error) {
	r := c.query(`SELECT id, thread, run, url, attempt, due, event, interrupt, error, dead FROM outbox WHERE `+where, args...)
	for r.next() {
		list = append(list, thread.Delivery{ID: r.text(0), ThreadID: r.text(1), RunID: r.text(2), URL: r.text(3),
			Attempt: int(r.int(4)), Due: timeOf(r.int(5)), Event: r.text(6), InterruptID: r.text(7), LastError: r.text(8), Dead: r.bool(9)})
	}
	return list, r.close()
}

// RetryDelivery implements thread.Outbox.
func (s *Store) RetryDelivery(ctx context.Context, id string, due time.Time, lastError string) error {
	return s.write(ctx, true, func(t *tx) error {
		n, err := t.exec(`UPDATE outbox SET attempt=attempt+1, due=?, error=?, dead=0 WHERE id=?`, micros(due), lastError, id)
		if err == nil && n == 0 {
			err = &thread.NotFoundError{Kind: notFoundDelivery, ID: id}
		}
		return err
	})
}

// FailDelivery implements thread.DeadLetters.
func (s *Store) FailDelivery(ctx context.Context, id string, lastError string) error {
	return s.write(ctx, true, func(t *tx) error {
		n, err := t.exec(`UPDATE outbox SET attempt=attempt+1, due=?, error=?, dead=1 WHERE id=?`, micros(s.now()), lastError, id)
		if err == nil && n == 0 {
			err = &thread.NotFoundError{Kind: notFoundDelivery, ID: id}
		}
		return err
	})
}

// DeadDeliveries implements thread.DeadLetters.
func (s *Store) DeadDeliveries(ctx context.Context, limit int) (list []thread.Delivery, err error) {
	err = s.read(ctx, func(c *conn) error {
		list, err = listDeliveries(c, `dead=1 ORDER BY due DESC LIMIT ?`, limit)
		return err
	})
	return list, err
}

// FinishDelivery implements thread.Outbox. A delivery that is gone is finished.
func (s *Store) FinishDelivery(ctx context.Context, id string) error {
	return s.write(ctx, true, func(t *tx) error {
		_, err := t.exec(`DELETE FROM outbox WHERE id=?`, id)
		return err
	})
}
