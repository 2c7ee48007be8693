package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/message"
)

func TestConflictingWritesDoNotPoisonTheThread(t *testing.T) { // spec/runtime.md 1.13; 9, no. 5
	t.Parallel()
	write := func(v string) func(agent.Context, xy) (agent.Update, error) {
		return func(agent.Context, xy) (agent.Update, error) { return agent.Set("y", v), nil }
	}
	build := func(second string) *agent.Graph {
		key := "y"
		if second == "" {
			key = "x"
		}
		return agent.NewGraph[xy]("conflict").
			Node("a", write("a")).
			Node("b", func(agent.Context, xy) (agent.Update, error) {
				if key == "x" {
					return x("b"), nil
				}
				return agent.Set("y", second), nil
			}).
			Edge(agent.Start, "a").Edge(agent.Start, "b").MustCompile()
	}
	th := agenttest.New(build("b"))
	res, err := th.Run(t.Context(), x("i"))
	require.NoError(t, err)
	require.Equal(t, "error", res.Status)
	require.Equal(t, "InvalidUpdateError", res.Err.Name)
	require.Contains(t, res.Err.Message, `"y"`)
	require.JSONEq(t, `["i"]`, string(valueOf(t, th, "x")), "the thread can be read")
	s, err := th.State(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, s.Next, "both count as failed")

	th.SetGraph(build("")) // the code is fixed
	res, err = th.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	require.JSONEq(t, `{"x":["i","b"],"y":"a"}`, stateOf(t, th, ""))

	th = agenttest.New(build("b"))
	_, err = th.Run(t.Context(), x("i"))
	require.NoError(t, err)
	res, err = th.Run(t.Context(), x("new")) // new input gets through, too
	require.NoError(t, err)
	require.Equal(t, "error", res.Status)
	require.JSONEq(t, `["i","new"]`, string(valueOf(t, th, "x")))
}

func valueOf(t *testing.T, th *agenttest.Thread, key string) json.RawMessage {
	t.Helper()
	s, err := th.State(t.Context(), "")
	require.NoError(t, err)
	v, ok := s.State.Value(key)
	require.True(t, ok, key)
	return v.AppendJSON(nil)
}

func TestFailingReducerFailsTheTask(t *testing.T) {
	t.Parallel()
	type total struct {
		N int `json:"n"`
	}
	limit := 5
	g := agent.NewGraph[total]("sum", agent.Reducer("n", func() int { return 0 }, func(old, add int) (int, error) {
		if old+add > limit {
			return 0, fmt.Errorf("over %d", limit)
		}
		return old + add, nil
	})).
		Node("a", func(agent.Context, total) (agent.Update, error) { return agent.Set("n", 3), nil }).
		Node("b", func(agent.Context, total) (agent.Update, error) { return agent.Set("n", 4), nil }).
		Edge(agent.Start, "a").Edge(agent.Start, "b").MustCompile()
	th := agenttest.New(g)
	res, err := th.Run(t.Context(), map[string]int{})
	require.NoError(t, err)
	require.Equal(t, "error", res.Status)
	require.Contains(t, res.Err.Message, "over 5")
	require.Len(t, th.History(""), 2)
	limit = 10
	res, err = th.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	require.JSONEq(t, `{"n":7}`, stateOf(t, th, ""))
}

func TestRemovingAnUnknownMessageFailsTheTask(t *testing.T) {
	t.Parallel()
	g := agent.NewGraph[chat]("remove").
		Node("n", func(agent.Context, chat) (agent.Update, error) {
			return agent.Set("messages", message.NewRemove("nobody")), nil
		}).Edge(agent.Start, "n").MustCompile()
	th := agenttest.New(g)
	res, err := th.Run(t.Context(), map[string]any{"messages": "hi"})
	require.NoError(t, err)
	require.Equal(t, "error", res.Status)
	require.Contains(t, res.Err.Message, "nobody")
}

