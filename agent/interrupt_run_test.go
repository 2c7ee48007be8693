package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
)

func TestInterruptCannotBeSwallowed(t *testing.T) { // spec/runtime.md 9, no. 20
	t.Parallel()
	after := 0
	g := agent.NewGraph[xy]("swallow").
		Node("n", func(ctx agent.Context, _ xy) (agent.Update, error) {
			answer, err := agent.Interrupt[string](ctx, "q1")
			if err != nil { // as a catch-all would
				answer = "default"
			}
			_, err = agent.Interrupt[string](ctx, "q2")
			_ = err
			return x(answer), nil
		}).
		Node("after", func(agent.Context, xy) (agent.Update, error) { after++; return nil, nil }).
		Edge(agent.Start, "n").Edge("n", "after").MustCompile()
	th := agenttest.New(g)
	res, err := th.Run(t.Context(), x())
	require.NoError(t, err)
	require.True(t, res.Suspended)
	require.Zero(t, after)
	require.JSONEq(t, `{"x":[]}`, stateOf(t, th, ""))
	require.Len(t, th.Pending(), 1, "the second question has no place in the order yet")

	_, err = th.Resume(t.Context(), "one")
	require.NoError(t, err)
	require.JSONEq(t, `"q2"`, string(th.Pending()[0].Value))
	_, err = th.Resume(t.Context(), "two")
	require.NoError(t, err)
	require.Equal(t, 1, after)
	require.JSONEq(t, `{"x":["one"]}`, stateOf(t, th, ""))
}

func TestNamedQuestionsMayBeAskedTogether(t *testing.T) {
	t.Parallel()
	g := agent.NewGraph[xy]("named").
		Node("n", func(ctx agent.Context, _ xy) (agent.Update, error) {
			var wg sync.WaitGroup
			answers := make([]string, 2)
			for i, name := range []string{"left", "right"} {
				wg.Go(func() {
					answers[i], _ = agent.Interrupt[string](ctx, name+"?", agent.Named(name))
				})
			}
			wg.Wait()
			return x(answers...), nil
		}).
		Edge(agent.Start, "n").MustCompile()
	th := agenttest.New(g)
	_, err := th.Run(t.Context(), x())
	require.NoError(t, err)
	pending := th.Pending()
	require.Len(t, pending, 2)
	byValue := map[string]string{}
	for _, q := range pending {
		byValue[string(q.Value)] = q.ID
	}
	res, err := th.Answer(t.Context(), map[string]any{byValue[`"right?"`]: "R"})
	require.NoError(t, err)
	require.True(t, res.Suspended)
	require.Equal(t, byValue[`"left?"`], th.Pending()[0].ID)
	_, err = th.Resume(t.Context(), "L")
	require.NoError(t, err)
	require.JSONEq(t, `{"x":["L","R"]}`, stateOf(t, th, ""))
}

func TestInterruptKeepsItsIDUntilAnswered(t *testing.T) {
	t.Parallel()
	g := agent.NewGraph[xy]("again").
		Node("n", func(ctx agent.Context, _ xy) (agent.Update, error) {
			r, err := agent.Interrupt[string](ctx, nil, agent.ResponseSchema(json.RawMessage(`{"type":"string"}`)))
			return x(r), err
		}).
		Edge(agent.Start, "n").MustCompile()
	th := agenttest.New(g)
	_, err := th.Run(t.Context(), x())
	require.NoError(t, err)
	first := th.Pending()[0]
	require.Regexp(t, `^[0-9a-f]{32}$`, first.ID)
	require.Nil(t, first.Value)
	require.JSONEq(t, `{"type":"string"}`, string(first.ResponseSchema))
	_, err = th.Run(t.Context(), nil) // runs the node again
	require.NoError(t, err)
	require.Equal(t, first.ID, th.Pending()[0].ID)
	require.Len(t, th.History(""), 2)

	var resume *agent.ResumeError
	_, err = th.Resume(t.Context(), 7)
	require.ErrorAs(t, err, &resume)
	require.Equal(t, agent.InvalidAnswer, resume.Code)
	_, err = th.Run(t.Context(), x("new")) // drops the question, asks anew
	require.NoError(t, err)
	require.NotEqual(t, first.ID, th.Pending()[0].ID)
}

