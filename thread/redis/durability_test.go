package redis_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	rds "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/redis"
	"github.com/parley-dev/parley/thread/redis/redistest"
)

// TestUnfitServersAreRefused: at the start, with what to do about it.
func TestUnfitServersAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args   []string
		change func(*redis.Options)
		want   string // "" when it is taken
	}{
		"plain":                     {},
		"eviction":                  {args: []string{"--maxmemory-policy", "allkeys-lru"}, want: "noeviction"},
		"eviction, allowed":         {args: []string{"--maxmemory-policy", "allkeys-lru"}, change: func(o *redis.Options) { o.AllowEviction = true }},
		"always, no file":           {change: level(redis.Always), want: "append-only file"},
		"always, fsync each second": {args: []string{"--appendonly", "yes"}, change: level(redis.Always), want: "appendfsync always"},
		"always":                    {args: []string{"--appendonly", "yes", "--appendfsync", "always"}, change: level(redis.Always)},
		"replicated, alone":         {args: []string{"--appendonly", "yes", "--appendfsync", "always"}, change: level(redis.Replicated), want: "a replica"},
		"another word":              {change: level("strong"), want: "none of none, everysec, always, replicated"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := redistest.Start(t, c.args...)
			o := redis.Options{Logger: quiet, URL: p.URL()}
			if c.change != nil {
				c.change(&o)
			}
			s, err := redis.Open(t.Context(), o)
			if c.want == "" {
				require.NoError(t, err)
				require.NoError(t, s.Close())
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

func level(d redis.Durability) func(*redis.Options) {
	return func(o *redis.Options) { o.Durability = d }
}

// TestReplicatedWaitsForReplicas: a decision is acknowledged once they have it; one
// that isn't confirmed stands, and its repetition gets the first result (decisions 18).
func TestReplicatedWaitsForReplicas(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	replica := redistest.Start(t, "--replicaof", "127.0.0.1", master.Addr()[len("127.0.0.1:"):])
	admin := rds.NewClient(&rds.Options{Addr: replica.Addr(), DisableIdentity: true})
	defer admin.Close()
	connected := func() bool {
		role, err := admin.Do(context.Background(), "ROLE").Slice()
		return err == nil && fmt.Sprint(role[3]) == "connected"
	}
	require.Eventually(t, connected, 30*time.Second, 20*time.Millisecond)
	client := rds.NewClient(&rds.Options{Addr: master.Addr(), DisableIdentity: true})
	defer client.Close()
	w := &watcher{}
	client.AddHook(w)
	s, err := redis.Open(t.Context(), redis.Options{Logger: quiet, Client: client, Durability: redis.Replicated, ConfirmWithin: 500 * time.Millisecond})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	a := admission(newID())
	a.IdempotencyKey, a.KeyTTL = "k", time.Hour
	trips := w.during(func() {
		_, err := s.AdmitRun(t.Context(), a)
		require.NoError(t, err)
	})
	require.Equal(t, "evalsha admit, wait 1", trips[1])

	replica.Stop()
	b := admission(newID())
	b.IdempotencyKey, b.KeyTTL = "k", time.Hour
	b.Claim = &thread.Claim{Worker: "w", Lease: time.Minute}
	out, err := s.AdmitRun(t.Context(), b)
	require.ErrorIs(t, err, thread.ErrUnconfirmed)
	require.NotNil(t, out.Lease, "it stands")
	again := b
	again.Run.ID = newID()
	_, err = s.AdmitRun(t.Context(), again)
	require.ErrorIs(t, err, thread.ErrUnconfirmed)
	_, err = s.RunByKey(t.Context(), b.Run.ThreadID, "k")
	require.ErrorIs(t, err, thread.ErrUnconfirmed, "nobody may be told yet")
	require.NoError(t, replica.Restart())
	require.Eventually(t, func() bool {
		repeat, err := s.AdmitRun(t.Context(), again)
		return err == nil && repeat.Repeat && repeat.Run.ID == b.Run.ID
	}, 30*time.Second, 20*time.Millisecond)
	ahead := thread.Commit{ID: out.Lease.RunID + "/1/1", Steps: []agent.StepRecord{{Origin: "o", Name: "s", Status: agent.StepStarted}}, Sync: true}
	trips = w.during(func() {
		_, err := s.Commit(t.Context(), *out.Lease, ahead)
		require.NoError(t, err)
	})
	require.Equal(t, "evalsha step, wait 1", trips[0], "what is to be done at most once mustn't be done again after a fail-over")
	asks := review(superstep(*out.Lease, 1), "i")
	trips = w.during(func() {
		_, err := s.Commit(t.Context(), *out.Lease, asks)
		require.NoError(t, err)
	})
	require.Contains(t, trips, "evalsha commit, wait 1", "a question with a review")
	trips = w.during(func() {
		r, err := s.GetReview(t.Context(), thread.ReviewID(out.Lease.ThreadID, "i", 1))
		require.NoError(t, err)
		_, err = s.ChangeReview(t.Context(), thread.ReviewChange{ThreadID: r.ThreadID, InterruptID: "i", Version: r.Version, Terms: r.ReviewTerms,
			Audit: thread.AuditBody{Action: thread.AuditExtended}})
		require.NoError(t, err)
		require.NoError(t, s.AppendAudit(t.Context(), "p", r.ThreadID, thread.AuditBody{Action: thread.AuditRefused}))
		require.NoError(t, s.AppendAudit(t.Context(), "p", "", thread.AuditBody{Action: thread.AuditPolicy}))
	})
	for _, script := range []string{"review", "note", "seal"} {
		require.Contains(t, trips, "evalsha "+script+", wait 1", "the audit log")
	}
	_, err = s.Commit(t.Context(), *out.Lease, finish(superstep(*out.Lease, 2)))
	require.NoError(t, err)
}

// skipped is how many numbers are skipped where the server's history has changed.
const skipped = 8 << 20

// TestWorkerOutlivesARestart: what a worker has done is stored once the server is
// back, and numbers that the server may have lost aren't given again (decisions 2).
func TestWorkerOutlivesARestart(t *testing.T) {
	t.Parallel()
	p := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	s, err := redis.Open(t.Context(), redis.Options{Logger: quiet, URL: p.URL()})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	a := admission(newID())
	a.Claim = &thread.Claim{Worker: "w", Lease: time.Minute}
	admitted, err := s.AdmitRun(t.Context(), a)
	require.NoError(t, err)
	l := *admitted.Lease
	p.Stop()
	_, err = s.GetThread(t.Context(), l.ThreadID)
	require.ErrorIs(t, err, thread.ErrUnavailable)
	stored := make(chan error, 1)
	go func() {
		_, err := s.Commit(context.Background(), l, finish(superstep(l, 1)))
		stored <- err
	}()
	require.NoError(t, p.Restart())
	require.NoError(t, <-stored)
	before, err := s.GetThread(t.Context(), l.ThreadID)
	require.NoError(t, err)
	next, err := s.AdmitRun(t.Context(), thread.Admission{Run: admission(l.ThreadID).Run, Strategy: "reject", Claim: a.Claim})
	require.NoError(t, err)
	require.Equal(t, before.NextPos+skipped, next.Lease.NextPos)
	require.Equal(t, before.NextSeq+skipped, next.Lease.NextSeq)
}

// TestWorkDoesNotGoOnBehindAHole: where the server lacks some of what a run stored, its
// worker can't store the rest: that would stand on what isn't there.
func TestWorkDoesNotGoOnBehindAHole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := b.started(t)
	behind := superstep(l, 2)
	_, err := b.Commit(b.ctx, l, behind)
	require.ErrorIs(t, err, thread.ErrConflict)
	_, err = b.Commit(b.ctx, l, finish(behind))
	require.ErrorIs(t, err, thread.ErrConflict)
	require.ErrorIs(t, b.AppendLog(b.ctx, l, notes(l, l.NextPos+5, 1)), thread.ErrConflict)
	require.NoError(t, b.AppendLog(b.ctx, l, notes(l, l.NextPos, 10)))
	_, err = b.Commit(b.ctx, l, finish(behind))
	require.NoError(t, err)
}

// TestNumbersOfALostLeaseAreNotGivenAgain: after a restart or fail-over the server may
// know nothing of a lease whose owner has already told readers of events (decisions 2).
func TestNumbersOfALostLeaseAreNotGivenAgain(t *testing.T) {
	t.Parallel()
	p := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	s, err := redis.Open(t.Context(), redis.Options{Logger: quiet, URL: p.URL()})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	restart := func() {
		p.Stop()
		require.NoError(t, p.Restart())
	}
	_, err = s.AdmitRun(t.Context(), admission(newID()))
	require.NoError(t, err)
	restart() // as if a lease had been lost with the old server
	var leases []thread.Lease
	claim := func() {
		require.Eventually(t, func() bool {
			_, l, ok, err := s.ClaimRun(t.Context(), thread.Claim{Worker: "w", Lease: time.Millisecond})
			leases = append(leases, l)
			return err == nil && ok
		}, 30*time.Second, 5*time.Millisecond)
	}
	claim()
	first := leases[len(leases)-1]
	require.EqualValues(t, skipped, first.FrameBase)
	require.Greater(t, first.NextSeq, int64(skipped))
	require.Greater(t, first.NextPos, int64(skipped))
	restart()
	claim()
	second := leases[len(leases)-1]
	require.Greater(t, second.FrameBase, first.FrameReserved+skipped)
	require.Greater(t, second.NextSeq, first.SeqReserved+skipped)
	claim() // nothing was lost: the numbers that the last owner had reserved are enough
	third := leases[len(leases)-1]
	require.Equal(t, second.FrameReserved+1, third.FrameBase)
	require.Equal(t, second.SeqReserved+1, third.NextSeq)
}