func TestRecursionLimitCountsSuperstepsOfNodes(t *testing.T) { // spec/runtime.md 9, no. 17
	t.Parallel()
	g := agent.NewGraph[xy]("three").
		Node("a", add("a")).Node("b", add("b")).Node("c", add("c")).
		Edge(agent.Start, "a").Edge("a", "b").Edge("b", "c").MustCompile()
	for limit, want := range map[int]string{1: "error", 2: "error", 3: "success", 0: "success"} {
		th := agenttest.New(g)
		th.Config.RecursionLimit = limit
		res, err := th.Run(t.Context(), x())
		require.NoError(t, err)
		require.Equal(t, want, res.Status, "limit %d", limit)
		if want == "error" {
			require.Equal(t, "GraphRecursionError", res.Err.Name)
			require.Contains(t, res.Err.Message, fmt.Sprintf("Recursion limit of %d reached without hitting a stop condition.", limit))
			require.Len(t, th.History(""), limit+2)
		}
	}
}

func TestPanicOfANodeIsAnError(t *testing.T) {
	t.Parallel()
	g := agent.NewGraph[xy]("panics").
		Node("n", func(agent.Context, xy) (agent.Update, error) { panic("oops") }).
		Edge(agent.Start, "n").MustCompile()
	res, err := agenttest.New(g).Run(t.Context(), x())
	require.NoError(t, err)
	require.Equal(t, "error", res.Status)
	require.Equal(t, `panic in node "n": oops`, res.Err.Message, "clients see no stack")
}

func TestCancelStoresHowFarTheRunCame(t *testing.T) {
	t.Parallel()
	running := make(chan struct{})
	g := agent.NewGraph[xy]("cancel").
		Node("quick", add("quick")).
		Node("slow", func(ctx agent.Context, _ xy) (agent.Update, error) {
			out := agent.StreamMessage(ctx, agent.MessageOptions{})
			out.Chunk(message.Chunk{Text: "so "})
			close(running)
			<-ctx.Done()
			return nil, ctx.Err()
		}).
		Edge(agent.Start, "quick").Edge(agent.Start, "slow").MustCompile()
	th := agenttest.New(g)
	ctx, cancel := context.WithCancel(t.Context())
	var done atomic.Bool
	th.OnEmit = func(e agent.Event) {
		if e.Kind == agent.TaskFinished {
			done.Store(true)
			<-running
			cancel()
		}
	}
	res, err := th.Run(ctx, x("i"))
	require.NoError(t, err)
	require.Equal(t, agent.Outcome{Status: "interrupted"}, res.Outcome)
	require.True(t, done.Load())
	head := th.History("")[0]
	rec, _ := th.Task("", head.ID, "slow")
	require.Equal(t, agent.TaskCancelled, rec.Status)
	require.Equal(t, &agent.ErrorInfo{Name: "CancelledError", Message: "Run was cancelled"}, rec.Error)
	rec, _ = th.Task("", head.ID, "quick")
	require.Equal(t, agent.TaskDone, rec.Status)
	lines := script(res.Events)
	require.Equal(t, "namespace.finished [slow] slow failed", lines[len(lines)-1])
	for _, l := range lines {
		require.NotContains(t, l, "task.finished  slow")
	}
	last := res.Commits[len(res.Commits)-1]
	require.NotNil(t, last.Outcome)
	require.Len(t, last.Tasks, 1)
}

func TestCancelOfANestedGraph(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	child := agent.NewGraph[xy]("child").
		Node("c", func(ctx agent.Context, _ xy) (agent.Update, error) {
			cancel()
			return nil, ctx.Sleep(time.Hour)
		}).Edge(agent.Start, "c").MustCompile()
	g := agent.NewGraph[xy]("parent").Subgraph("p", child).Edge(agent.Start, "p").MustCompile()
	th := agenttest.New(g)
	res, err := th.Run(ctx, x())
	require.NoError(t, err)
	require.Equal(t, "interrupted", res.Status)
	last := res.Commits[len(res.Commits)-1]
	require.Len(t, last.Tasks, 2)
	for _, rec := range last.Tasks {
		require.Equal(t, agent.TaskCancelled, rec.Status, rec.Name)
	}
}

