package agent_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/message"
)

func TestLinearGraphLeavesTwoMoreCheckpointsThanSupersteps(t *testing.T) { // spec/runtime.md 1.9
	t.Parallel()
	g := agent.NewGraph[xy]("ab").
		Node("a", add("a")).Node("b", add("b")).
		Edge(agent.Start, "a").Edge("a", "b").Edge("b", agent.End).MustCompile()
	th := agenttest.New(g)
	for range 2 {
		_, err := th.Run(t.Context(), x("i"))
		require.NoError(t, err)
	}
	var got []string
	for _, cp := range th.History("") {
		got = append(got, fmt.Sprintf("%s %d %s", cp.Source, cp.Step, cp.Channels["x"].Value.JSON))
	}
	require.Equal(t, []string{
		`loop 6 ["i","a","b","i","a","b"]`, `loop 5 ["i","a","b","i","a"]`, `loop 4 ["i","a","b","i"]`, `input 3 ["i","a","b"]`,
		`loop 2 ["i","a","b"]`, `loop 1 ["i","a"]`, `loop 0 ["i"]`, `input -1 []`,
	}, got)
	require.Equal(t, json.RawMessage(`"assistant"`), th.History("")[0].Metadata["assistant_id"])
}

func TestJoinWaitsForAllAndDeferForTheRest(t *testing.T) {
	t.Parallel()
	g := agent.NewGraph[xy]("joins").
		Node("a", add("a")).Node("b", add("b")).Node("b2", add("b2")).
		Node("joined", add("joined")).
		Node("last", add("last"), agent.Defer()).
		Edge(agent.Start, "a").Edge(agent.Start, "b").Edge("b", "b2").
		Join([]string{"a", "b2"}, "joined").
		Edge("a", "last").MustCompile()
	th := agenttest.New(g)
	for range 2 { // barriers are ready for another round
		_, err := th.Run(t.Context(), agent.Set("x", agent.Overwrite([]string{})))
		require.NoError(t, err)
		require.JSONEq(t, `{"x":["a","b","b2","joined","last"]}`, stateOf(t, th, ""))
	}
}

func TestDeferredJoin(t *testing.T) {
	t.Parallel()
	g := agent.NewGraph[xy]("joins").
		Node("a", add("a")).Node("b", add("b")).Node("b2", add("b2")).
		Node("last", add("last"), agent.Defer()).
		Edge(agent.Start, "a").Edge(agent.Start, "b").Edge("b", "b2").
		Join([]string{"a", "b"}, "last").MustCompile()
	th := agenttest.New(g)
	_, err := th.Run(t.Context(), x())
	require.NoError(t, err)
	require.JSONEq(t, `{"x":["a","b","b2","last"]}`, stateOf(t, th, ""))
}

func TestManySendsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	b := agent.NewGraph[xy]("sends").
		BranchTo(agent.Start, func(agent.Context, xy) ([]agent.Target, error) {
			targets := []agent.Target{{Node: "plain"}}
			for i := range 12 {
				targets = append(targets, agent.Send("w", i))
			}
			return targets, nil
		}, "w", "plain").
		Node("plain", add("plain"))
	agent.NodeOf(b, "w", func(_ agent.Context, i int) (agent.Update, error) { return x(fmt.Sprint(i)), nil })
	th := agenttest.New(b.MustCompile())
	_, err := th.Run(t.Context(), x())
	require.NoError(t, err)
	require.JSONEq(t, `{"x":["plain","0","1","2","3","4","5","6","7","8","9","10","11"]}`, stateOf(t, th, ""))
}

func TestGotoIsAddedToStaticEdges(t *testing.T) { // spec/runtime.md 1.15
	t.Parallel()
	g := agent.NewGraph[xy]("goto").
		Node("a", func(agent.Context, xy) (agent.Update, error) { return agent.Goto("c", agent.End), nil }, agent.Ends("c")).
		Node("b", add("b")).Node("c", add("c")).
		Edge(agent.Start, "a").Edge("a", "b").MustCompile()
	th := agenttest.New(g)
	_, err := th.Run(t.Context(), x())
	require.NoError(t, err)
	require.JSONEq(t, `{"x":["b","c"]}`, stateOf(t, th, ""))

	typo := agent.NewGraph[xy]("typo").
		Node("a", func(agent.Context, xy) (agent.Update, error) { return agent.Goto("nowhere"), nil }).
		Edge(agent.Start, "a").MustCompile()
	res, err := agenttest.New(typo).Run(t.Context(), x())
	require.NoError(t, err)
	require.Contains(t, res.Err.Message, `"nowhere"`)
}

