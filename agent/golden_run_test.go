package agent_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
)

// xy is the state of the golden traces (spec/runtime.md, appendix A).
type xy struct {
	X []string `json:"x" agent:"append"`
	Y string   `json:"y"`
}

func x(values ...string) agent.Values { return agent.Values{"x": values} }

// add returns a node that appends one value to x.
func add(value string) func(agent.Context, xy) (agent.Update, error) {
	return func(agent.Context, xy) (agent.Update, error) { return x(value), nil }
}

// trace tells what a run's commits stored, in the notation of the appendix.
// Ids are named in the order of their first appearance.
func trace(th *agenttest.Thread, commits []agent.Commit) []string {
	names := map[string]string{}
	for i, cp := range slices.Backward(th.History("")) {
		_ = i
		names[cp.ID] = fmt.Sprintf("c%d", len(names))
	}
	var lines []string
	for _, c := range commits {
		for _, rec := range c.Tasks {
			line := fmt.Sprintf("W %s%s %s:", prefix(rec.NS), names[rec.CheckpointID], rec.Name)
			for _, q := range rec.Interrupts {
				line += " ?" + string(q.Value)
			}
			if rec.Error != nil {
				line += " !" + rec.Error.Message
			}
			for _, w := range rec.Writes {
				line += " " + w.Channel + "=" + string(w.Value)
			}
			lines = append(lines, line)
		}
		for _, cp := range c.Checkpoints {
			if names[cp.ID] == "" {
				names[cp.ID] = fmt.Sprintf("k%d", len(names))
			}
			lines = append(lines, fmt.Sprintf("PUT %s%s<-%s (%s,%d) %s", prefix(cp.NS), names[cp.ID], names[cp.ParentID], cp.Source, cp.Step, changed(th, cp)))
		}
	}
	return lines
}

func prefix(ns string) string {
	if ns == "" {
		return ""
	}
	name, _, _ := strings.Cut(ns, ":")
	return "[" + name + "] "
}

// changed lists the channels whose version differs from the parent's.
func changed(th *agenttest.Thread, cp *agent.Checkpoint) string {
	var parent *agent.Checkpoint
	for _, other := range th.History(cp.NS) {
		if other.ID == cp.ParentID {
			parent = other
		}
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(cp.Channels)) {
		ch := cp.Channels[name]
		if ch.Version > 0 && (parent == nil || parent.Channels[name].Version != ch.Version) {
			list = append(list, fmt.Sprintf("%s:%d", name, ch.Version))
		}
	}
	return strings.Join(list, " ")
}

func stateOf(t *testing.T, th *agenttest.Thread, ns string) string {
	t.Helper()
	s, err := th.State(t.Context(), ns)
	require.NoError(t, err)
	return string(s.State.JSON())
}

func TestGoldenTraceOfTwoQuestionsInOneNode(t *testing.T) { // A1
	t.Parallel()
	runs := 0
	g := agent.NewGraph[xy]("a1").
		Node("n", func(ctx agent.Context, _ xy) (agent.Update, error) {
			runs++
			a, err := agent.Interrupt[string](ctx, "q1")
			if err != nil {
				return nil, err
			}
			b, err := agent.Interrupt[string](ctx, "q2")
			if err != nil {
				return nil, err
			}
			return x(a + b), nil
		}).
		Edge(agent.Start, "n").MustCompile()
	th := agenttest.New(g)

	res, err := th.Run(t.Context(), x("i"))
	require.NoError(t, err)
	require.Equal(t, agent.Outcome{Status: "success", Suspended: true}, res.Outcome)
	first := th.Pending()
	res, err = th.Resume(t.Context(), "A")
	require.NoError(t, err)
	require.True(t, res.Suspended)
	second := th.Pending()
	require.NotEqual(t, first[0].ID, second[0].ID)
	res, err = th.Resume(t.Context(), "B")
	require.NoError(t, err)
	require.Equal(t, agent.Outcome{Status: "success"}, res.Outcome)
	require.Equal(t, 3, runs)

	require.Equal(t, []string{
		`W c0 __start__: x=["i"] branch:to:n=null`,
		`PUT c0<- (input,-1) __start__:1`,
		`PUT c1<-c0 (loop,0) __start__:2 branch:to:n:2 x:2`,
		`W c1 n: ?"q1"`,
		`W c1 n: ?"q1" ?"q2"`,
		`W c1 n: ?"q1" ?"q2" x=["AB"]`,
		`PUT c2<-c1 (loop,1) branch:to:n:3 x:3`,
	}, trace(th, th.Commits()))
	require.JSONEq(t, `{"x":["i","AB"]}`, stateOf(t, th, ""))
	require.JSONEq(t, `[]`, string(th.History("")[2].Channels["x"].Value.JSON))
}