func TestRetryPolicy(t *testing.T) { // spec/runtime.md 1.14
	t.Parallel()
	flaky := func(calls *int, failures int, err error) *agent.Graph {
		return agent.NewGraph[xy]("flaky").
			Node("n", func(ctx agent.Context, _ xy) (agent.Update, error) {
				*calls++
				if ctx.Attempt() <= failures {
					return x("lost"), err
				}
				return x("ok"), nil
			}, agent.Retry(agent.RetryPolicy{})).
			Edge(agent.Start, "n").MustCompile()
	}
	for name, c := range map[string]struct {
		failures, calls int
		err             error
		status          string
	}{
		"second attempt": {1, 2, errors.New("boom"), "success"},
		"third attempt":  {2, 3, errors.New("boom"), "success"},
		"used up":        {3, 3, errors.New("boom"), "error"},
		"not retried":    {1, 1, &agent.NamedError{Name: "GraphValueError"}, "error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			th := agenttest.New(flaky(&calls, c.failures, c.err))
			th.Clock().AutoAdvance = true
			start := th.Clock().Now()
			res, err := th.Run(t.Context(), x())
			require.NoError(t, err)
			require.Equal(t, c.status, res.Status)
			require.Equal(t, c.calls, calls)
			if c.calls == 3 {
				require.Equal(t, 1500*time.Millisecond, th.Clock().Now().Sub(start), "0.5 s, then 1 s")
			}
		})
	}
}

func TestNodeTimeoutIsRetried(t *testing.T) {
	t.Parallel()
	g := agent.NewGraph[xy]("slow").
		Node("n", func(ctx agent.Context, _ xy) (agent.Update, error) {
			if ctx.Attempt() == 1 {
				<-ctx.Done()
				return x("late"), nil
			}
			return x("ok"), nil
		}, agent.Timeout(time.Minute), agent.Retry(agent.RetryPolicy{InitialInterval: time.Second})).
		Edge(agent.Start, "n").MustCompile()
	th := agenttest.New(g)
	go func() {
		for range 2 { // the time limit, then the pause between attempts
			if th.Clock().WaitSleepers(t.Context(), 1) == nil {
				th.Clock().Advance(time.Minute)
			}
		}
	}()
	res, err := th.Run(t.Context(), x())
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	require.JSONEq(t, `{"x":["ok"]}`, stateOf(t, th, ""))
}

func TestStepTimeoutFailsTheSuperstep(t *testing.T) {
	t.Parallel()
	wait := func(ctx agent.Context, _ xy) (agent.Update, error) { <-ctx.Done(); return nil, ctx.Err() }
	g := agent.NewGraph[xy]("slow", agent.StepTimeout(time.Minute)).
		Node("a", wait).Node("b", wait).Edge(agent.Start, "a").Edge(agent.Start, "b").MustCompile()
	th := agenttest.New(g)
	go func() {
		if th.Clock().WaitSleepers(t.Context(), 1) == nil {
			th.Clock().Advance(time.Minute)
		}
	}()
	res, err := th.Run(t.Context(), x())
	require.NoError(t, err)
	require.Equal(t, agent.Outcome{Status: "error", Err: &agent.ErrorInfo{Name: "Error", Message: "Abort"}}, res.Outcome)
}

