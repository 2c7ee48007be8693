package thread_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

func TestRunGoesFromInputToEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.thread()
	r := input(id, "echo", `{"note":"hi"}`)
	r.Metadata = thread.Metadata{"user": []byte(`"key"`)}

	run := b.run(r)

	require.Equal(t, thread.RunSuccess, run.Status)
	require.Equal(t, run.ID, run.ExecutionID)
	th := b.get(id)
	require.Equal(t, thread.Idle, th.Status)
	require.JSONEq(t, `"echo"`, string(th.Metadata["graph_id"]))
	require.JSONEq(t, `{"log":["said:false:hi"],"note":"hi","messages":[]}`, b.values(id))
	history := b.history(id)
	require.Len(t, history, 3, "input, __start__ and one superstep")
	require.JSONEq(t, `"key"`, string(history[0].Metadata["user"]))
	require.JSONEq(t, `"`+run.ID+`"`, string(history[0].Metadata["run_id"]))
}

// D-09
func TestEventsOfARunAreGaplessAndEndWithItsFinish(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.thread()
	run := b.run(input(id, "echo", `{"note":"hi"}`))
	again := b.run(input(id, "echo", `{"note":"again"}`))
	b.events.until(t, "both runs ended", func() bool { return b.events.hasEnded(run.ID) && b.events.hasEnded(again.ID) })
	seen := b.events.of(id)
	require.Equal(t, agent.RunStarted, seen[0].Event.Kind)
	require.Equal(t, agent.RunFinished, seen[len(seen)-1].Event.Kind)
	seq := int64(0)
	for i, e := range seen {
		require.Equal(t, int64(i+1), e.Pos)
		if e.Event.Kind.Numbered() {
			seq++
			require.Equal(t, seq, e.Seq)
		}
	}
	stored, err := b.store.ReadLog(context.Background(), id, 0, 1000)
	require.NoError(t, err)
	require.Len(t, stored, len(seen))
	for i, e := range stored {
		require.Equal(t, seen[i].Pos, e.Pos)
		require.Equal(t, seen[i].Seq, e.Seq)
		require.Equal(t, seen[i].RunID, e.RunID)
		require.Equal(t, seen[i].Event.Kind, e.Event.Kind)
	}
}

func TestStoredEventsGiveTheStatesThatWereSeen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.thread()
	b.run(input(id, "approve", `{"note":"n"}`))
	b.run(command(id, "approve", `{"resume":"yes","update":{"note":"changed"}}`))
	stored, err := b.store.ReadLog(context.Background(), id, 0, 1000)
	require.NoError(t, err)
	live := map[int64]string{}
	for _, e := range b.events.of(id) {
		if v, ok := e.Event.Payload.(*agent.ValuesNote); ok {
			live[e.Pos] = string(v.State.JSON())
		}
		if v, ok := e.Event.Payload.(agent.TaskStart); ok {
			live[e.Pos] = string(v.InputJSON())
		}
	}
	require.NotEmpty(t, live)
	for _, e := range stored {
		var got, checkpoint string
		switch v := e.Event.Payload.(type) {
		case *agent.ValuesNote:
			got, checkpoint = string(v.Inline), v.CheckpointID
		case agent.TaskStart:
			got, checkpoint = string(v.Input), v.CheckpointID
			if checkpoint != "" {
				require.Empty(t, v.Input, "the log doesn't grow with the state")
			}
		default:
			continue
		}
		if checkpoint != "" {
			s, err := b.svc.Materialize(context.Background(), id, e.Event.NS, checkpoint)
			require.NoError(t, err)
			got = string(s.JSON())
		}
		require.JSONEq(t, live[e.Pos], got)
	}
}

func TestFailedRunShowsItsErrorAndIsRetriedByNullInput(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.thread()
	run := b.run(input(id, "failing", `{"note":"ill"}`))
	require.Equal(t, thread.RunError, run.Status)
	require.JSONEq(t, `{"error":"CustomError","message":"Boo!"}`, string(run.Error))
	th := b.get(id)
	require.Equal(t, thread.Failed, th.Status)
	require.JSONEq(t, `{"error":"CustomError","message":"Boo!"}`, string(th.Error))
	require.Equal(t, []string{"boom"}, b.state(id).Next)

	_, _, _, err := b.svc.UpdateState(context.Background(), id, thread.StateUpdate{Values: []byte(`{"note":"well"}`), AsNode: "__start__"})
	require.NoError(t, err)
	require.Equal(t, thread.RunSuccess, b.run(thread.StartRun{ThreadID: id, AssistantID: "failing"}).Status)
	require.Equal(t, thread.Idle, b.get(id).Status)
}

