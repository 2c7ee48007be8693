package agenttest

import (
	"context"
	"sync"
	"time"
)

// Clock is a clock that stands until it is moved; sleepers wake when it passes
// their time. With AutoAdvance a sleep moves the clock itself and returns at once.
type Clock struct {
	// AutoAdvance makes sleeps take no time. Set it before the clock is used.
	AutoAdvance bool

	mu       sync.Mutex
	now      time.Time
	sleepers map[chan struct{}]time.Time
	changed  chan struct{}
}

// NewClock returns a clock with AutoAdvance off.
func NewClock() *Clock {
	return &Clock{now: start, sleepers: map[chan struct{}]time.Time{}, changed: make(chan struct{})}
}

// Now implements agent.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Sleep implements agent.Clock.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.AutoAdvance || d <= 0 {
		c.Advance(max(d, 0))
		return nil
	}
	return c.Limit(ctx, d)
}

// Limit waits like Sleep, but never moves the clock: time limits end when others
// have slept that long.
func (c *Clock) Limit(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	wake := make(chan struct{})
	c.sleepers[wake] = c.now.Add(d)
	c.notify()
	c.mu.Unlock()
	select {
	case <-wake:
		return nil
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.sleepers, wake)
		c.notify()
		return ctx.Err()
	}
}

// Advance moves the clock and wakes the sleepers whose time has come.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for wake, at := range c.sleepers {
		if !at.After(c.now) {
			delete(c.sleepers, wake)
			close(wake)
		}
	}
	c.notify()
}

// WaitSleepers returns once n calls of Sleep wait, or with the context's error.
func (c *Clock) WaitSleepers(ctx context.Context, n int) error {
	for {
		c.mu.Lock()
		waiting, changed := len(c.sleepers), c.changed
		c.mu.Unlock()
		if waiting >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// notify tells waiters that the sleepers changed. The caller holds mu.
func (c *Clock) notify() {
	close(c.changed)
	c.changed = make(chan struct{})
}
