package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
)

type tally struct {
	Got []string `json:"got" agent:"append"`
}

// workers is a graph whose node work runs once per Send with the Send's input.
func workers(work func(ctx agent.Context, in string) (agent.Update, error)) *agent.Graph {
	b := agent.NewGraph[tally]("workers").
		Node("start", func(agent.Context, tally) (agent.Update, error) { return nil, nil })
	agent.NodeOf(b, "work", work)
	return b.Edge(agent.Start, "start").BranchTo("start", func(agent.Context, tally) ([]agent.Target, error) {
		return []agent.Target{agent.Send("work", "one"), agent.Send("work", "two")}, nil
	}, "work").MustCompile()
}

func got(t *testing.T, thread *agenttest.Thread) []string {
	t.Helper()
	s, err := thread.State(t.Context(), "")
	require.NoError(t, err)
	v, _ := s.State.Value("got")
	var list []string
	require.NoError(t, json.Unmarshal(v.JSON, &list))
	return list
}

// counted is a step in an origin that all tasks share.
func counted(ctx agent.Context, calls *atomic.Int32, fails error) (string, error) {
	return agent.Step(agent.InOrigin(ctx, "o"), "s", func(step agent.StepContext) (string, error) {
		n := calls.Add(1)
		if fails != nil && n == 1 {
			return "", fails
		}
		return fmt.Sprintf("call %d %s", n, step.IdempotencyKey()), nil
	})
}

func TestTasksThatShareAnOriginCarryItsStepsOutOnce(t *testing.T) { // decisions 14
	t.Parallel()
	var calls atomic.Int32
	thread := agenttest.New(workers(func(ctx agent.Context, _ string) (agent.Update, error) {
		result, err := counted(ctx, &calls, nil)
		return agent.Set("got", []string{result}), err
	}))
	thread.Clock().AutoAdvance = true
	for range 2 { // at once, and in a later run
		succeed(t, thread, map[string]any{})
	}
	all := got(t, thread)
	require.Len(t, all, 4)
	require.Regexp(t, "^call 1 [0-9a-f]{32}$", all[0])
	for _, one := range all {
		require.Equal(t, all[0], one)
	}
	require.EqualValues(t, 1, calls.Load())
	copied := thread.Copy("00000000-0000-4000-8000-000000000002")
	succeed(t, copied, map[string]any{})
	require.EqualValues(t, 2, calls.Load(), "another thread has a journal of its own")
	require.NotEqual(t, got(t, copied)[5], all[0], "and keys of its own")
}

func TestAStepOfASharedOriginThatFailsIsTriedByTheNextTask(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	thread := agenttest.New(workers(func(ctx agent.Context, _ string) (agent.Update, error) {
		result, err := counted(ctx, &calls, errors.New("down"))
		if err != nil {
			result = err.Error()
		}
		return agent.Set("got", []string{result}), nil
	}))
	succeed(t, thread, map[string]any{})
	require.Contains(t, got(t, thread), "down")
	require.EqualValues(t, 2, calls.Load())
}

// A crash between the step and the end of its task: the results are there, in the next run, too.
func TestASharedOriginSurvivesACrash(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	thread := agenttest.New(workers(func(ctx agent.Context, in string) (agent.Update, error) {
		result, err := counted(ctx, &calls, nil)
		return agent.Set("got", []string{in + " " + result}), err
	}))
	down := errors.New("the store is gone")
	thread.OnCommit = func(c agent.Commit) error {
		if len(c.Tasks) > 0 && c.Tasks[0].Name == "work" {
			return down
		}
		return nil
	}
	res, err := thread.Run(t.Context(), map[string]any{})
	require.ErrorIs(t, err, down)
	thread.OnCommit = nil
	res, err = thread.Recover(t.Context(), res.Run)
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	require.Len(t, got(t, thread), 2)
	require.EqualValues(t, 1, calls.Load())
}

func TestOfAnUnknownOutcomeInASharedOriginAPersonDecides(t *testing.T) {
	t.Parallel()
	down := errors.New("the store is gone")
	var calls atomic.Int32
	var thread *agenttest.Thread
	thread = agenttest.New(workers(func(ctx agent.Context, in string) (agent.Update, error) {
		if in == "two" {
			return nil, nil
		}
		result, err := agent.Step(agent.InOrigin(ctx, "o"), "s", func(agent.StepContext) (string, error) {
			calls.Add(1)
			thread.OnCommit = func(agent.Commit) error { return down }
			return "sent", nil
		}, agent.AtMostOnce())
		return agent.Set("got", []string{result}), err
	}))
	thread.Config.MaxConcurrency = 1
	res, err := thread.Run(t.Context(), map[string]any{})
	require.ErrorIs(t, err, down)
	thread.OnCommit = nil
	res, err = thread.Recover(t.Context(), res.Run)
	require.NoError(t, err)
	require.True(t, res.Suspended)
	require.Len(t, thread.Pending(), 1)
	require.Contains(t, string(thread.Pending()[0].Value), "unknown_outcome")
	_, err = thread.Resume(t.Context(), map[string]any{"type": "done", "result": "it was sent"})
	require.NoError(t, err)
	require.Equal(t, []string{"it was sent"}, got(t, thread))
	require.EqualValues(t, 1, calls.Load())
}