func TestAnAnswerOfAnotherTypeLeavesTheQuestionOpen(t *testing.T) { // D-35
	t.Parallel()
	g := agent.NewGraph[xy]("count").
		Node("n", func(ctx agent.Context, _ xy) (agent.Update, error) {
			n, err := agent.Interrupt[int](ctx, "how many?")
			return x(strings.Repeat("x", n)), err
		}).
		Edge(agent.Start, "n").MustCompile()
	th := agenttest.New(g)
	_, err := th.Run(t.Context(), x())
	require.NoError(t, err)
	var resume *agent.ResumeError
	_, err = th.Resume(t.Context(), "seven")
	require.ErrorAs(t, err, &resume)
	require.Equal(t, agent.InvalidAnswer, resume.Code)
	require.Len(t, th.Pending(), 1)
	_, err = th.Resume(t.Context(), 3)
	require.NoError(t, err)
	require.JSONEq(t, `{"x":["xxx"]}`, stateOf(t, th, ""))
}

func TestErrorAndInterruptInOneSuperstep(t *testing.T) { // spec/runtime.md 1.13
	t.Parallel()
	broken := true
	g := agent.NewGraph[xy]("mixed").
		Node("asks", func(ctx agent.Context, _ xy) (agent.Update, error) {
			r, err := agent.Interrupt[string](ctx, "q")
			return x("asked:" + r), err
		}).
		Node("fails", func(agent.Context, xy) (agent.Update, error) {
			if broken {
				return nil, &agent.NamedError{Name: "CustomError", Message: "no"}
			}
			return x("fixed"), nil
		}).
		Edge(agent.Start, "asks").Edge(agent.Start, "fails").MustCompile()
	th := agenttest.New(g)
	res, err := th.Run(t.Context(), x())
	require.NoError(t, err)
	require.Equal(t, agent.Outcome{Status: "error", Err: &agent.ErrorInfo{Name: "CustomError", Message: "no"}}, res.Outcome)
	require.Len(t, th.Pending(), 1, "the question is stored and can be answered")

	broken = false
	res, err = th.Resume(t.Context(), "A")
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	require.JSONEq(t, `{"x":["asked:A","fixed"]}`, stateOf(t, th, ""))
}

func TestInterruptNeedsAThreadThatIsKept(t *testing.T) {
	t.Parallel()
	g := agent.NewGraph[xy]("stateless").
		Node("n", func(ctx agent.Context, _ xy) (agent.Update, error) {
			_, err := agent.Interrupt[string](ctx, "q")
			return nil, err
		}).
		Edge(agent.Start, "n").MustCompile()
	th := agenttest.New(g)
	exec := th.Execution()
	exec.Ephemeral, exec.Input = true, json.RawMessage(`{}`)
	res, err := th.Start(t.Context(), exec)
	require.NoError(t, err)
	require.Equal(t, "GraphValueError", res.Err.Name)
	require.Contains(t, res.Err.Message, "No checkpointer set")
	require.Empty(t, th.History(""))
	for _, c := range res.Commits {
		require.Empty(t, c.Checkpoints)
		require.Empty(t, c.Tasks)
	}
}

func TestNestedInterruptsOfParallelVisits(t *testing.T) {
	t.Parallel()
	child := agent.NewGraph[xy]("child").
		Node("ask", func(ctx agent.Context, s xy) (agent.Update, error) {
			r, err := agent.Interrupt[string](ctx, s.Y)
			return agent.Set("y", s.Y+"="+r), err
		}).Edge(agent.Start, "ask").MustCompile()
	b := agent.NewGraph[xy]("parent").
		BranchTo(agent.Start, func(agent.Context, xy) ([]agent.Target, error) {
			return []agent.Target{agent.Send("visit", xy{Y: "a"}), agent.Send("visit", xy{Y: "b"})}, nil
		}, "visit")
	agent.NodeOf(b, "visit", func(ctx agent.Context, in xy) (agent.Update, error) {
		state, err := agent.Invoke(ctx, child, map[string]string{"y": in.Y})
		if err != nil {
			return nil, err
		}
		y, _ := state.Value("y")
		var s string
		if err := json.Unmarshal(y.JSON, &s); err != nil {
			return nil, err
		}
		return x(s), nil
	})
	th := agenttest.New(b.MustCompile())
	res, err := th.Run(t.Context(), x())
	require.NoError(t, err)
	require.True(t, res.Suspended)
	pending := th.Pending()
	require.Len(t, pending, 2)
	res, err = th.Answer(t.Context(), map[string]any{pending[1].ID: "2"})
	require.NoError(t, err)
	require.True(t, res.Suspended)
	require.Equal(t, pending[0], th.Pending()[0])
	res, err = th.Answer(t.Context(), map[string]any{pending[0].ID: "1"})
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	require.JSONEq(t, `{"x":["a=1","b=2"]}`, stateOf(t, th, ""))
}

