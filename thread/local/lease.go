package local

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-dev/parley/thread"
)

// owned reads the head of a leased thread; ErrFenced when the lease is stale.
func owned(c *conn, l thread.Lease) (*head, error) {
	h, err := loadHead(c, l.ThreadID)
	if isNotFound(err) { // the thread was deleted under its worker
		return nil, fenced(l)
	}
	if err != nil {
		return nil, err
	}
	if h.running == 0 || h.token != l.Token {
		return h, fenced(l)
	}
	return h, nil
}

func fenced(l thread.Lease) error {
	return fmt.Errorf("run %s of thread %s, token %d: %w", l.RunID, l.ThreadID, l.Token, thread.ErrFenced)
}

// Renew implements thread.Runs.
func (s *Store) Renew(ctx context.Context, l thread.Lease, d time.Duration) (expires time.Time, cancel string, err error) {
	err = s.write(ctx, false, func(t *tx) error {
		h, err := owned(t.conn, l)
		if err != nil {
			return err
		}
		h.due = micros(s.now()) + d.Microseconds()
		expires, cancel = timeOf(h.due), h.cancel
		return h.save(t.conn)
	})
	return expires, cancel, err
}

// ReserveNumbers implements thread.Runs.
func (s *Store) ReserveNumbers(ctx context.Context, l thread.Lease, n int64) (thread.Lease, error) {
	err := s.write(ctx, true, func(t *tx) error {
		h, err := owned(t.conn, l)
		if err != nil {
			return err
		}
		h.nextSeq += n
		h.nextPos += n
		h.frameReserved += n
		l.SeqReserved, l.PosReserved, l.FrameReserved = h.nextSeq-1, h.nextPos-1, h.frameReserved
		return h.save(t.conn)
	})
	return l, err
}

// ReleaseRun implements thread.Runs.
func (s *Store) ReleaseRun(ctx context.Context, l thread.Lease) error {
	return s.write(ctx, true, func(t *tx) error {
		h, err := owned(t.conn, l)
		if err != nil {
			return err
		}
		h.token++
		h.released = true
		h.worker = ""
		h.due = micros(s.now())
		return h.save(t.conn)
	})
}