func TestRunsOfOneThreadFollowEachOtherInOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.thread()
	var runs []thread.Run
	for i := range 10 {
		r := input(id, "echo", fmt.Sprintf(`{"note":"%d"}`, i))
		r.MultitaskStrategy = "enqueue"
		runs = append(runs, b.begin(r))
	}
	for _, run := range runs {
		require.Equal(t, thread.RunSuccess, b.wait(run).Status)
	}
	require.Contains(t, b.values(id), `["said:false:0","said:false:1","said:false:2","said:false:3","said:false:4","said:false:5","said:false:6","said:false:7","said:false:8","said:false:9"]`)
}

func TestUnknownAssistantGraphAndThreadAreNamed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	for kind, r := range map[string]thread.StartRun{
		"assistant": input(b.thread(), "nobody", `{}`),
		"thread":    input("00000000-0000-0000-0000-000000000001", "echo", `{}`),
	} {
		_, err := b.svc.StartRun(ctx, r)
		var missing *thread.NotFoundError
		require.ErrorAs(t, err, &missing)
		require.Equal(t, kind, missing.Kind)
		require.ErrorIs(t, err, thread.ErrNotFound)
	}
	a, err := b.svc.CreateAssistant(ctx, thread.Assistant{GraphID: "gone"}, false)
	require.NoError(t, err)
	_, err = b.svc.StartRun(ctx, input(b.thread(), a.ID, `{}`))
	var missing *thread.NotFoundError
	require.ErrorAs(t, err, &missing)
	require.Equal(t, "graph", missing.Kind)
}

func TestMissingThreadIsMadeWhenAskedFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := input("00000000-0000-0000-0000-00000000000a", "echo", `{"note":"x"}`)
	r.CreateThread = true
	r.ThreadMetadata = thread.Metadata{"owner": []byte(`"jo"`)}
	require.Equal(t, thread.RunSuccess, b.run(r).Status)
	require.JSONEq(t, `"jo"`, string(b.get(r.ThreadID).Metadata["owner"]))
}

// D-72
func TestForeignThreadIsAsGoodAsMissing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	th, err := b.svc.CreateThread(ctx, thread.CreateThread{Metadata: thread.Metadata{"owner": []byte(`"jo"`)}})
	require.NoError(t, err)
	r := input(th.ID, "echo", `{}`)
	r.Filter, r.CreateThread = thread.Filter{"owner": []byte(`"al"`)}, true
	_, err = b.svc.StartRun(ctx, r)
	require.ErrorIs(t, err, thread.ErrNotFound)
	r.Filter = thread.Filter{"owner": []byte(`"jo"`)}
	require.Equal(t, thread.RunSuccess, b.run(r).Status)
}

func TestStatelessRunLeavesNothingAndCannotAsk(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	run := b.run(input("", "echo", `{"note":"x"}`))
	require.Equal(t, thread.RunSuccess, run.Status)
	_, total, err := b.svc.SearchThreads(ctx, thread.ThreadQuery{}, nil)
	require.NoError(t, err)
	require.Zero(t, total, "temporary threads are hidden")

	asking := b.run(input("", "approve", `{}`))
	require.Equal(t, thread.RunError, asking.Status)
	require.Contains(t, string(asking.Error), "No checkpointer set")

	kept := input("", "approve", `{}`)
	kept.OnCompletion = "keep"
	run = b.run(kept)
	require.Equal(t, thread.RunSuccess, run.Status)
	require.Equal(t, thread.Interrupted, b.get(run.ThreadID).Status)
}

