package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
)

// fan is a graph that starts n tasks at once; work carries out the one with that number.
func fan(n int, work func(ctx agent.Context, i int) error) *agent.Graph {
	return agent.NewGraph[xy]("fan").
		Node("worker", func(ctx agent.Context, s xy) (agent.Update, error) {
			return x(s.Y), work(ctx, int(s.Y[0]-'0'))
		}).
		BranchTo(agent.Start, func(agent.Context, xy) ([]agent.Target, error) {
			var targets []agent.Target
			for i := range n {
				targets = append(targets, agent.Send("worker", map[string]any{"x": []string{}, "y": fmt.Sprint(i)}))
			}
			return targets, nil
		}, "worker").
		Edge("worker", agent.End).MustCompile()
}

func TestMaxConcurrencyBoundsTheTasksThatRunAtOnce(t *testing.T) { // spec/runtime.md 1.3
	t.Parallel()
	for _, limit := range []int{0, 1, 2, 5, 9} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			const tasks = 6
			together := limit
			if limit == 0 || limit > tasks {
				together = tasks
			}
			var mu sync.Mutex
			running, most := 0, 0
			full := make(chan struct{})
			g := fan(tasks, func(agent.Context, int) error {
				mu.Lock()
				running++
				most = max(most, running)
				if running == together {
					select {
					case <-full:
					default:
						close(full)
					}
				}
				mu.Unlock()
				<-full
				mu.Lock()
				running--
				mu.Unlock()
				return nil
			})
			th := agenttest.New(g)
			th.Config.MaxConcurrency = limit
			res, err := th.Run(t.Context(), x("i"))
			require.NoError(t, err)
			require.Equal(t, "success", res.Status)
			require.Equal(t, together, most)
			require.JSONEq(t, `{"x":["i","0","1","2","3","4","5"]}`, stateOf(t, th, ""))
		})
	}
}

func TestATaskThatWaitsForItsTurnIsNotStartedAfterAFailure(t *testing.T) {
	t.Parallel()
	var calls [3]atomic.Int32
	var healed atomic.Bool
	th := agenttest.New(fan(3, func(_ agent.Context, i int) error {
		calls[i].Add(1)
		if i == 0 && !healed.Load() {
			return &agent.NamedError{Name: "Ill", Message: "ill"}
		}
		return nil
	}))
	th.Config.MaxConcurrency = 1
	res, err := th.Run(t.Context(), x("i"))
	require.NoError(t, err)
	require.Equal(t, "error", res.Status)
	require.Equal(t, "Ill", res.Err.Name)
	require.Equal(t, []int32{1, 0, 0}, []int32{calls[0].Load(), calls[1].Load(), calls[2].Load()})
	started, finished := 0, 0
	for _, e := range res.Events {
		switch e.Kind {
		case agent.TaskStarted:
			started++
		case agent.TaskFinished:
			finished++
		}
	}
	require.Equal(t, started, finished, "readers are told of the end of each")
	healed.Store(true)
	res, err = th.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	require.Equal(t, []int32{2, 1, 1}, []int32{calls[0].Load(), calls[1].Load(), calls[2].Load()})
}

func TestACancelStartsNoFurtherTask(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	ctx, cancel := context.WithCancel(t.Context())
	th := agenttest.New(fan(3, func(ctx agent.Context, _ int) error {
		calls.Add(1)
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}))
	th.Config.MaxConcurrency = 1
	res, err := th.Run(ctx, x("i"))
	require.NoError(t, err)
	require.Equal(t, "interrupted", res.Status)
	require.EqualValues(t, 1, calls.Load())
}

func answering(q agent.InterruptInfo) agent.Command {
	return agent.Command{HasResume: true, Resume: json.RawMessage(`{"` + q.ID + `":"yes"}`)}
}

func TestAQuestionOfATaskThatWasNotStartedAgainStillWaits(t *testing.T) {
	t.Parallel()
	var failing atomic.Bool
	th := agenttest.New(fan(2, func(ctx agent.Context, i int) error {
		_, err := agent.Interrupt[string](ctx, fmt.Sprint("question ", i))
		if err == nil && failing.Load() {
			return &agent.NamedError{Name: "Ill", Message: "ill"}
		}
		return err
	}))
	th.Config.MaxConcurrency = 1
	res, err := th.Run(t.Context(), x("i"))
	require.NoError(t, err)
	require.True(t, res.Suspended)
	pending := th.Pending()
	require.Len(t, pending, 2, "an interrupt lets the others have their turn")
	failing.Store(true)
	res, err = th.Command(t.Context(), answering(pending[0]))
	require.NoError(t, err)
	require.Equal(t, "error", res.Status)
	require.Equal(t, pending[1:], th.Pending())
	failing.Store(false)
	_, err = th.Run(t.Context(), nil)
	require.NoError(t, err)
	res, err = th.Command(t.Context(), answering(pending[1]))
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	require.JSONEq(t, `{"x":["i","0","1"]}`, stateOf(t, th, ""))
}