func TestTasksBesideAFailedOneHaveTimeToEnd(t *testing.T) { // spec/runtime.md 9, no. 16
	t.Parallel()
	failed := make(chan struct{})
	g := agent.NewGraph[xy]("grace", agent.ErrorGrace(time.Minute)).
		Node("fails", func(agent.Context, xy) (agent.Update, error) { return nil, errors.New("boom") }).
		Node("soon", func(agent.Context, xy) (agent.Update, error) { <-failed; return x("soon"), nil }).
		Node("never", func(ctx agent.Context, _ xy) (agent.Update, error) { <-ctx.Done(); return nil, ctx.Err() }).
		Edge(agent.Start, "fails").Edge(agent.Start, "soon").Edge(agent.Start, "never").MustCompile()
	th := agenttest.New(g)
	th.OnEmit = func(e agent.Event) {
		if f, ok := e.Payload.(agent.TaskFinish); ok && f.Name == "fails" {
			close(failed)
		}
	}
	go func() {
		if th.Clock().WaitSleepers(t.Context(), 1) == nil {
			<-failed
			th.Clock().Advance(time.Minute)
		}
	}()
	res, err := th.Run(t.Context(), x())
	require.NoError(t, err)
	require.Equal(t, agent.Outcome{Status: "error", Err: &agent.ErrorInfo{Name: "Error", Message: "boom"}}, res.Outcome)
	head := th.History("")[0].ID
	rec, _ := th.Task("", head, "soon")
	require.Equal(t, agent.TaskDone, rec.Status)
	rec, _ = th.Task("", head, "never")
	require.Equal(t, agent.TaskFailed, rec.Status)
	require.Equal(t, "AbortError", rec.Error.Name)
}

func TestErrorHandlerTakesOver(t *testing.T) { // spec/runtime.md 1.13
	t.Parallel()
	calls, handled, broken := 0, 0, true
	g := agent.NewGraph[xy]("handled").
		Node("n", func(agent.Context, xy) (agent.Update, error) { calls++; return nil, errors.New("boom") }, agent.OnError("rescue")).
		Node("rescue", func(ctx agent.Context, s xy) (agent.Update, error) {
			if handled++; broken {
				return nil, errors.New("not yet")
			}
			return agent.Updates{x("rescued " + ctx.Failure().Message), agent.Goto("after")}, nil
		}, agent.Ends("after")).
		Node("after", add("after")).
		Edge(agent.Start, "n").MustCompile()
	th := agenttest.New(g)
	res, err := th.Run(t.Context(), x("i"))
	require.NoError(t, err)
	require.Equal(t, "not yet", res.Err.Message)
	broken = false
	res, err = th.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	require.Equal(t, 1, calls, "only the handler runs again")
	require.Equal(t, 2, handled)
	require.JSONEq(t, `{"x":["i","rescued boom","after"]}`, stateOf(t, th, ""))
}

func TestNodeCacheReusesWrites(t *testing.T) {
	t.Parallel()
	calls := 0
	g := agent.NewGraph[xy]("cached").
		Node("n", func(_ agent.Context, s xy) (agent.Update, error) { calls++; return x("computed"), nil },
			agent.Cached(time.Hour, func(json.RawMessage) string { return "same" })).
		Edge(agent.Start, "n").MustCompile()
	th := agenttest.New(g)
	for range 2 {
		_, err := th.Run(t.Context(), x())
		require.NoError(t, err)
	}
	require.Equal(t, 1, calls)
	th.Clock().Advance(2 * time.Hour)
	res, err := th.Run(t.Context(), x())
	require.NoError(t, err)
	require.Equal(t, 2, calls)
	require.JSONEq(t, `{"x":["computed","computed","computed"]}`, stateOf(t, th, ""))
	_ = res
}

func TestEmptyInput(t *testing.T) {
	t.Parallel()
	g := agent.NewGraph[xy]("g").Node("a", add("a")).Edge(agent.Start, "a").MustCompile()
	th := agenttest.New(g)
	res, err := th.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, "EmptyInputError", res.Err.Name)
	require.Empty(t, th.History(""))

	res, err = th.Run(t.Context(), map[string]int{"unknown": 1}) // starts all the same
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	res, err = th.Run(t.Context(), nil) // nothing to do
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	require.Equal(t, []string{"checkpoint.announced  loop 1", `values  {"x":["a"]}`, "checkpoint.saved  loop 1 []"}, script(res.Events))
	require.Len(t, th.History(""), 3)
}
