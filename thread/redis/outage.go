package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	rds "github.com/redis/go-redis/v9"

	"github.com/parley-dev/parley/thread"
)

const (
	// outage is how long a worker goes on trying to store what it has done while the
	// server is away: a fail-over or restart costs no run.
	outage = 30 * time.Second
	// outagePause is the pause between two such tries.
	outagePause = 200 * time.Millisecond
)

// refusals are errors by which a server says that it takes nothing at present. The
// client follows a slot that moves, but not for ever: ASK and MOVED are what it then returns.
var refusals = []string{"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "ASK", "MOVED", "OOM", "MISCONF", "NOREPLICAS", "UNBLOCKED"}

// unavailable marks an error that says that the server is away; others pass.
func unavailable(err error) error {
	if isAway(err) {
		return fmt.Errorf("%w: %w", thread.ErrUnavailable, err)
	}
	return err
}

func isAway(err error) bool {
	if unreachable(err) || broken(err) {
		return true
	}
	for _, prefix := range refusals {
		if rds.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}

// unreachable tells whether an error says that no server was reached, or none answered.
func unreachable(err error) bool {
	var network net.Error
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &network) {
		return false
	}
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, rds.ErrPoolTimeout) || errors.Is(err, rds.ErrPoolExhausted)
}

// persist runs a worker's transition, again and again while the server is away or
// doesn't confirm it. What isn't confirmed in the end stands all the same.
func (s *Store) persist(ctx context.Context, run func() reply) reply {
	for begin := time.Now(); ; {
		r := run()
		again := errors.Is(r.err, thread.ErrUnavailable) || r.unconfirmed != nil
		if !again {
			return r
		}
		if time.Since(begin) > outage || ctx.Err() != nil || s.life.Err() != nil {
			if r.unconfirmed != nil {
				s.log.Warn("the end of a run is not confirmed", "err", r.unconfirmed)
				r.unconfirmed = nil
			}
			return r
		}
		pause(ctx, outagePause)
	}
}