func TestCommandForTheParentGraph(t *testing.T) { // spec/runtime.md 1.15
	t.Parallel()
	child := agent.NewGraph[xy]("child").
		Node("c", func(agent.Context, xy) (agent.Update, error) {
			return &agent.Command{
				Parent: true, Goto: []agent.Target{{Node: "other"}},
				Update: []agent.Write{{Channel: "y", Value: json.RawMessage(`"from below"`)}},
			}, nil
		}).Edge(agent.Start, "c").MustCompile()
	g := agent.NewGraph[xy]("parent").
		Subgraph("p", child, agent.Ends("other")).
		Node("next", add("next")).Node("other", add("other")).
		Edge(agent.Start, "p").Edge("p", "next").MustCompile()
	th := agenttest.New(g)
	res, err := th.Run(t.Context(), x("i"))
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	require.JSONEq(t, `{"x":["i","next","other"],"y":"from below"}`, stateOf(t, th, ""))
}

func TestStaticBreakpoints(t *testing.T) { // spec/runtime.md 2.7, decisions 10
	t.Parallel()
	g := agent.NewGraph[xy]("stops").
		Node("a", add("a")).Node("b", add("b")).Node("c", add("c")).
		Edge(agent.Start, "a").Edge("a", "b").Edge("b", "c").MustCompile()
	th := agenttest.New(g)
	exec := th.Execution()
	exec.Input, exec.InterruptBefore = json.RawMessage(`{"x":[]}`), []string{"b", "nobody"}
	res, err := th.Start(t.Context(), exec)
	require.NoError(t, err)
	require.Equal(t, agent.Outcome{Status: "success", Breakpoint: true}, res.Outcome)
	require.Equal(t, "breakpoint", script(res.Events)[len(res.Events)-1])
	s, err := th.State(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, s.Next)

	exec = th.Execution() // continuing passes the breakpoint it stands at
	exec.InterruptBefore = []string{"*"}
	res, err = th.Start(t.Context(), exec)
	require.NoError(t, err)
	require.True(t, res.Breakpoint)
	require.JSONEq(t, `{"x":["a","b"]}`, stateOf(t, th, ""))
	res, err = th.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, agent.Outcome{Status: "success"}, res.Outcome)

	exec = th.Execution()
	exec.Input, exec.InterruptAfter = json.RawMessage(`{}`), []string{"a", "c"}
	res, err = th.Start(t.Context(), exec)
	require.NoError(t, err)
	require.True(t, res.Breakpoint)
	require.JSONEq(t, `{"x":["a","b","c","a"]}`, stateOf(t, th, ""))
	exec = th.Execution()
	exec.InterruptAfter = []string{"c"}
	res, err = th.Start(t.Context(), exec)
	require.NoError(t, err)
	require.Equal(t, agent.Outcome{Status: "success"}, res.Outcome, "nothing follows c")
}

func TestBreakpointInASubgraph(t *testing.T) { // spec/conformance-agents.md 3.5
	t.Parallel()
	child := agent.NewGraph[xy]("child", agent.InterruptBefore("c2")).
		Node("c1", func(agent.Context, xy) (agent.Update, error) { return agent.Set("y", "c1"), nil }).
		Node("c2", func(_ agent.Context, s xy) (agent.Update, error) { return agent.Set("y", s.Y+"c2"), nil }).
		Edge(agent.Start, "c1").Edge("c1", "c2").MustCompile()
	g := agent.NewGraph[xy]("parent").Subgraph("p", child).Edge(agent.Start, "p").MustCompile()
	th := agenttest.New(g)
	res, err := th.Run(t.Context(), x())
	require.NoError(t, err)
	require.True(t, res.Breakpoint)
	lines := script(res.Events)
	require.Equal(t, []string{"namespace.finished [p] p", "breakpoint"}, lines[len(lines)-2:])
	require.NotContains(t, lines, "task.finished  p {}")
	require.Empty(t, th.Pending())
	res, err = th.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, agent.Outcome{Status: "success"}, res.Outcome)
	require.JSONEq(t, `{"x":[],"y":"c1c2"}`, stateOf(t, th, ""))
}