// Work that asks and takes steps is done once, whoever comes by.
func TestWorkDoneOnceMayAskAndIsNotDoneAgain(t *testing.T) {
	t.Parallel()
	var steps, bodies, recordedOnes atomic.Int32
	thread := agenttest.New(workers(func(ctx agent.Context, in string) (agent.Update, error) {
		if in == "two" && !agent.Claim(ctx, "k") {
			return nil, nil
		}
		if in == "one" && !agent.Claim(ctx, "k") {
			return nil, nil
		}
		update, recorded, err := agent.Once(agent.InOrigin(ctx, "o"), "w", func(ctx agent.Context) (agent.Update, error) {
			bodies.Add(1)
			if _, err := agent.Step(ctx, "s", func(agent.StepContext) (int32, error) { return steps.Add(1), nil }); err != nil {
				return nil, err
			}
			answer, err := agent.Interrupt[string](ctx, "really?")
			if err != nil {
				return nil, err
			}
			return agent.Updates{agent.Set("got", []string{answer}), &agent.Command{Update: []agent.Write{{Channel: "got", Value: json.RawMessage(`["by command"]`)}}}}, nil
		})
		if recorded {
			recordedOnes.Add(1)
		}
		return update, err
	}))
	res, err := thread.Run(t.Context(), map[string]any{})
	require.NoError(t, err)
	require.True(t, res.Suspended)
	require.Len(t, thread.Pending(), 1, "one task claims the work")
	_, err = thread.Resume(t.Context(), "yes")
	require.NoError(t, err)
	require.Equal(t, []string{"yes", "by command"}, got(t, thread))
	succeed(t, thread, map[string]any{})
	require.Equal(t, []string{"yes", "by command", "yes", "by command"}, got(t, thread), "the recorded update")
	require.EqualValues(t, 1, steps.Load())
	require.EqualValues(t, 2, bodies.Load(), "from its start again after the answer, and never again")
	require.EqualValues(t, 1, recordedOnes.Load())
}

func TestAnUpdateThatCantBeRecordedIsAnError(t *testing.T) {
	t.Parallel()
	thread := agenttest.New(workers(func(ctx agent.Context, _ string) (agent.Update, error) {
		update, _, err := agent.Once(ctx, "w", func(agent.Context) (agent.Update, error) {
			return agent.Set("got", make(chan int)), nil
		})
		return update, err
	}))
	res, err := thread.Run(t.Context(), map[string]any{})
	require.NoError(t, err)
	require.Equal(t, "error", res.Status)
	require.Contains(t, res.Err.Message, `encode the update of "w"`)
}

func TestAValueThatAPersonGaveOnceIsKept(t *testing.T) {
	t.Parallel()
	var asked []string
	thread := agenttest.New(workers(func(ctx agent.Context, in string) (agent.Update, error) {
		if in == "two" {
			return nil, nil
		}
		answer, err := agent.OnceOf(agent.InOrigin(ctx, "o"), "w", func(ctx agent.Context) (map[string]string, error) {
			var id string
			text, err := agent.Interrupt[string](ctx, "?", agent.InterruptID(&id))
			asked = append(asked, id)
			return map[string]string{"text": text, "id": id}, err
		})
		return agent.Set("got", []string{answer["text"], answer["id"]}), err
	}))
	_, err := thread.Run(t.Context(), map[string]any{})
	require.NoError(t, err)
	id := thread.Pending()[0].ID
	_, err = thread.Resume(t.Context(), "yes")
	require.NoError(t, err)
	succeed(t, thread, map[string]any{})
	require.Equal(t, []string{"yes", id, "yes", id}, got(t, thread))
	require.Equal(t, []string{id, id}, asked)
}

func TestWhetherAStepIsRecordedCanBeAsked(t *testing.T) {
	t.Parallel()
	var found []bool
	thread := agenttest.New(workers(func(ctx agent.Context, in string) (agent.Update, error) {
		if in == "two" {
			return nil, nil
		}
		for range 2 {
			found = append(found, agent.Recorded(ctx, "s"))
			if _, err := agent.Step(ctx, "s", func(agent.StepContext) (int, error) { return 1, nil }); err != nil {
				return nil, err
			}
		}
		found = append(found, agent.Recorded(ctx, "s"))
		_, err := agent.Interrupt[string](ctx, "?")
		return nil, err
	}))
	_, err := thread.Run(t.Context(), map[string]any{})
	require.NoError(t, err)
	_, err = thread.Resume(t.Context(), "yes")
	require.NoError(t, err)
	require.Equal(t, []bool{false, false, false, true, true, false}, found)
}
