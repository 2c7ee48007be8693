package thread_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// D-57
func TestCancelOfAQueuedRunIsDurable(t *testing.T) {
	t.Parallel()
	for _, action := range []string{thread.CancelInterrupt, thread.CancelRollback} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			b := setup(t, notStarted())
			id := b.thread()
			run := b.begin(input(id, "echo", `{}`))
			require.NoError(t, b.svc.CancelRun(context.Background(), id, run.ID, action))
			require.True(t, b.events.hasEnded(run.ID), "who waits for its stream is told")
			require.Equal(t, []string{run.ID + " run.started unbegun", run.ID + " run.finished"}, lives(b.events.of(id)), "and so are readers of the thread")
			require.Equal(t, lives(b.events.of(id)), lives(b.log(id)))
			b.start() // as after a restart
			after := b.run(input(b.thread(), "echo", `{}`))
			require.Equal(t, thread.RunSuccess, after.Status)
			require.Equal(t, 1, b.world.count("echo"), "the cancelled run never started")
			require.Equal(t, thread.Idle, b.get(id).Status)
			got, err := b.svc.GetRun(context.Background(), id, run.ID)
			if action == thread.CancelRollback {
				require.ErrorIs(t, err, thread.ErrNotFound)
				return
			}
			require.NoError(t, err)
			require.Equal(t, thread.RunInterrupted, got.Status)
		})
	}
}

// D-55
func TestCancelReachesARunningRunAtOnceAndNothingFollowsItsEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.thread()
	run := b.begin(input(id, "gated", `{"note":"x"}`))
	<-b.world.arrived("gate:"+id, 1)
	began := time.Now()

	require.NoError(t, b.svc.CancelRun(context.Background(), id, run.ID, thread.CancelInterrupt))
	ended := b.wait(run)

	require.Less(t, time.Since(began), time.Second)
	require.Equal(t, thread.RunInterrupted, ended.Status)
	require.Equal(t, thread.Idle, b.get(id).Status)
	b.world.open("gate:" + id)
	seen := b.events.of(id)
	require.Equal(t, agent.RunFinished, seen[len(seen)-1].Event.Kind)
	require.Equal(t, agent.RunFinish{GraphID: "gated", Status: "interrupted", Cancel: thread.CancelInterrupt}, seen[len(seen)-1].Event.Payload)
	state := b.state(id)
	require.Equal(t, []string{"second"}, state.Next)
	require.NotNil(t, state.Tasks[0].Error, "a task that was cut off carries an error")
	require.Equal(t, "CancelledError", state.Tasks[0].Error.Name)
	require.Contains(t, b.values(id), "first:x")
	require.NoError(t, b.svc.CancelRun(context.Background(), id, run.ID, thread.CancelInterrupt), "twice is harmless")
}

func TestRollbackOfARunningRunRestoresTheThread(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.thread()
	b.run(input(id, "echo", `{"note":"before"}`))
	before := b.history(id)
	run := b.begin(input(id, "gated", `{"note":"after"}`))
	<-b.world.arrived("gate:"+id, 1)

	require.NoError(t, b.svc.CancelRun(context.Background(), id, run.ID, thread.CancelRollback))
	_, err := b.svc.WaitRun(context.Background(), id, run.ID)

	require.ErrorIs(t, err, thread.ErrNotFound)
	require.Equal(t, thread.Idle, b.get(id).Status)
	after := b.history(id)
	require.Len(t, after, len(before))
	require.Equal(t, before[0].CheckpointID, after[0].CheckpointID)
	require.Equal(t, before[0].CheckpointID, b.get(id).Head)
	next := b.run(input(id, "echo", `{"note":"next"}`))
	require.Equal(t, thread.RunSuccess, next.Status)
	seq := int64(0)
	for _, e := range b.events.of(id) {
		if e.Event.Kind.Numbered() {
			require.Greater(t, e.Seq, seq, "no number is given twice")
			seq = e.Seq
		}
	}
}