func TestReplayMakesAFork(t *testing.T) { // spec/runtime.md 5.3, spec/rest-api.md A.5
	t.Parallel()
	runs := 0
	g := agent.NewGraph[xy]("ab").
		Node("a", func(agent.Context, xy) (agent.Update, error) { runs++; return x(fmt.Sprint("a", runs)), nil }).
		Node("b", add("b")).
		Edge(agent.Start, "a").Edge("a", "b").MustCompile()
	th := agenttest.New(g)
	_, err := th.Run(t.Context(), x("i"))
	require.NoError(t, err)
	old := th.History("")

	res, err := th.RunFrom(t.Context(), old[2].ID, nil)
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	fork := th.History("")[2]
	require.Equal(t, []any{agent.SourceFork, old[2].ID, 1}, []any{fork.Source, fork.ParentID, fork.Step})
	require.JSONEq(t, `{"x":["i","a2","b"]}`, stateOf(t, th, ""))

	_, err = th.RunFrom(t.Context(), old[3].ID, x("edited"))
	require.NoError(t, err)
	input := th.History("")[3]
	require.Equal(t, []any{agent.SourceInput, old[3].ID, 0}, []any{input.Source, input.ParentID, input.Step})
	require.JSONEq(t, `{"x":["edited","a3","b"]}`, stateOf(t, th, ""))

	n := len(th.History(""))
	res, err = th.RunFrom(t.Context(), th.History("")[0].ID, nil) // the head: as without
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	require.Len(t, th.History(""), n)
	res, err = th.RunFrom(t.Context(), "0197b6a0-0000-7000-8000-ffffffffffff", nil)
	require.NoError(t, err)
	require.Equal(t, "EmptyInputError", res.Err.Name)
}

func TestCommandWithoutResume(t *testing.T) { // spec/runtime.md 3.2
	t.Parallel()
	g := agent.NewGraph[xy]("cmd").
		Node("a", add("a")).Node("b", add("b")).
		Edge(agent.Start, "a").Branch("a", func(xy) string { return agent.End }, "b").MustCompile()
	th := agenttest.New(g)
	_, err := th.Run(t.Context(), x("i"))
	require.NoError(t, err)

	res, err := th.Command(t.Context(), agent.Command{Update: []agent.Write{{Channel: "y", Value: json.RawMessage(`"u"`)}}})
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	require.Equal(t, []string{"checkpoint.announced  input 2", `values  {"x":["i","a"],"y":"u"}`, "checkpoint.saved  input 2 []"}, script(res.Events))

	res, err = th.Command(t.Context(), agent.Command{Goto: []agent.Target{{Node: "b"}}})
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	require.JSONEq(t, `{"x":["i","a","b"],"y":"u"}`, stateOf(t, th, ""))
	require.Equal(t, []string{"loop", "input", "input", "loop", "loop", "input"}, sources(th))
}

func TestExitOnlyStoresOneCheckpoint(t *testing.T) { // spec/runtime.md 1.12
	t.Parallel()
	child := agent.NewGraph[xy]("child").
		Node("ask", func(ctx agent.Context, s xy) (agent.Update, error) {
			if s.Y == "" {
				return nil, nil
			}
			r, err := agent.Interrupt[string](ctx, s.Y)
			return agent.Set("y", r), err
		}).Edge(agent.Start, "ask").MustCompile()
	g := agent.NewGraph[xy]("exit").
		Node("a", add("a")).Subgraph("p", child).
		Edge(agent.Start, "a").Edge("a", "p").MustCompile()
	th := agenttest.New(g)
	run := func(input string) agenttest.Result {
		exec := th.Execution()
		exec.Input, exec.ExitOnly = json.RawMessage(input), true
		res, err := th.Start(t.Context(), exec)
		require.NoError(t, err)
		return res
	}
	res := run(`{"x":["i"]}`)
	require.Equal(t, "success", res.Status)
	require.Len(t, th.History(""), 1)
	require.Len(t, th.Namespaces(), 1, "a nested graph that ended leaves nothing")
	require.JSONEq(t, `{"x":["i","a","i","a"]}`, stateOf(t, th, ""))
	first := th.History("")[0]

	res = run(`{"x":[],"y":"q"}`)
	require.True(t, res.Suspended)
	require.Len(t, th.History(""), 2)
	require.Equal(t, first.ID, th.History("")[0].ParentID)
	require.Len(t, th.Namespaces(), 2)
	require.Len(t, th.Pending(), 1)
	res, err := th.Resume(t.Context(), "A")
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	require.JSONEq(t, `"A"`, string(valueOf(t, th, "y")))
}

