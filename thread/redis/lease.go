package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/parley-dev/parley/thread"
)

// fenced names the lease that is stale.
func fenced(err error, l thread.Lease) error {
	if errors.Is(err, thread.ErrFenced) {
		return fmt.Errorf("run %s of thread %s, token %d: %w", l.RunID, l.ThreadID, l.Token, thread.ErrFenced)
	}
	return err
}

// Renew implements thread.Runs. The queue isn't told: it is too early by then,
// and who finds that out puts it right.
func (s *Store) Renew(ctx context.Context, l thread.Lease, d time.Duration) (expires time.Time, cancel string, err error) {
	r := s.eval(ctx, "renew", s.keys.thread(l.ThreadID)[:headKey], l.Token, d.Microseconds())
	if r.status(); r.err != nil {
		return time.Time{}, "", fenced(r.err, l)
	}
	expires, cancel = timeOf(r.int()), r.text()
	return expires, cancel, r.err
}

// ReserveNumbers implements thread.Runs.
func (s *Store) ReserveNumbers(ctx context.Context, l thread.Lease, n int64) (thread.Lease, error) {
	r := s.eval(ctx, "reserve", s.keys.thread(l.ThreadID)[:headKey], l.Token, l.SeqReserved, l.PosReserved, l.FrameReserved, n)
	if r.status(); r.err != nil {
		return l, fenced(r.err, l)
	}
	l.SeqReserved, l.PosReserved, l.FrameReserved = r.int(), r.int(), r.int()
	return l, r.err
}

// ReleaseRun implements thread.Runs.
func (s *Store) ReleaseRun(ctx context.Context, l thread.Lease) error {
	r := s.eval(ctx, "release", s.keys.thread(l.ThreadID), newOp(), l.Token)
	if r.status(); r.err != nil {
		return fenced(r.err, l)
	}
	w := readRow(l.ThreadID, &r)
	if r.err != nil {
		return r.err
	}
	return s.derive(ctx, w, derived{wake: true})
}