func TestTemporaryThreadIsRemovedAfterItsRun(t *testing.T) {
	t.Parallel()
	clock := newManualClock()
	b := setup(t, withClock(clock))
	run := b.run(input("", "echo", `{}`))
	b.svc.Sweep(context.Background())
	_, err := b.svc.GetRun(context.Background(), run.ThreadID, run.ID)
	require.NoError(t, err, "who follows the run may still read it")
	clock.advance(time.Minute)
	b.svc.Sweep(context.Background())
	_, err = b.svc.GetThread(context.Background(), run.ThreadID)
	require.ErrorIs(t, err, thread.ErrNotFound)
}

func TestDelayedRunStartsWhenItsTimeHasCome(t *testing.T) {
	t.Parallel()
	clock := newManualClock()
	b := setup(t, withClock(clock))
	id := b.thread()
	r := input(id, "echo", `{}`)
	r.AfterSeconds = 5
	run := b.begin(r)
	clock.advance(4 * time.Second)
	require.Equal(t, thread.RunPending, must(b.svc.GetRun(context.Background(), id, run.ID)).Status)
	require.Equal(t, thread.Busy, b.get(id).Status)
	clock.advance(time.Second)
	require.Equal(t, thread.RunSuccess, b.wait(run).Status)
}

func TestRecursionLimitEndsTheRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := input(b.thread(), "gated", `{}`)
	r.Config = []byte(`{"recursion_limit":1}`)
	run := b.run(r)
	require.Equal(t, thread.RunError, run.Status)
	require.Contains(t, string(run.Error), "GraphRecursionError")
}

func TestConfigurableGraphIsBuiltFromRequestAndThread(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.thread()
	r := input(id, "configured", `{}`)
	r.Config = []byte(`{"configurable":{"node_name":"mine"}}`)
	r.Context = []byte(`{"c":1}`)
	require.Equal(t, thread.RunSuccess, b.run(r).Status)
	require.Contains(t, b.values(id), `mine:{\"c\":1}`)
	// The thread kept the configuration, so that its state can be read and edited.
	_, _, _, err := b.svc.UpdateState(context.Background(), id, thread.StateUpdate{Values: []byte(`{"log":["edited"]}`), AsNode: "mine"})
	require.NoError(t, err)
}

func TestGraphThatCannotBeBuiltRefusesTheRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := input(b.thread(), "configured", `{}`)
	r.Config = []byte(`{"configurable":{"node_name":"broken"}}`)
	_, err := b.svc.StartRun(context.Background(), r)
	require.ErrorContains(t, err, "can't be built")
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.thread()
	run := b.begin(input(id, "gated", `{}`))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := b.svc.WaitRun(ctx, id, run.ID)
		done <- err
	}()
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	_, err := b.svc.WaitRun(context.Background(), id, "00000000-0000-0000-0000-000000000001")
	require.ErrorIs(t, err, thread.ErrNotFound)
}

func TestNoMoreRunsAtOnceThanWorkers(t *testing.T) {
	t.Parallel()
	b := setup(t, with(func(o *thread.Options) { o.Workers = 2 }))
	var runs []thread.Run
	for range 3 {
		runs = append(runs, b.begin(input(b.thread(), "gated", `{}`)))
	}
	<-b.world.arrived("gate:"+runs[0].ThreadID, 1)
	<-b.world.arrived("gate:"+runs[1].ThreadID, 1)
	require.Equal(t, thread.RunPending, must(b.svc.FindRun(context.Background(), runs[2].ID)).Status)
	b.world.open("gate:" + runs[0].ThreadID)
	<-b.world.arrived("gate:"+runs[2].ThreadID, 1)
	b.world.releaseAll()
	for _, run := range runs {
		require.Equal(t, thread.RunSuccess, b.wait(run).Status)
	}
}

// D-47
func TestLostReplyAndRetryGiveOneRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.thread()
	withIDs := input(id, "gated", `{"note":"n","messages":[{"type":"human","id":"m1","content":"hi"}]}`)
	withIDs.Principal = "jo"
	first := b.begin(withIDs)
	again, err := b.svc.StartRun(context.Background(), withIDs)
	require.NoError(t, err)
	require.True(t, again.Repeat)
	require.Equal(t, first.ID, again.Run.ID)
	other := withIDs
	other.Principal = "al"
	_, err = b.svc.StartRun(context.Background(), other)
	require.ErrorIs(t, err, thread.ErrBusy)
	b.world.open("gate:" + id)
	b.wait(first)
	anew, err := b.svc.StartRun(context.Background(), withIDs)
	require.NoError(t, err)
	require.False(t, anew.Repeat, "the same content after the first run's end is a new run")
}

