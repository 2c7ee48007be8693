package redis_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	rds "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/redis"
	"github.com/parley-dev/parley/thread/redis/redistest"
)

// masters are a master and its replica, which is promoted without the master being told:
// then both take what comes, as during a fail-over.
type masters struct {
	deposed, present *redistest.Server
	there, here      *rds.Client
}

func startMasters(t *testing.T, args ...string) *masters {
	m := &masters{deposed: redistest.Start(t, append(args, "--repl-diskless-sync-delay", "0")...)}
	_, port, err := net.SplitHostPort(m.deposed.Addr())
	require.NoError(t, err)
	m.present = redistest.Start(t, append(args, "--replicaof", "127.0.0.1", port)...)
	m.there = rds.NewClient(&rds.Options{Addr: m.deposed.Addr(), DisableIdentity: true})
	m.here = rds.NewClient(&rds.Options{Addr: m.present.Addr(), DisableIdentity: true})
	t.Cleanup(func() {
		require.NoError(t, m.there.Close())
		require.NoError(t, m.here.Close())
	})
	require.Eventually(t, func() bool {
		link, err := m.here.Info(t.Context(), "replication").Result()
		return err == nil && strings.Contains(link, "master_link_status:up")
	}, time.Minute, 10*time.Millisecond)
	return m
}

