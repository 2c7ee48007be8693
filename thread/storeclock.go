package thread

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/parley-dev/parley/agent"
)

// Timed is implemented by stores on other machines: their clock is the one that
// counts (design 3.6), however wrong this process's is.
type Timed interface {
	// Time is the store's time.
	Time(ctx context.Context) (time.Time, error)
}

// storeClockEvery is the pause between two comparisons with the store's clock.
const storeClockEvery = 5 * time.Second

// storeClock tells the store's time: the process's own, put right by how far that
// was off when the two were compared last. Without it a replica whose clock is ahead
// would make runs wait, and one whose clock is behind find nothing due.
type storeClock struct {
	agent.Clock
	store Timed
	off   atomic.Int64 // ns
}

// Now implements agent.Clock.
func (c *storeClock) Now() time.Time { return c.Clock.Now().Add(time.Duration(c.off.Load())) }

// compare finds out how far the clocks differ.
func (c *storeClock) compare(ctx context.Context) error {
	before := c.Clock.Now()
	now, err := c.store.Time(ctx)
	if err != nil {
		return err
	}
	c.off.Store(int64(now.Sub(before.Add(c.Clock.Now().Sub(before) / 2))))
	return nil
}

// followStore keeps the service's clock at the store's.
func (s *Service) followStore(ctx context.Context) {
	c, ok := s.clock.(*storeClock)
	if !ok {
		return
	}
	for c.Sleep(ctx, storeClockEvery) == nil {
		if err := c.compare(ctx); err != nil { // until then the last comparison holds
			s.complain(ctx, "compare clocks with the store", err)
		}
	}
}