func TestIdempotencyKeyGivesTheFirstRunForGood(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, id := range map[string]string{"thread": b.thread(), "stateless": ""} {
		r := input(id, "echo", `{"note":"x"}`)
		r.IdempotencyKey, r.Principal = "key-"+name, "jo"
		first := b.run(r)
		again, err := b.svc.StartRun(context.Background(), r)
		require.NoError(t, err, name)
		require.True(t, again.Repeat, name)
		require.Equal(t, first.ID, again.Run.ID, name)
		r.Principal = "al"
		other, err := b.svc.StartRun(context.Background(), r)
		require.NoError(t, err, name)
		require.False(t, other.Repeat, "keys belong to a principal")
		b.wait(other.Run)
	}
}

func TestStrategyThatNobodyKnowsIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := input(b.thread(), "echo", `{}`)
	r.MultitaskStrategy = "hope"
	_, err := b.svc.StartRun(context.Background(), r)
	var invalid *thread.InvalidInputError
	require.True(t, errors.As(err, &invalid))
	require.Equal(t, []string{"multitask_strategy"}, invalid.Path)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// granted counts the admissions that brought a lease along.
type granted struct {
	thread.Store
	leases, claims atomic.Int32
}

func (g *granted) AdmitRun(ctx context.Context, a thread.Admission) (thread.Admitted, error) {
	admitted, err := g.Store.AdmitRun(ctx, a)
	if admitted.Lease != nil {
		g.leases.Add(1)
	}
	return admitted, err
}

func (g *granted) ClaimRun(ctx context.Context, c thread.Claim) (thread.Run, thread.Lease, bool, error) {
	run, lease, ok, err := g.Store.ClaimRun(ctx, c)
	if ok {
		g.claims.Add(1)
	}
	return run, lease, ok, err
}

// decisions 5
func TestAdmissionAndClaimAreOneTransitionWhileAWorkerIsFree(t *testing.T) {
	t.Parallel()
	counting := func(workers int) (*bundle, *granted) {
		g := &granted{}
		return setup(t, with(func(o *thread.Options) { o.Workers = workers }), wrapping(func(s thread.Store) thread.Store {
			g.Store = s
			return g
		})), g
	}
	b, g := counting(8)
	id := b.thread()
	b.run(input(id, "approve", `{}`))
	b.run(resume(id, "approve", `"yes"`))
	require.EqualValues(t, 2, g.leases.Load())
	require.Zero(t, g.claims.Load())

	b, g = counting(1)
	one, two := b.begin(input(b.thread(), "gated", `{}`)), b.begin(input(b.thread(), "echo", `{}`))
	leased := g.leases.Load() // none where the worker still looks for what was there at the start
	require.LessOrEqual(t, leased, int32(1), "no worker is left for the second")
	b.world.open("gate:" + one.ThreadID)
	require.Equal(t, thread.RunSuccess, b.wait(one).Status)
	require.Equal(t, thread.RunSuccess, b.wait(two).Status)
	require.EqualValues(t, 2, leased+g.claims.Load())
}

func TestPanicOfANodeIsLoggedWithItsStackAndShownWithoutIt(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	g := agent.NewGraph[board]("panics").
		Node("n", func(agent.Context, board) (agent.Update, error) { panic("oops") }).
		Edge(agent.Start, "n").MustCompile()
	b := setup(t, with(func(o *thread.Options) {
		o.Logger, o.Agents = slog.New(slog.NewTextHandler(&log, nil)), []agent.Agent{g}
	}))
	run := b.run(input(b.thread(), "panics", `{}`))
	b.stop()
	require.JSONEq(t, `{"error":"Error","message":"panic in node \"n\": oops"}`, string(run.Error))
	require.Contains(t, log.String(), "run_test.go")
	require.Contains(t, log.String(), run.ID)
}
