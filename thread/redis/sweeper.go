package redis

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	rds "github.com/redis/go-redis/v9"
)

const (
	// markGrace is how old a mark is when its writer is taken for dead. A transition
	// that is marked must begin within half of it.
	markGrace = 10 * time.Second
	// sweepBatch bounds what one round repairs in a shard.
	sweepBatch = 200
)

// sweep repairs what writers that died have left, from time to time until ctx ends.
func (s *Store) sweep(ctx context.Context) {
	c := newComparer(s)
	for {
		pause := s.opts.SweepEvery/2 + rand.N(s.opts.SweepEvery)
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
		for n := range s.keys.shards {
			if err := s.sweepShard(ctx, n, markGrace); err != nil && ctx.Err() == nil {
				s.log.Warn("sweep", "shard", n, "err", err)
			}
			if _, err := s.sealShard(ctx, n, sealGrace); err != nil && ctx.Err() == nil {
				s.log.Warn("seal audit entries", "shard", n, "err", err)
			}
		}
		if err := c.round(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("compare derived entries", "err", err)
		}
	}
}

// sweepShard reconciles the threads of a shard whose marks are older than grace.
func (s *Store) sweepShard(ctx context.Context, n int, grace time.Duration) error {
	now, err := s.client.Time(ctx).Result()
	if err != nil {
		return err
	}
	marks, err := s.client.ZRangeArgs(ctx, rds.ZRangeArgs{
		Key: s.keys.dirty(n), ByScore: true, Start: "-inf", Stop: now.Add(-grace).UnixMicro(), Count: sweepBatch,
	}).Result()
	if err != nil {
		return err
	}
	for _, mark := range marks {
		parts := strings.Split(mark, markSeparator)
		if len(parts) < 3 {
			s.unmark(ctx, "", mark)
			continue
		}
		threadID, runID := strings.Join(parts[:len(parts)-2], markSeparator), parts[len(parts)-2]
		if runID != "" {
			if err := s.disownUnknown(ctx, threadID, runID); err != nil {
				return err
			}
		}
		if err := s.reconcile(ctx, threadID, mark); err != nil {
			return err
		}
		s.log.Info("derived entries repaired", "thread", threadID)
	}
	return nil
}

// disownUnknown frees a run id that the thread holds without having the run.
func (s *Store) disownUnknown(ctx context.Context, threadID, runID string) error {
	_, err := s.GetRun(ctx, threadID, runID)
	if isNotFound(err) {
		return s.disown(ctx, runID)
	}
	return err
}