func TestStrategiesForABusyThread(t *testing.T) {
	t.Parallel()
	busy := func(t *testing.T) (*bundle, string, thread.Run) {
		b := setup(t)
		id := b.thread()
		run := b.begin(input(id, "gated", `{"note":"one"}`))
		<-b.world.arrived("gate:"+id, 1)
		return b, id, run
	}
	second := func(id, strategy string) thread.StartRun {
		r := input(id, "echo", `{"note":"two"}`)
		r.MultitaskStrategy = strategy
		return r
	}
	t.Run("reject", func(t *testing.T) {
		t.Parallel()
		b, id, run := busy(t)
		_, err := b.svc.StartRun(context.Background(), second(id, "reject"))
		require.ErrorIs(t, err, thread.ErrBusy)
		b.world.open("gate:" + id)
		require.Equal(t, thread.RunSuccess, b.wait(run).Status)
	})
	t.Run("enqueue", func(t *testing.T) {
		t.Parallel()
		b, id, run := busy(t)
		queued := b.begin(second(id, "enqueue"))
		require.Equal(t, thread.RunPending, must(b.svc.GetRun(context.Background(), id, queued.ID)).Status)
		b.world.open("gate:" + id)
		require.Equal(t, thread.RunSuccess, b.wait(run).Status)
		require.Equal(t, thread.RunSuccess, b.wait(queued).Status)
		require.Contains(t, b.values(id), `["first:one","second:one","third:one","said:false:two"]`)
	})
	t.Run("interrupt", func(t *testing.T) {
		t.Parallel()
		b, id, run := busy(t)
		waiting := b.begin(second(id, "enqueue"))
		newest := b.begin(second(id, "interrupt"))
		require.Equal(t, thread.RunInterrupted, b.wait(run).Status)
		require.Equal(t, thread.RunInterrupted, b.wait(waiting).Status)
		require.Equal(t, thread.RunSuccess, b.wait(newest).Status)
		require.Contains(t, b.values(id), `["first:one","said:false:two"]`, "finished supersteps stay")
		want := []string{run.ID + " run.started", run.ID + " run.finished",
			waiting.ID + " run.started unbegun", waiting.ID + " run.finished", newest.ID + " run.started", newest.ID + " run.finished"}
		require.Equal(t, want, lives(b.log(id)))
		b.tells(id, want)
	})
	t.Run("rollback", func(t *testing.T) {
		t.Parallel()
		b, id, run := busy(t)
		waiting := b.begin(second(id, "enqueue"))
		newest := b.begin(second(id, "rollback"))
		require.Equal(t, thread.RunSuccess, b.wait(newest).Status)
		for _, gone := range []thread.Run{run, waiting} {
			_, err := b.svc.GetRun(context.Background(), id, gone.ID)
			require.ErrorIs(t, err, thread.ErrNotFound)
		}
		want := []string{run.ID + " run.finished", waiting.ID + " run.started unbegun", waiting.ID + " run.finished",
			newest.ID + " run.started", newest.ID + " run.finished"}
		require.Equal(t, want, lives(b.log(id)), "of what is rolled back only the end stays")
		b.tells(id, append(want, run.ID+" run.started"))
		require.Contains(t, b.values(id), `["said:false:two"]`)
		require.Len(t, b.history(id), 3)
	})
}

func TestCancelOfUnknownRunAndActionIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.thread()
	err := b.svc.CancelRun(context.Background(), id, "00000000-0000-0000-0000-000000000001", thread.CancelInterrupt)
	require.ErrorIs(t, err, thread.ErrNotFound)
	run := b.run(input(id, "echo", `{}`))
	require.NoError(t, b.svc.CancelRun(context.Background(), id, run.ID, thread.CancelInterrupt), "a finished run is left alone")
	require.Equal(t, thread.RunSuccess, must(b.svc.GetRun(context.Background(), id, run.ID)).Status)
	var invalid *thread.InvalidInputError
	require.ErrorAs(t, b.svc.CancelRun(context.Background(), id, run.ID, "explode"), &invalid)
}

func TestDeletedThreadEndsItsRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.thread()
	run := b.begin(input(id, "gated", `{}`))
	<-b.world.arrived("gate:"+id, 1)
	require.NoError(t, b.svc.DeleteThread(context.Background(), id))
	_, err := b.svc.WaitRun(context.Background(), id, run.ID)
	require.ErrorIs(t, err, thread.ErrNotFound)
	_, err = b.svc.GetThread(context.Background(), id)
	require.ErrorIs(t, err, thread.ErrNotFound)
	require.ErrorIs(t, b.svc.DeleteThread(context.Background(), id), thread.ErrNotFound)
}

func TestDeletedRunTakesItsCheckpointsAlong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.thread()
	b.run(input(id, "echo", `{"note":"one"}`))
	two := b.run(input(id, "echo", `{"note":"two"}`))
	require.NoError(t, b.svc.DeleteRun(context.Background(), id, two.ID))
	require.Len(t, b.history(id), 3)
	require.Contains(t, b.values(id), `["said:false:one"]`)
}

// tells waits until readers have been told of these beginnings and ends.
func (b *bundle) tells(threadID string, want []string) {
	b.t.Helper()
	slices.Sort(want)
	require.Eventually(b.t, func() bool { return slices.Equal(want, slices.Sorted(slices.Values(lives(b.events.of(threadID))))) }, 10*time.Second, time.Millisecond)
}

// log is all that the store has of a thread's log.
func (b *bundle) log(threadID string) []thread.Entry {
	return must(b.store.ReadLog(context.Background(), threadID, 0, 1<<20))
}

// lives lists the beginnings and ends of runs. M-19
func lives(entries []thread.Entry) (list []string) {
	for _, e := range entries {
		switch v := e.Event.Payload.(type) {
		case agent.RunStart:
			line := e.RunID + " " + string(e.Event.Kind)
			if v.Unbegun {
				line += " unbegun"
			}
			list = append(list, line)
		case agent.RunFinish:
			list = append(list, e.RunID+" "+string(e.Event.Kind))
		}
	}
	return list
}