func TestGoldenTraceOfResumeUpdateAndGoto(t *testing.T) { // A2, D-41
	t.Parallel()
	g := agent.NewGraph[xy]("a2").
		Node("n", func(ctx agent.Context, s xy) (agent.Update, error) {
			r, err := agent.Interrupt[string](ctx, "q")
			if err != nil {
				return nil, err
			}
			return x(r + ":" + s.Y), nil
		}, agent.Ends("other")).
		Node("other", func(_ agent.Context, s xy) (agent.Update, error) { return x("other:" + s.Y), nil }).
		Node("after", add("after")).
		Edge(agent.Start, "n").Edge("n", "after").MustCompile()
	th := agenttest.New(g)
	_, err := th.Run(t.Context(), x("i"))
	require.NoError(t, err)

	res, err := th.Command(t.Context(), agent.Command{
		Resume: json.RawMessage(`"R"`), HasResume: true, Goto: []agent.Target{{Node: "other"}},
		Update: []agent.Write{{Channel: "y", Value: json.RawMessage(`"y1"`)}, {Channel: "x", Value: json.RawMessage(`["u"]`)}},
	})
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)

	lines := trace(th, res.Commits)
	slices.Sort(lines[:2]) // n and other end in either order
	require.Equal(t, []string{
		`W c1 n: ?"q" x=["R:y1"] branch:to:after=null`,
		`W c1 other: x=["other:y1"]`,
		`PUT c2<-c1 (loop,1) branch:to:after:4 branch:to:n:4 branch:to:other:4 x:4 y:3`,
		`W c2 after: x=["after"]`,
		`PUT c3<-c2 (loop,2) branch:to:after:5 x:5`,
	}, lines)
	require.JSONEq(t, `{"x":["i","u","R:y1","other:y1","after"],"y":"y1"}`, stateOf(t, th, ""))
}

func TestGoldenTraceOfTwoSends(t *testing.T) { // A3
	t.Parallel()
	type item struct {
		K int `json:"k"`
	}
	b := agent.NewGraph[xy]("a3").
		Node("a", add("a")).
		BranchTo("a", func(agent.Context, xy) ([]agent.Target, error) {
			return []agent.Target{agent.Send("w", item{1}), agent.Send("w", item{2})}, nil
		}, "w").
		Edge(agent.Start, "a")
	agent.NodeOf(b, "w", func(_ agent.Context, in item) (agent.Update, error) { return x(fmt.Sprintf("w%d", in.K)), nil })
	th := agenttest.New(b.MustCompile())
	res, err := th.Run(t.Context(), x("i"))
	require.NoError(t, err)

	lines := trace(th, res.Commits)
	require.Equal(t, `W c1 a: x=["a"] __pregel_tasks={"node":"w","args":{"k":1}} __pregel_tasks={"node":"w","args":{"k":2}}`, lines[3])
	require.Equal(t, `PUT c2<-c1 (loop,1) __pregel_tasks:3 branch:to:a:3 x:3`, lines[4])
	require.Equal(t, `PUT c3<-c2 (loop,2) __pregel_tasks:4 x:4`, lines[7])
	require.JSONEq(t, `{"x":["i","a","w1","w2"]}`, stateOf(t, th, ""))
	rec, ok := th.Task("", th.History("")[1].ID, "w")
	require.True(t, ok)
	require.Equal(t, "~__pregel_push, 0000000000, 0000000000", rec.Path)
}

