package thread_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// mortal is a store that a test can cut off, as if the process behind it were gone.
type mortal struct {
	thread.Store
	dead atomic.Bool
}

var errDead = errors.New("the process is gone")

func (m *mortal) Commit(ctx context.Context, l thread.Lease, c thread.Commit) ([]thread.Entry, error) {
	if m.dead.Load() {
		return nil, errDead
	}
	return m.Store.Commit(ctx, l, c)
}

func (m *mortal) AppendLog(ctx context.Context, l thread.Lease, e []thread.Entry) error {
	if m.dead.Load() {
		return errDead
	}
	return m.Store.AppendLog(ctx, l, e)
}

func (m *mortal) Rollback(ctx context.Context, l thread.Lease, last []thread.Entry) ([]thread.Entry, error) {
	if m.dead.Load() {
		return nil, errDead
	}
	return m.Store.Rollback(ctx, l, last)
}

func (m *mortal) Renew(ctx context.Context, l thread.Lease, d time.Duration) (time.Time, string, error) {
	if m.dead.Load() {
		return time.Time{}, "", errDead
	}
	return m.Store.Renew(ctx, l, d)
}

func (m *mortal) ClaimRun(ctx context.Context, c thread.Claim) (thread.Run, thread.Lease, bool, error) {
	if m.dead.Load() {
		return thread.Run{}, thread.Lease{}, false, nil
	}
	return m.Store.ClaimRun(ctx, c)
}

// twoWorkers are two services on one store; the first can die.
func twoWorkers(t *testing.T) (first, second *bundle, kill func()) {
	clock := newManualClock()
	var m *mortal
	first = setup(t, withClock(clock), wrapping(func(s thread.Store) thread.Store {
		m = &mortal{Store: s}
		return m
	}))
	return first, setup(t, sharing(first), notStarted()), func() { m.dead.Store(true) }
}

func TestDeadWorkersRunIsFinishedByAnotherWithoutDoingWorkTwice(t *testing.T) {
	t.Parallel()
	first, second, kill := twoWorkers(t)
	id := first.thread()
	run := first.begin(input(id, "gated", `{"note":"x"}`))
	<-first.world.arrived("gate:"+id, 1)
	first.events.until(t, "the token before the gate", func() bool { return first.events.count(id, agent.CustomWritten) == 1 })
	// What the first worker's step has recorded is stored before it dies.
	kill()
	second.start()
	first.clock.advance(11 * time.Second) // the lease runs out
	<-first.world.arrived("gate:"+id, 2)
	first.world.open("gate:" + id)
	ended := second.wait(run)

	require.Equal(t, thread.RunSuccess, ended.Status)
	require.Equal(t, 2, ended.Attempt)
	require.Contains(t, second.values(id), `"log":["first:x","second:x","third:x"]`)
	require.Equal(t, 1, second.world.count("first:"+id), "a finished superstep isn't repeated")
	require.Equal(t, 1, second.world.count("once:"+run.ID), "a journaled step isn't repeated")
	require.Equal(t, 1, second.world.count("third:"+id))
	unbroken(t, second.history(id), 5)

	taken := second.events.of(id)
	start := taken[0].Event.Payload.(agent.RunStart)
	require.Equal(t, 2, start.Attempt)
	require.Positive(t, start.FrameBase)
	delivered := first.events.of(id)
	require.Greater(t, taken[0].Seq, delivered[len(delivered)-1].Seq, "numbers lie behind what the dead worker may have delivered")
}

// unbroken checks that a history is one line of n checkpoints.
func unbroken(t *testing.T, history []*agent.Snapshot, n int) {
	t.Helper()
	require.Len(t, history, n)
	for i, s := range history {
		parent := ""
		if i+1 < len(history) {
			parent = history[i+1].CheckpointID
		}
		require.Equal(t, parent, s.ParentID)
	}
}

func TestFencedWorkerCannotWriteAnyMore(t *testing.T) {
	t.Parallel()
	first, second, kill := twoWorkers(t)
	id := first.thread()
	run := first.begin(input(id, "gated", `{"note":"x"}`))
	<-first.world.arrived("gate:"+id, 1)
	kill()
	second.start()
	first.clock.advance(11 * time.Second)
	<-first.world.arrived("gate:"+id, 2)
	_, err := second.svc.GetRun(context.Background(), id, run.ID)
	require.NoError(t, err)
	_, err = first.store.Commit(context.Background(), thread.Lease{ThreadID: id, RunID: run.ID, Token: 1}, thread.Commit{ID: "late/1"})
	require.ErrorIs(t, err, thread.ErrFenced)
	first.world.open("gate:" + id)
	require.Equal(t, thread.RunSuccess, second.wait(run).Status)
}

