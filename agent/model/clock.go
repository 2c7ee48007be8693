package model

import (
	"context"
	"time"
)

// Clock is what a model that plays with time needs; an agent.Context is one.
type Clock interface {
	Now() time.Time
	Sleep(d time.Duration) error
}

type clockKey struct{}

// WithClock returns a context whose Sleep and Now are those of c. Generate
// gives models the run's clock this way.
func WithClock(ctx context.Context, c Clock) context.Context {
	return context.WithValue(ctx, clockKey{}, c)
}

// Now is the time of the context's clock; without one, the machine's.
func Now(ctx context.Context) time.Time {
	if c, ok := ctx.Value(clockKey{}).(Clock); ok {
		return c.Now()
	}
	return time.Now()
}

// Sleep waits by the context's clock; without one, by the machine's. It
// returns early, with an error, when ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	if c, ok := ctx.Value(clockKey{}).(Clock); ok {
		if err := c.Sleep(d); err != nil {
			return err
		}
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