// promote waits until the replica has all that was stored so far, and makes it a master.
func (m *masters) promote(t *testing.T) {
	require.NoError(t, m.there.Set(t.Context(), "mark", 1, 0).Err())
	require.Eventually(t, func() bool { return m.here.Exists(t.Context(), "mark").Val() == 1 }, time.Minute, 5*time.Millisecond)
	require.NoError(t, m.here.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
}

func openOn(t *testing.T, p *redistest.Server) *redis.Store {
	s, err := redis.Open(t.Context(), redis.Options{Logger: quiet, URL: p.URL()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// fork returns the stores of two masters, of which the second has what prepare did at the first.
func fork(t *testing.T, prepare func(s *redis.Store)) (deposed, present *redis.Store) {
	m := startMasters(t)
	deposed = openOn(t, m.deposed)
	prepare(deposed)
	m.promote(t)
	return deposed, openOn(t, m.present)
}

// leased claims a run once it can be claimed.
func leased(t *testing.T, s *redis.Store, runID string) (l thread.Lease) {
	t.Helper()
	require.Eventually(t, func() bool {
		var ok bool
		var err error
		_, l, ok, err = s.ClaimRun(t.Context(), thread.Claim{Worker: "w", Lease: time.Millisecond, RunID: runID})
		return err == nil && ok
	}, time.Minute, 2*time.Millisecond)
	return l
}

// requireFenced checks that a store takes nothing from the owner of a lease.
func requireFenced(t *testing.T, s *redis.Store, l thread.Lease) {
	t.Helper()
	_, err := s.Commit(t.Context(), l, superstep(l, 1))
	require.ErrorIs(t, err, thread.ErrFenced)
	_, err = s.Commit(t.Context(), l, finish(superstep(l, 1)))
	require.ErrorIs(t, err, thread.ErrFenced)
	require.ErrorIs(t, s.AppendLog(t.Context(), l, notes(l, l.NextPos, 1)), thread.ErrFenced)
	_, _, err = s.Renew(t.Context(), l, time.Minute)
	require.ErrorIs(t, err, thread.ErrFenced)
	_, err = s.ReserveNumbers(t.Context(), l, 1)
	require.ErrorIs(t, err, thread.ErrFenced)
	require.ErrorIs(t, s.ReleaseRun(t.Context(), l), thread.ErrFenced)
	_, err = s.Rollback(t.Context(), l, notes(l, l.NextPos, 1))
	require.ErrorIs(t, err, thread.ErrFenced)
}

// requireApart checks that two leases have no number in common.
func requireApart(t *testing.T, a, b thread.Lease) {
	t.Helper()
	for what, r := range map[string][4]int64{
		"positions": {a.NextPos, a.PosReserved, b.NextPos, b.PosReserved},
		"seqs":      {a.NextSeq, a.SeqReserved, b.NextSeq, b.SeqReserved},
		"frames":    {a.FrameBase, a.FrameReserved, b.FrameBase, b.FrameReserved},
	} {
		require.True(t, r[1] < r[2] || r[3] < r[0], "%s %v", what, r)
	}
}

// TestTwoMastersLeaseApart: a master that was deposed without knowing it and the new one may
// both lease a run. Neither takes anything from the other's owner, and readers are
// never told two things under one number.
func TestTwoMastersLeaseApart(t *testing.T) {
	t.Parallel()
	t.Run("a run whose lease ran out", func(t *testing.T) {
		t.Parallel()
		a := admission(newID())
		deposed, present := fork(t, func(s *redis.Store) {
			_, err := s.AdmitRun(t.Context(), a)
			require.NoError(t, err)
			leased(t, s, a.Run.ID)
		})
		here := leased(t, present, a.Run.ID)
		for range 2 {
			there := leased(t, deposed, a.Run.ID)
			requireFenced(t, present, there)
			requireFenced(t, deposed, here)
			requireApart(t, there, here)
		}
	})
	t.Run("a run that nobody had begun", func(t *testing.T) {
		t.Parallel()
		a := admission(newID())
		deposed, present := fork(t, func(s *redis.Store) {
			_, err := s.AdmitRun(t.Context(), a)
			require.NoError(t, err)
		})
		there, here := leased(t, deposed, a.Run.ID), leased(t, present, a.Run.ID)
		requireFenced(t, present, there)
		requireFenced(t, deposed, here)
		requireApart(t, there, here)
	})
	t.Run("a run that another one waits behind", func(t *testing.T) {
		t.Parallel()
		a := admission(newID())
		deposed, present := fork(t, func(s *redis.Store) {
			_, err := s.AdmitRun(t.Context(), a)
			require.NoError(t, err)
		})
		_, err := present.AdmitRun(t.Context(), admission(a.Run.ThreadID)) // takes numbers behind those that may be lost, the first one is still to
		require.NoError(t, err)
		requireApart(t, leased(t, deposed, a.Run.ID), leased(t, present, a.Run.ID))
	})
	t.Run("a run that its owner gives back at the new one", func(t *testing.T) {
		t.Parallel()
		a := admission(newID())
		var held thread.Lease
		deposed, present := fork(t, func(s *redis.Store) {
			_, err := s.AdmitRun(t.Context(), a)
			require.NoError(t, err)
			held = leased(t, s, a.Run.ID)
		})
		there := leased(t, deposed, a.Run.ID)
		require.NoError(t, present.ReleaseRun(t.Context(), held))
		requireFenced(t, present, there)
		here := leased(t, present, a.Run.ID)
		requireFenced(t, present, there)
		requireFenced(t, deposed, here)
		requireApart(t, there, here)
	})
	t.Run("runs of a thread that was empty", func(t *testing.T) {
		t.Parallel()
		id := newID()
		deposed, present := fork(t, func(s *redis.Store) {
			require.NoError(t, s.CreateThread(t.Context(), thread.Thread{ID: id}))
		})
		begin := func(s *redis.Store) thread.Lease {
			a := admission(id)
			a.Claim = &thread.Claim{Worker: "w", Lease: time.Minute}
			admitted, err := s.AdmitRun(t.Context(), a)
			require.NoError(t, err)
			return *admitted.Lease
		}
		there, here := begin(deposed), begin(present)
		requireFenced(t, present, there)
		requireFenced(t, deposed, here)
		here.FrameBase, here.FrameReserved = there.FrameReserved+1, there.FrameReserved+1 // frames are counted by run
		requireApart(t, there, here)
	})
}

// TestDeposedMasterLeasesNothing: with durability replicated no run is begun, taken over or given up at a
// master that has no replica any more.
func TestDeposedMasterLeasesNothing(t *testing.T) {
	t.Parallel()
	m := startMasters(t, "--appendonly", "yes", "--appendfsync", "always")
	deposed, err := redis.Open(t.Context(), redis.Options{Logger: quiet, URL: m.deposed.URL(), Durability: redis.Replicated, ConfirmWithin: 200 * time.Millisecond})
	require.NoError(t, err)
	defer func() { require.NoError(t, deposed.Close()) }()
	begun, waiting := admission(newID()), admission(newID())
	for _, a := range []thread.Admission{begun, waiting} {
		_, err = deposed.AdmitRun(t.Context(), a)
		require.NoError(t, err)
	}
	held := leased(t, deposed, begun.Run.ID)
	m.promote(t)
	for what, c := range []thread.Claim{
		{RunID: begun.Run.ID, Lease: time.Minute, MaxAttempts: 1}, // it would be given up
		{RunID: begun.Run.ID, Lease: time.Minute},
		{RunID: waiting.Run.ID, Lease: time.Minute},
	} {
		for range 2 { // it is given back each time
			_, _, ok, err := deposed.ClaimRun(t.Context(), c)
			require.ErrorIs(t, err, thread.ErrUnconfirmed, what)
			require.False(t, ok)
		}
	}
	run, err := deposed.GetRun(t.Context(), begun.Run.ThreadID, begun.Run.ID)
	require.NoError(t, err)
	require.Equal(t, thread.RunRunning, run.Status)
	present := openOn(t, m.present)
	require.NoError(t, present.AppendLog(t.Context(), held, notes(held, held.NextPos, 1)), "its owner goes on")
	leased(t, present, waiting.Run.ID)
}

// TestTwoMastersTellApart: nor what one tells of a run that ends without an owner.
func TestTwoMastersTellApart(t *testing.T) {
	t.Parallel()
	for name, tell := range map[string]func(t *testing.T, s *redis.Store, threadID, runID string) []thread.Entry{
		"cancelled": func(t *testing.T, s *redis.Store, threadID, runID string) []thread.Entry {
			_, told, err := s.RequestCancel(t.Context(), threadID, runID, "interrupt", time.Now())
			require.NoError(t, err)
			return told
		},
		"deleted": func(t *testing.T, s *redis.Store, threadID, runID string) []thread.Entry {
			told, err := s.DeleteRun(t.Context(), threadID, runID)
			require.NoError(t, err)
			return told
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := admission(newID())
			deposed, present := fork(t, func(s *redis.Store) {
				_, err := s.AdmitRun(t.Context(), a)
				require.NoError(t, err)
			})
			there := leased(t, deposed, a.Run.ID)
			told := tell(t, present, a.Run.ThreadID, a.Run.ID)
			require.NotEmpty(t, told)
			require.Greater(t, told[0].Pos, there.PosReserved)
			require.Greater(t, told[0].Seq, there.SeqReserved)
		})
	}
}

// TestLeaseOfADeletedThreadIsNoneOfTheNextOfItsID: its owner, who hasn't heard of it, writes nothing there.
func TestLeaseOfADeletedThreadIsNoneOfTheNextOfItsID(t *testing.T) {
	t.Parallel()
	b := setup(t)
	old := b.started(t)
	require.NoError(t, b.DeleteThread(b.ctx, old.ThreadID))
	a := admission(old.ThreadID)
	a.Claim = &thread.Claim{Worker: "w", Lease: time.Minute}
	_, err := b.AdmitRun(b.ctx, a)
	require.NoError(t, err)
	requireFenced(t, b.Store, old)
}

// TestWhatAnotherMasterHasIsMissedHere: an owner whose first superstep went to a master that was
// deposed stores nothing more at the new one, neither behind a hole in the log nor, without
// one, on a checkpoint that isn't there; the run is taken over from what is stored.
func TestWhatAnotherMasterHasIsMissedHere(t *testing.T) {
	t.Parallel()
	a := admission(newID())
	var l thread.Lease
	var first thread.Commit
	deposed, present := fork(t, func(s *redis.Store) {
		_, err := s.AdmitRun(t.Context(), a)
		require.NoError(t, err)
		l = leased(t, s, a.Run.ID)
		first = superstep(l, 1)
		_, err = s.Commit(t.Context(), l, first)
		require.NoError(t, err)
	})
	lost, rest := superstep(l, 2), superstep(l, 3)
	lost.Checkpoints[0].ParentID = first.Checkpoints[0].ID
	rest.Checkpoints[0].ParentID = lost.Checkpoints[0].ID
	silent := rest
	silent.Entries = nil
	_, err := deposed.Commit(t.Context(), l, lost)
	require.NoError(t, err)
	for _, c := range []thread.Commit{rest, silent, finish(rest), finish(silent)} {
		_, err = present.Commit(t.Context(), l, c)
		require.ErrorIs(t, err, thread.ErrConflict)
		require.ErrorContains(t, err, "is lost")
	}
	require.ErrorIs(t, present.AppendLog(t.Context(), l, rest.Entries), thread.ErrConflict)
	head, err := present.Checkpoint(t.Context(), l.ThreadID, "", "")
	require.NoError(t, err)
	require.Equal(t, first.Checkpoints[0].ID, head.Record.ID)
	entries, err := present.ReadLog(t.Context(), l.ThreadID, 0, 0)
	require.NoError(t, err)
	require.Equal(t, first.Entries, entries)

	next := leased(t, present, a.Run.ID)
	requireApart(t, l, next)
	requireFenced(t, present, l)
	again, silent := superstep(next, 1), superstep(next, 2)
	again.Checkpoints[0].ParentID, silent.Checkpoints[0].ParentID = first.Checkpoints[0].ID, again.Checkpoints[0].ID
	silent.Entries = nil
	for _, c := range []thread.Commit{again, silent} {
		_, err = present.Commit(t.Context(), next, c)
		require.NoError(t, err)
	}
}

// TestRunIsTakenUpFromWhatTheNewMasterHas: a worker whose commands went to a deposed master for a
// while stops where they reach the new one, and the run goes on from what that has.
func TestRunIsTakenUpFromWhatTheNewMasterHas(t *testing.T) {
	t.Parallel()
	m := startMasters(t)
	type state struct {
		Log []string `json:"log" agent:"append"`
	}
	arrived, opened := map[string]chan struct{}{}, map[string]chan struct{}{}
	node := func(name string) func(agent.Context, state) (agent.Update, error) {
		came, open := make(chan struct{}, 100), make(chan struct{})
		arrived[name], opened[name] = came, open
		return func(ctx agent.Context, _ state) (agent.Update, error) {
			came <- struct{}{}
			select {
			case <-open:
				return agent.Set("log", []string{name}), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	graph := agent.NewGraph[state]("work").Node("one", node("one")).Node("two", node("two")).Node("three", node("three")).
		Edge(agent.Start, "one").Edge("one", "two").Edge("two", "three").Edge("three", agent.End)

	var failedOver atomic.Bool
	store, err := redis.Open(t.Context(), redis.Options{Logger: quiet, URL: m.deposed.URL(), Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if failedOver.Load() {
			addr = m.present.Addr()
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	s, err := thread.NewService(thread.Options{Store: store, Agents: []agent.Agent{graph}, Logger: quiet, Lease: 3 * time.Second, MaxAttempts: 100})
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context()))
	defer func() { require.NoError(t, s.Stop(context.WithoutCancel(t.Context()))) }()
	th, err := s.CreateThread(t.Context(), thread.CreateThread{})
	require.NoError(t, err)
	started, err := s.StartRun(t.Context(), thread.StartRun{ThreadID: th.ID, AssistantID: "work", Input: raw("{}"), HasInput: true})
	require.NoError(t, err)
	<-arrived["one"]
	m.promote(t)
	close(opened["one"])
	<-arrived["two"] // the first superstep is at the deposed one
	failedOver.Store(true)
	require.NoError(t, m.there.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err())
	close(opened["two"])
	close(opened["three"])

	present := openOn(t, m.present)
	var run thread.Run
	require.Eventually(t, func() bool {
		run, err = present.GetRun(t.Context(), th.ID, started.Run.ID)
		return err == nil && run.Status.Ended()
	}, 2*time.Minute, 20*time.Millisecond)
	require.Equal(t, thread.RunSuccess, run.Status)
	require.Greater(t, run.Attempt, 1)
	list, err := present.ListCheckpoints(t.Context(), th.ID, "", agent.CheckpointQuery{Limit: 100})
	require.NoError(t, err)
	for i, c := range list {
		parent := ""
		if i+1 < len(list) {
			parent = list[i+1].Record.ID
		}
		require.Equal(t, parent, c.Record.ParentID)
	}
	after, err := s.State(t.Context(), th.ID, thread.StateQuery{})
	require.NoError(t, err)
	value, ok := after.State.Value("log")
	require.True(t, ok)
	require.JSONEq(t, `["one","two","three"]`, string(value.JSON))
	entries, err := present.ReadLog(t.Context(), th.ID, 0, 0)
	require.NoError(t, err)
	for i, en := range entries[1:] {
		require.True(t, en.Pos == entries[i].Pos+1 || en.Event.Kind == agent.RunStarted, "%d behind %d", en.Pos, entries[i].Pos)
	}
}

// TestRunThatMayHaveBegunElsewhereSaysSo: a first attempt tells readers, too, which numbers of its frames a
// deposed master may have given.
func TestRunThatMayHaveBegunElsewhereSaysSo(t *testing.T) {
	t.Parallel()
	type state struct {
		Done bool `json:"done"`
	}
	graph := agent.NewGraph[state]("g").Node("one", func(agent.Context, state) (agent.Update, error) { return agent.Set("done", true), nil }).
		Edge(agent.Start, "one").Edge("one", agent.End)
	a := admission(newID())
	_, present := fork(t, func(s *redis.Store) {
		_, err := s.AdmitRun(t.Context(), a)
		require.NoError(t, err)
	})
	s, err := thread.NewService(thread.Options{Store: present, Agents: []agent.Agent{graph}, Logger: quiet})
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context()))
	defer func() { require.NoError(t, s.Stop(context.WithoutCancel(t.Context()))) }()
	var entries []thread.Entry
	require.Eventually(t, func() bool {
		entries, err = present.ReadRunLog(t.Context(), a.Run.ThreadID, a.Run.ID, 0, 1)
		return err == nil && len(entries) > 0
	}, time.Minute, 5*time.Millisecond)
	start := entries[0].Event.Payload.(agent.RunStart)
	require.Equal(t, 1, start.Attempt)
	require.EqualValues(t, skipped, start.FrameBase)
}