// D-58
func TestCancelThatADeadWorkerMissedIsSeenByTheNext(t *testing.T) {
	t.Parallel()
	for _, action := range []string{thread.CancelInterrupt, thread.CancelRollback} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			first, second, kill := twoWorkers(t)
			id := first.thread()
			run := first.begin(input(id, "gated", `{"note":"x"}`))
			<-first.world.arrived("gate:"+id, 1)
			kill()
			require.NoError(t, second.svc.CancelRun(context.Background(), id, run.ID, action))
			second.start()
			first.clock.advance(11 * time.Second)
			second.events.until(t, "the cancelled run's end", func() bool { return second.events.hasEnded(run.ID) })
			require.Equal(t, thread.Idle, second.get(id).Status)
			ended, err := second.svc.GetRun(context.Background(), id, run.ID)
			if action == thread.CancelRollback {
				require.ErrorIs(t, err, thread.ErrNotFound)
				require.Empty(t, second.history(id))
				return
			}
			require.NoError(t, err)
			require.Equal(t, thread.RunInterrupted, ended.Status)
			require.Zero(t, second.world.count("third:"+id))
		})
	}
}

func TestRunWhoseWorkersDieAgainAndAgainFails(t *testing.T) {
	t.Parallel()
	clock := newManualClock()
	b := setup(t, withClock(clock), notStarted())
	id := b.thread()
	run := b.begin(input(id, "gated", `{}`))
	for range 3 {
		_, _, ok, err := b.store.ClaimRun(context.Background(), thread.Claim{Worker: "doomed", Lease: time.Second, MaxAttempts: 10})
		require.NoError(t, err)
		require.True(t, ok)
		clock.advance(2 * time.Second)
	}
	b.start()
	ended := b.wait(run)
	require.Equal(t, thread.RunError, ended.Status)
	require.Contains(t, string(ended.Error), "attempts")
	require.Equal(t, thread.Failed, b.get(id).Status)
	require.Equal(t, 1, b.events.count(id, agent.RunFinished), "its readers are told")
}

func TestStopLetsTheSuperstepFinishAndAnotherServiceGoesOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.thread()
	run := b.begin(input(id, "gated", `{"note":"x"}`))
	<-b.world.arrived("gate:"+id, 1)
	stopped := make(chan error, 1)
	go func() { stopped <- b.svc.Stop(context.Background()) }()
	require.Eventually(t, b.svc.Draining, patience, time.Millisecond)
	b.world.open("gate:" + id)
	require.NoError(t, <-stopped)
	require.Equal(t, thread.RunRunning, must(b.svc.GetRun(context.Background(), id, run.ID)).Status)
	require.Contains(t, b.values(id), `"second:x"`, "the superstep under way was finished")
	require.NotContains(t, b.values(id), `"third:x"`)

	next := setup(t, sharing(b))
	require.Equal(t, thread.RunSuccess, next.wait(run).Status)
	require.Contains(t, next.values(id), `"log":["first:x","second:x","third:x"]`)
	require.Equal(t, 1, b.world.count("first:"+id))
	unbroken(t, next.history(id), 5)
}

func TestStopCutsOffAtItsDeadlineAndGivesTheRunBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.thread()
	run := b.begin(input(id, "gated", `{"note":"x"}`))
	<-b.world.arrived("gate:"+id, 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, b.svc.Stop(ctx))
	require.False(t, must(b.svc.GetRun(context.Background(), id, run.ID)).Status.Ended())

	next := setup(t, sharing(b))
	<-b.world.arrived("gate:"+id, 2)
	b.world.open("gate:" + id)
	require.Equal(t, thread.RunSuccess, next.wait(run).Status)
	require.Equal(t, 1, b.world.count("once:"+run.ID))
	unbroken(t, next.history(id), 5)
}

// D-22
func TestQuestionIsAnsweredAfterARestart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, first := b.suspend("approve")
	b.stop()
	next := setup(t, sharing(b))
	require.Len(t, next.state(id).Tasks[0].Interrupts, 1)
	run := next.run(resume(id, "approve", `"yes"`))
	require.Equal(t, thread.RunSuccess, run.Status)
	require.Equal(t, first.ID, run.ExecutionID)
	require.Equal(t, 1, b.world.count("look:"+id))
}

func TestServiceCanBeStoppedTwiceAndStartedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.stop()
	require.NoError(t, b.svc.Stop(context.Background()))
	run := b.begin(input(b.thread(), "echo", `{}`))
	require.NoError(t, b.svc.Start(context.Background()))
	require.NoError(t, b.svc.Start(context.Background()))
	require.Equal(t, thread.RunSuccess, b.wait(run).Status)
}
