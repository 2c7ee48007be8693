package thread

import (
	"context"
	"errors"
	"time"
)

// retentionBatch bounds what one transition of retention removes.
const retentionBatch = 200

// expiryGrace is how long a thread outlives its time, so that who follows the
// last run of a temporary thread can read it to its end.
const expiryGrace = 30 * time.Second

// cacheIdle is how long a cached value stays unused.
const cacheIdle = 2 * time.Minute

// retain removes, once per Options.SweepEvery, logs whose execution ended long
// ago and threads whose time is up.
func (s *Service) retain(ctx context.Context) {
	for {
		if s.clock.Sleep(ctx, s.opts.SweepEvery) != nil {
			return
		}
		s.Sweep(ctx)
	}
}

// Sweep is one round of retention. It may be called at any time.
func (s *Service) Sweep(ctx context.Context) {
	now := s.clock.Now()
	s.cache.sweep(time.Now().Add(-cacheIdle))
	for {
		n, err := s.store.ExpireLogs(ctx, now.Add(-s.opts.LogRetention), retentionBatch)
		if err != nil {
			s.complain(ctx, "expire logs", err)
			break
		}
		if n < retentionBatch {
			break
		}
	}
	s.expireThreads(ctx, now)
}

func (s *Service) expireThreads(ctx context.Context, now time.Time) {
	for {
		expired, err := s.store.ExpiredThreads(ctx, now.Add(-expiryGrace), retentionBatch)
		if err != nil {
			s.complain(ctx, "look for expired threads", err)
			return
		}
		for _, t := range expired {
			if err := s.expire(ctx, t); err != nil && !errors.Is(err, ErrNotFound) {
				s.complain(ctx, "expire thread "+t.ID, err)
				return
			}
		}
		if len(expired) < retentionBatch {
			return
		}
	}
}

// expire ends a thread's time: it is removed, or keeps its newest checkpoint for good.
func (s *Service) expire(ctx context.Context, t Thread) error {
	if t.TTLStrategy != TTLKeepLatest {
		return s.DeleteThread(ctx, t.ID)
	}
	if err := s.store.TrimThread(ctx, t.ID); err != nil {
		return err
	}
	never := time.Time{}
	_, err := s.store.PatchThread(ctx, t.ID, ThreadPatch{ExpiresAt: &never, At: s.clock.Now()})
	return err
}

// complain logs an error of a background loop, unless the loop is just ending.
func (s *Service) complain(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		s.log.Error(what, "err", err)
	}
}
