package thread

import (
	"context"
	"errors"
	"sync"
	"time"
)

// loops are the goroutines of a service beside its workers. Each is owned by
// Start and waited for by Stop.
type loops struct {
	mu      sync.Mutex
	running bool
	cancel  context.CancelFunc
	wg      sync.WaitGroup
}

// Start creates the system assistants, audits review policies that aren't those before and starts workers, crons, outbox and
// retention; it returns when they run. ctx bounds the start only. Starting a
// running service does nothing.
func (s *Service) Start(ctx context.Context) error {
	s.loops.mu.Lock()
	defer s.loops.mu.Unlock()
	if s.loops.running {
		return nil
	}
	if c, ok := s.clock.(*storeClock); ok {
		if err := c.compare(ctx); err != nil {
			return err
		}
	}
	if err := s.createSystemAssistants(ctx, s.Graphs()); err != nil {
		return err
	}
	if err := s.recordPolicies(ctx, s.registry.Load()); err != nil {
		return err
	}
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.loops.cancel, s.loops.running = cancel, true
	s.pool.start(base)
	for _, loop := range []func(context.Context){s.crons.loop, s.outbox.loop, s.deadlines.loop, s.retain, s.followStore} {
		s.loops.wg.Add(1)
		go func() {
			defer s.loops.wg.Done()
			loop(base)
		}()
	}
	return nil
}

// Stop ends what Start began: nothing new is claimed, running supersteps may
// finish until ctx ends, then their runs are given back for other workers to go
// on with. It returns when all goroutines are gone; the error says that ctx ended
// first, or that nodes ignore the end of their context.
func (s *Service) Stop(ctx context.Context) error {
	s.loops.mu.Lock()
	defer s.loops.mu.Unlock()
	if !s.loops.running {
		return nil
	}
	err := s.pool.stop(ctx)
	s.loops.cancel()
	s.loops.wg.Wait()
	s.loops.running = false
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil // the runs were given back, which is what the deadline is for
	}
	return err
}

// sleepUnless sleeps for d and reports true, or false as soon as c, or the first of others, is signalled or ctx ends.
func (s *Service) sleepUnless(ctx context.Context, d time.Duration, c <-chan struct{}, others ...<-chan struct{}) bool {
	var other <-chan struct{} // nil: never
	if len(others) > 0 {
		other = others[0]
	}
	pause, cancel := context.WithCancel(ctx)
	defer cancel()
	slept := make(chan error, 1)
	go func() { slept <- s.clock.Sleep(pause, d) }()
	select {
	case err := <-slept:
		return err == nil
	case <-c:
	case <-other:
	}
	cancel()
	<-slept //nolint:errcheck // it was told to end
	return false
}