func TestStatefulSubgraphKeepsItsState(t *testing.T) { // spec/runtime.md 1.10
	t.Parallel()
	child := agent.NewGraph[xy]("child", agent.Stateful()).
		Node("c", func(ctx agent.Context, s xy) (agent.Update, error) {
			if s.Y == "ask" {
				r, err := agent.Interrupt[string](ctx, len(s.X))
				return x(r), err
			}
			return x("c"), nil
		}).Edge(agent.Start, "c").MustCompile()
	type outer struct {
		Y string `json:"y"`
	}
	g := agent.NewGraph[outer]("parent").Subgraph("p", child).Edge(agent.Start, "p").MustCompile()
	th := agenttest.New(g)
	for range 2 {
		_, err := th.Run(t.Context(), map[string]string{"y": "go"})
		require.NoError(t, err)
	}
	require.Equal(t, []string{"", "p"}, th.Namespaces())
	require.JSONEq(t, `["c","c"]`, string(th.History("p")[0].Channels["x"].Value.JSON))
	res, err := th.Run(t.Context(), map[string]string{"y": "ask"})
	require.NoError(t, err)
	require.True(t, res.Suspended)
	_, err = th.Resume(t.Context(), "A")
	require.NoError(t, err)
	require.JSONEq(t, `["c","c","A"]`, string(th.History("p")[0].Channels["x"].Value.JSON))

	// A replay starts from the child's state at that point.
	_, err = th.RunFrom(t.Context(), th.History("")[7].ID, nil) // step 0 of the first run
	require.NoError(t, err)
	require.JSONEq(t, `["c"]`, string(th.History("p")[0].Channels["x"].Value.JSON))
}

func TestUntrackedKeysAreShownAndNotStored(t *testing.T) {
	t.Parallel()
	type state struct {
		Kept   string `json:"kept"`
		Secret string `json:"secret" agent:"untracked"`
		Once   string `json:"once" agent:"ephemeral"`
	}
	var seen []string
	g := agent.NewGraph[state]("untracked").
		Node("a", func(_ agent.Context, s state) (agent.Update, error) {
			seen = append(seen, s.Secret+s.Once)
			return agent.Set("kept", "k"), nil
		}).
		Node("b", func(_ agent.Context, s state) (agent.Update, error) {
			seen = append(seen, s.Secret+s.Once)
			return nil, nil
		}).
		Edge(agent.Start, "a").Edge("a", "b").MustCompile()
	th := agenttest.New(g)
	res, err := th.Run(t.Context(), map[string]string{"secret": "s", "once": "o"})
	require.NoError(t, err)
	require.Equal(t, []string{"so", "s"}, seen)
	require.Contains(t, script(res.Events), `values  inline {"kept":"k","secret":"s"}`)
	for _, cp := range th.History("") {
		require.NotContains(t, cp.Channels, "secret")
	}
	require.JSONEq(t, `{"kept":"k"}`, stateOf(t, th, ""))
}

func TestMessageIDsAreDerivedFromTheTask(t *testing.T) { // spec/runtime.md 9, no. 18
	t.Parallel()
	fail := true
	ids := map[string]bool{}
	g := agent.NewGraph[chat]("ids").
		Node("n", func(ctx agent.Context, _ chat) (agent.Update, error) {
			ids[ctx.NewID()] = true
			return agent.Set("messages", []message.Message{message.NewAI("a"), message.NewAI("b")}), nil
		}).
		Node("m", func(agent.Context, chat) (agent.Update, error) {
			if fail {
				return nil, fmt.Errorf("boom")
			}
			return nil, nil
		}).
		Edge(agent.Start, "n").Edge(agent.Start, "m").MustCompile()
	th := agenttest.New(g)
	_, err := th.Run(t.Context(), map[string]any{"messages": []string{"hi"}})
	require.NoError(t, err)
	before := string(valueOf(t, th, "messages"))
	require.Equal(t, before, string(valueOf(t, th, "messages")), "reading twice gives the same ids")
	fail = false
	_, err = th.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, before, string(valueOf(t, th, "messages")))
	require.Len(t, ids, 1)
}