func TestGoldenTraceOfAnInterruptInASubgraph(t *testing.T) { // A4
	t.Parallel()
	child := agent.NewGraph[xy]("child").
		Node("c", func(ctx agent.Context, _ xy) (agent.Update, error) {
			r, err := agent.Interrupt[string](ctx, "cq")
			if err != nil {
				return nil, err
			}
			return x("c" + r), nil
		}).
		Edge(agent.Start, "c").MustCompile()
	g := agent.NewGraph[xy]("a4").Subgraph("p", child).Edge(agent.Start, "p").MustCompile()
	th := agenttest.New(g)
	res, err := th.Run(t.Context(), x("i"))
	require.NoError(t, err)
	require.True(t, res.Suspended)
	require.Equal(t, []string{
		`W c0 __start__: x=["i"] branch:to:p=null`,
		`PUT c0<- (input,-1) __start__:1`,
		`PUT c1<-c0 (loop,0) __start__:2 branch:to:p:2 x:2`,
		`W [p] k2 __start__: x=["i"] branch:to:c=null`,
		`PUT [p] k2<- (input,-1) __start__:1`,
		`PUT [p] k3<-k2 (loop,0) __start__:2 branch:to:c:2 x:2`,
		`W [p] k3 c: ?"cq"`,
		`W c1 p: ?"cq"`,
	}, normNested(trace(th, res.Commits)))
	ns := th.Namespaces()[1]
	require.Equal(t, map[string]string{"": th.History("")[0].ID}, th.History(ns)[0].Parents)

	res, err = th.Resume(t.Context(), "R")
	require.NoError(t, err)
	require.False(t, res.Suspended)
	require.JSONEq(t, `{"x":["i","cR"]}`, stateOf(t, th, ns))
	require.JSONEq(t, `{"x":["i","i","cR"]}`, stateOf(t, th, ""))
	require.Len(t, th.History(ns), 3)
	require.Len(t, th.History(""), 3)
}

// normNested fills in the name of a nested checkpoint that is stored after the records of its tasks.
func normNested(lines []string) []string {
	for i, l := range lines {
		lines[i] = strings.Replace(l, "W [p]  __start__", "W [p] k2 __start__", 1)
	}
	return lines
}

func TestGoldenTraceOfAFailureBesideAFinishedSibling(t *testing.T) { // A5
	t.Parallel()
	fail := true
	started := make(chan struct{})
	g := agent.NewGraph[xy]("a5").
		Node("a", func(agent.Context, xy) (agent.Update, error) { close(started); return x("a"), nil }).
		Node("b", func(agent.Context, xy) (agent.Update, error) {
			if fail {
				<-started
				return nil, fmt.Errorf("boom")
			}
			return x("b"), nil
		}).
		Edge(agent.Start, "a").Edge(agent.Start, "b").MustCompile()
	th := agenttest.New(g)
	res, err := th.Run(t.Context(), x("i"))
	require.NoError(t, err)
	require.Equal(t, agent.Outcome{Status: "error", Err: &agent.ErrorInfo{Name: "Error", Message: "boom"}}, res.Outcome)
	lines := trace(th, res.Commits)[3:]
	slices.Sort(lines)
	require.Equal(t, []string{`W c1 a: x=["a"]`, `W c1 b: !boom`}, lines)

	fail = false
	res, err = th.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, []string{`W c1 b: x=["b"]`, `PUT c2<-c1 (loop,1) branch:to:a:3 branch:to:b:3 x:3`}, trace(th, res.Commits))
	require.JSONEq(t, `{"x":["i","a","b"]}`, stateOf(t, th, ""))
}
