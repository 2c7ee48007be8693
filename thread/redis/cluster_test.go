package redis_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	rds "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/redis"
	"github.com/parley-dev/parley/thread/redis/redistest"
	"github.com/parley-dev/parley/thread/storetest"
)

// D-74, D-81
func TestStoreOnACluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a cluster of three masters")
	}
	c := redistest.StartCluster(t, 3, 0)
	storetest.Run(t, func(t *testing.T) thread.Store {
		s, err := redis.Open(context.Background(), redis.Options{Logger: quiet, URL: c.URL(), Prefix: "test:" + uuid.NewString()[:8] + ":"})
		require.NoError(t, err)
		return s
	})
}

// TestClusterFailsOver: when a master dies its slots are served again soon, not
// only when the client happens to look at the cluster's state (spec/libraries.md 7, pitfall 2).
func TestClusterFailsOver(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a cluster of six nodes")
	}
	c := redistest.StartCluster(t, 3, 1)
	s, err := redis.Open(t.Context(), redis.Options{Logger: quiet, URL: c.URL()})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	other, err := redis.Open(t.Context(), redis.Options{Logger: quiet, URL: c.URL()})
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	l := newListener(other)
	sub := other.Subscribe(l)
	l.until(t, "it listens", func() bool { return l.work > 0 })
	c.Nodes[0].Stop()
	dead := time.Now()
	for range 32 { // over all slots
		id := newID()
		sub.Watch(id)
		require.Eventually(t, func() bool {
			_, err := s.AdmitRun(t.Context(), admission(id))
			return err == nil
		}, 60*time.Second, 50*time.Millisecond)
		var lease thread.Lease
		require.Eventually(t, func() bool {
			_, l, ok, err := s.ClaimRun(t.Context(), thread.Claim{Worker: "w", Lease: time.Minute})
			lease = l
			return err == nil && ok
		}, 60*time.Second, 20*time.Millisecond)
		step := finish(superstep(lease, 1))
		_, err = s.Commit(t.Context(), lease, step)
		require.NoError(t, err)
		last := step.Entries[len(step.Entries)-1].Pos
		l.until(t, "the subscription goes on", func() bool { return l.last(lease.ThreadID) == last })
	}
	require.Less(t, time.Since(dead), 45*time.Second, "the client's own interval is a minute")
}

// TestMovingSlotIsAway: while a slot is on its way to another master, requests for it
// are told to come again, whichever way the client is sent.
func TestMovingSlotIsAway(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a cluster of three masters")
	}
	c := redistest.StartCluster(t, 3, 0)
	s, err := redis.Open(t.Context(), redis.Options{Logger: quiet, URL: c.URL()})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	id := newID()
	var owner, other *rds.Client
	var slot int64
	for _, n := range c.Nodes {
		node := rds.NewClient(&rds.Options{Addr: n.Addr(), DisableIdentity: true})
		defer node.Close()
		slot, err = node.ClusterKeySlot(t.Context(), "{"+id+"}").Result()
		require.NoError(t, err)
		if node.Get(t.Context(), "{"+id+"}").Err() == rds.Nil { //nolint:errorlint // others say MOVED
			owner = node
		} else {
			other = node
		}
	}
	to, err := other.ClusterMyID(t.Context()).Result()
	require.NoError(t, err)
	require.NoError(t, owner.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "MIGRATING", to).Err())
	_, err = s.AdmitRun(t.Context(), admission(id))
	require.ErrorIs(t, err, thread.ErrUnavailable, "the other one doesn't know of it yet")
	require.NoError(t, owner.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "STABLE").Err())
	_, err = s.AdmitRun(t.Context(), admission(id))
	require.NoError(t, err)
}
