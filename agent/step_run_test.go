package agent_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
)

func TestFinishedStepsAreNotRunAgain(t *testing.T) { // spec/runtime.md 9.1
	t.Parallel()
	calls := map[string]int{}
	var keys []string
	g := agent.NewGraph[xy]("steps").
		Node("n", func(ctx agent.Context, _ xy) (agent.Update, error) {
			var all []string
			for range 2 {
				s, err := agent.Step(ctx, "fetch", func(sc agent.StepContext) (string, error) {
					calls["fetch"]++
					keys = append(keys, sc.IdempotencyKey())
					return strings.Repeat("f", calls["fetch"]), nil
				})
				if err != nil {
					return nil, err
				}
				all = append(all, s)
			}
			r, err := agent.Interrupt[string](ctx, "q")
			if err != nil {
				return nil, err
			}
			_, err = agent.Step(ctx, "send", func(agent.StepContext) (struct{}, error) { calls["send"]++; return struct{}{}, nil })
			if err != nil {
				return nil, err
			}
			return x(append(all, r)...), nil
		}).
		Edge(agent.Start, "n").MustCompile()
	th := agenttest.New(g)
	_, err := th.Run(t.Context(), x())
	require.NoError(t, err)
	_, err = th.Run(t.Context(), nil)
	require.NoError(t, err)
	res, err := th.Resume(t.Context(), "A")
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	require.Equal(t, map[string]int{"fetch": 2, "send": 1}, calls)
	require.JSONEq(t, `{"x":["f","ff","A"]}`, stateOf(t, th, ""))
	require.NotEqual(t, keys[0], keys[1])

	// A fork runs its steps again, under other keys (decisions 6).
	_, err = th.RunFrom(t.Context(), th.History("")[1].ID, nil)
	require.NoError(t, err)
	require.Equal(t, 4, calls["fetch"])
	require.NotContains(t, keys[2:], keys[0])
}

func TestStepsSurviveAnUpdateThatLeavesTheTaskPending(t *testing.T) { // decisions 6
	t.Parallel()
	calls := 0
	var keys []string
	g := agent.NewGraph[xy]("carried").
		Node("n", func(ctx agent.Context, s xy) (agent.Update, error) {
			_, err := agent.Step(ctx, "pay", func(sc agent.StepContext) (int, error) {
				calls++
				keys = append(keys, sc.IdempotencyKey())
				return calls, nil
			})
			if err != nil {
				return nil, err
			}
			r, err := agent.Interrupt[string](ctx, "q")
			return x(r + s.Y), err
		}).
		Edge(agent.Start, "n").MustCompile()
	th := agenttest.New(g)
	_, err := th.Run(t.Context(), x())
	require.NoError(t, err)
	first := th.Pending()[0].ID
	res, err := th.Command(t.Context(), agent.Command{Update: []agent.Write{{Channel: "y", Value: json.RawMessage(`"!"`)}}})
	require.NoError(t, err)
	require.True(t, res.Suspended)
	require.Equal(t, []string{"input", "loop", "input"}, sources(th))
	require.NotEqual(t, first, th.Pending()[0].ID, "a new checkpoint asks under a new id")
	require.Equal(t, 1, calls)
	_, err = th.Resume(t.Context(), "A")
	require.NoError(t, err)
	require.Equal(t, 1, calls)
	require.JSONEq(t, `{"x":["A!"],"y":"!"}`, stateOf(t, th, ""))
}

func sources(th *agenttest.Thread) []string {
	var list []string
	for _, cp := range th.History("") {
		list = append(list, cp.Source)
	}
	return list
}

func TestStepThatFailedRunsAgainWithTheTask(t *testing.T) {
	t.Parallel()
	calls := 0
	g := agent.NewGraph[xy]("failing").
		Node("n", func(ctx agent.Context, _ xy) (agent.Update, error) {
			s, err := agent.Step(ctx, "try", func(sc agent.StepContext) (string, error) {
				if calls++; sc.Attempt() == 1 {
					return "", errors.New("down")
				}
				return "up", nil
			}, agent.AtMostOnce())
			return x(s), err
		}).
		Edge(agent.Start, "n").MustCompile()
	th := agenttest.New(g)
	res, err := th.Run(t.Context(), x())
	require.NoError(t, err)
	require.Equal(t, "down", res.Err.Message)
	res, err = th.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	require.Equal(t, 2, calls)
}

func TestNodeGetsTheFailureAgainThatItLivedWith(t *testing.T) {
	t.Parallel()
	calls := 0
	g := agent.NewGraph[xy]("lived").
		Node("n", func(ctx agent.Context, _ xy) (agent.Update, error) {
			s, err := agent.Step(ctx, "try", func(agent.StepContext) (string, error) {
				if calls++; calls == 1 {
					return "", &agent.NamedError{Name: "Down", Message: "down"}
				}
				return "up", nil
			})
			if err != nil {
				s = agent.ErrorInfoOf(err).Name
			}
			r, err := agent.Interrupt[string](ctx, s)
			return x(s, r), err
		}).
		Edge(agent.Start, "n").MustCompile()
	th := agenttest.New(g)
	_, err := th.Run(t.Context(), x())
	require.NoError(t, err)
	_, err = th.Resume(t.Context(), "A")
	require.NoError(t, err)
	require.Equal(t, 1, calls)
	require.JSONEq(t, `{"x":["Down","A"]}`, stateOf(t, th, ""))
}