func TestChildGraphTwiceInOneTask(t *testing.T) {
	t.Parallel()
	child := agent.NewGraph[xy]("child").
		Node("ask", func(ctx agent.Context, s xy) (agent.Update, error) {
			r, err := agent.Interrupt[string](ctx, s.Y)
			return x(s.Y + r), err
		}).Edge(agent.Start, "ask").MustCompile()
	g := agent.NewGraph[xy]("parent").
		Node("n", func(ctx agent.Context, _ xy) (agent.Update, error) {
			var all []string
			for _, y := range []string{"first", "second"} {
				state, err := agent.Invoke(ctx, child, map[string]string{"y": y})
				if err != nil {
					return nil, err
				}
				var s xy
				if err := json.Unmarshal(state.JSON(), &s); err != nil {
					return nil, err
				}
				all = append(all, s.X...)
			}
			return x(all...), nil
		}).Edge(agent.Start, "n").MustCompile()
	th := agenttest.New(g)
	for _, answer := range []string{"", "1", "2"} {
		var err error
		if answer == "" {
			_, err = th.Run(t.Context(), x())
		} else {
			_, err = th.Resume(t.Context(), answer)
		}
		require.NoError(t, err)
	}
	require.JSONEq(t, `{"x":["first1","second2"]}`, stateOf(t, th, ""))
	ns := th.Namespaces()
	require.Len(t, ns, 3)
	require.Equal(t, ns[1]+"|1", ns[2])
	require.True(t, strings.HasPrefix(ns[1], "n:"))
}

func TestResumeWithoutACommitStaysRepeatable(t *testing.T) {
	t.Parallel()
	g := agent.NewGraph[xy]("crash").
		Node("n", func(ctx agent.Context, _ xy) (agent.Update, error) {
			r, err := agent.Interrupt[string](ctx, "q")
			return x(r), err
		}).
		Edge(agent.Start, "n").MustCompile()
	th := agenttest.New(g)
	_, err := th.Run(t.Context(), x("i"))
	require.NoError(t, err)
	th.OnCommit = func(c agent.Commit) error {
		if c.Outcome != nil {
			return errors.New("store is gone")
		}
		return nil
	}
	res, err := th.Command(t.Context(), agent.Command{
		Resume: json.RawMessage(`"A"`), HasResume: true, Update: []agent.Write{{Channel: "x", Value: json.RawMessage(`["u"]`)}},
	})
	require.ErrorContains(t, err, "store is gone")
	require.Zero(t, res.Outcome)
	th.OnCommit = nil
	again, err := th.Recover(context.Background(), res.Run)
	require.NoError(t, err)
	require.Equal(t, "success", again.Status)
	require.JSONEq(t, `{"x":["i","u","A"]}`, stateOf(t, th, ""))
	require.Len(t, th.History(""), 3)
}

func TestQuestionWithABrokenSchemaFailsWhenItIsAsked(t *testing.T) {
	t.Parallel()
	for schema, reason := range map[string]string{
		`{"type":"strng"}`:                   "not valid against metaschema",
		`{"type":`:                           "response schema",
		`{"$ref":"https://example.com/one"}`: "other documents",
	} {
		th := agenttest.New(agent.NewGraph[xy]("broken").
			Node("ask", func(ctx agent.Context, _ xy) (agent.Update, error) {
				v, err := agent.Interrupt[string](ctx, "?", agent.ResponseSchema(json.RawMessage(schema)))
				return x(v), err
			}).
			Edge(agent.Start, "ask").Edge("ask", agent.End).MustCompile())
		res, err := th.Run(t.Context(), x("i"))
		require.NoError(t, err)
		require.Equal(t, "error", res.Status, schema)
		require.Contains(t, res.Err.Message, reason)
		require.Contains(t, res.Err.Message, `"ask"`)
		require.False(t, res.Suspended)
		require.Empty(t, th.Pending(), "nobody is asked")
	}
}
