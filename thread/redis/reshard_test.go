package redis_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/redis"
	"github.com/parley-dev/parley/thread/redis/redistest"
)

// TestSlotMovesUnderAStream: while a thread's slot goes from one master to the next, and on, its
// run is written to and followed from another replica: every entry is seen once, in order (D-82).
func TestSlotMovesUnderAStream(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a cluster of three masters")
	}
	c := redistest.StartCluster(t, 3, 0)
	open := func() *redis.Store {
		s, err := redis.Open(t.Context(), redis.Options{Logger: quiet, URL: c.URL()})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	s, other := open(), open()
	l := newListener(other)
	sub := other.Subscribe(l)
	l.until(t, "it listens", func() bool { return l.work > 0 })
	id := newID()
	sub.Watch(id)
	_, err := s.AdmitRun(t.Context(), admission(id))
	require.NoError(t, err)
	_, lease, ok, err := s.ClaimRun(t.Context(), thread.Claim{Worker: "w", Lease: 5 * time.Minute})
	require.NoError(t, err)
	require.True(t, ok)

	var stored []int64
	var steps int64
	write := func() {
		steps++
		step := superstep(lease, steps)
		for _, e := range step.Entries {
			stored = append(stored, e.Pos)
		}
		require.Eventually(t, func() bool { // a slot on its way is away for a moment; what is sent again is stored once
			_, err := s.Commit(t.Context(), lease, step)
			if err != nil {
				require.ErrorIs(t, err, thread.ErrUnavailable)
			}
			return err == nil
		}, time.Minute, 10*time.Millisecond)
	}
	write()
	for range 3 {
		var moved error
		done := make(chan struct{})
		go func() {
			defer close(done)
			moved = redistest.MoveSlot(t.Context(), c.Nodes, "{"+id+"}", 0, func() { time.Sleep(5 * time.Millisecond) })
		}()
		for moving := true; moving; {
			write()
			select {
			case <-done:
				moving = false
			default:
			}
		}
		require.NoError(t, moved)
		write()
	}
	l.until(t, "the newest entry", func() bool { return l.last(id) == stored[len(stored)-1] })
	l.mu.Lock()
	seen := slices.Clone(l.seen[id])
	l.mu.Unlock()
	require.Equal(t, stored, seen, "every entry once, in order")
	log, err := other.ReadLog(t.Context(), id, 0, 0)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(log), len(stored))
	t.Logf("%d supersteps while the slot moved three times", steps)
}