func TestUnknownOutcomeOfAnAtMostOnceStepIsAsked(t *testing.T) { // decisions 6
	t.Parallel()
	for decision, c := range map[string]struct {
		answer any
		calls  int
		status string
		state  string
	}{
		"retry": {map[string]any{"type": "retry"}, 2, "success", `{"x":["sent"]}`},
		"done":  {map[string]any{"type": "done", "result": "by hand"}, 1, "success", `{"x":["by hand"]}`},
		"fail":  {map[string]any{"type": "fail", "message": "given up"}, 1, "error", `{"x":[]}`},
	} {
		t.Run(decision, func(t *testing.T) {
			t.Parallel()
			calls := 0
			var th *agenttest.Thread
			g := agent.NewGraph[xy]("once").
				Node("n", func(ctx agent.Context, _ xy) (agent.Update, error) {
					s, err := agent.Step(ctx, "send", func(agent.StepContext) (string, error) {
						if calls++; calls == 1 { // the worker dies while the step runs
							th.OnCommit = func(agent.Commit) error { return errors.New("crashed") }
						}
						return "sent", nil
					}, agent.AtMostOnce())
					return x(s), err
				}).
				Edge(agent.Start, "n").MustCompile()
			th = agenttest.New(g)
			res, err := th.Run(t.Context(), x())
			require.ErrorContains(t, err, "crashed")
			th.OnCommit = nil
			res, err = th.Recover(t.Context(), res.Run)
			require.NoError(t, err)
			require.True(t, res.Suspended)
			require.Equal(t, 1, calls)
			q := th.Pending()[0]
			var value struct {
				Type, Step     string
				IdempotencyKey string `json:"idempotency_key"`
			}
			require.NoError(t, json.Unmarshal(q.Value, &value))
			require.Equal(t, "unknown_outcome", value.Type)
			require.Equal(t, "send", value.Step)
			require.NotEmpty(t, value.IdempotencyKey)

			for _, refused := range []any{"retry", map[string]any{"type": "maybe"}, map[string]any{"type": "done", "result": 7}} {
				_, err = th.Resume(t.Context(), refused) // a result that isn't the step's type would be recorded for good
				var resume *agent.ResumeError
				require.ErrorAs(t, err, &resume, "%v", refused)
				require.Equal(t, agent.InvalidAnswer, resume.Code)
			}
			res, err = th.Resume(t.Context(), c.answer)
			require.NoError(t, err)
			require.Equal(t, c.status, res.Status)
			require.Equal(t, c.calls, calls)
			require.JSONEq(t, c.state, stateOf(t, th, ""))
		})
	}
}

func TestRecoveryGoesOnFromTheLastCommit(t *testing.T) { // decisions 2, 6
	t.Parallel()
	steps := 0
	g := agent.NewGraph[xy]("recover").
		Node("a", add("a")).
		Node("b", func(ctx agent.Context, _ xy) (agent.Update, error) {
			_, err := agent.Step(ctx, "once", func(agent.StepContext) (int, error) { steps++; return steps, nil })
			return x("b"), err
		}).
		Edge(agent.Start, "a").Edge("a", "b").MustCompile()
	for crash := 1; crash <= 4; crash++ {
		steps = 0
		th := agenttest.New(g)
		commits := 0
		th.OnCommit = func(agent.Commit) error {
			if commits++; commits == crash {
				return errors.New("crashed")
			}
			return nil
		}
		res, err := th.Run(t.Context(), x("i"))
		require.ErrorContains(t, err, "crashed")
		th.OnCommit = nil
		res, err = th.Recover(t.Context(), res.Run)
		require.NoError(t, err)
		require.Equal(t, "success", res.Status)
		require.JSONEq(t, `{"x":["i","a","b"]}`, stateOf(t, th, ""), "crash at commit %d", crash)
		require.Len(t, th.History(""), 4)
		if crash == 4 {
			require.Equal(t, 1, steps, "the step was stored before the crash")
		}
	}
}

func TestStepTimeout(t *testing.T) {
	t.Parallel()
	g := agent.NewGraph[xy]("timeout").
		Node("n", func(ctx agent.Context, _ xy) (agent.Update, error) {
			_, err := agent.Step(ctx, "slow", func(sc agent.StepContext) (int, error) {
				<-sc.Done()
				return 0, sc.Err()
			}, agent.StepTimeoutOf(time.Second))
			return nil, err
		}).
		Edge(agent.Start, "n").MustCompile()
	th := agenttest.New(g)
	go func() {
		if th.Clock().WaitSleepers(t.Context(), 1) == nil {
			th.Clock().Advance(time.Second)
		}
	}()
	res, err := th.Run(t.Context(), x())
	require.NoError(t, err)
	require.Equal(t, "StepTimeoutError", res.Err.Name)
}
