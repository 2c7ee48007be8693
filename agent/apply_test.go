package agent

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type kinds struct {
	Last   string   `json:"last"`
	List   []string `json:"list" agent:"append"`
	Bare   []string `json:"bare" agent:"append,nodefault"`
	Any    string   `json:"any" agent:"any"`
	Topic  []string `json:"topic" agent:"topic,unique"`
	All    []string `json:"all" agent:"topic,accumulate"`
	Number int      `json:"number" agent:"default=7"`
	Hidden string   `json:"hidden" agent:"private"`
}

func kindsGraph(t testing.TB) *Graph {
	t.Helper()
	nothing := func(Context, kinds) (Update, error) { return nil, nil }
	g, err := NewGraph[kinds]("kinds").
		Node("a", nothing).Node("b", nothing).Node("late", nothing, Defer()).Node("both", nothing).
		Edge(Start, "a").Edge(Start, "b").Edge("a", "late").Join([]string{"a", "b"}, "both").
		Compile()
	require.NoError(t, err)
	return g
}

func writes(pairs ...string) []Write {
	var list []Write
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, Write{Channel: pairs[i], Value: json.RawMessage(pairs[i+1])})
	}
	return list
}

func task(id, path string, w []Write, triggers ...string) taskWrites {
	return taskWrites{id: id, name: id, path: path, triggers: triggers, writes: w}
}

func stateJSON(c *channels) string { return string(c.state(c.g.keys).JSON()) }

func TestChannelKinds(t *testing.T) { // spec/runtime.md 1.2
	t.Parallel()
	for name, c := range map[string]struct {
		steps [][]Write // the writes of one task each, applied as parallel tasks of one superstep
		state string
		err   string
	}{
		"defaults":                  {nil, `{"list":[],"number":7}`, ""},
		"last value":                {[][]Write{writes("last", `"x"`)}, `{"last":"x","list":[],"number":7}`, ""},
		"last value twice":          {[][]Write{writes("last", `"x"`), writes("last", `"y"`)}, "", "LastValue can only receive one value per step"},
		"append in task order":      {[][]Write{writes("list", `["x"]`), writes("list", `["y"]`, "list", `"z"`)}, `{"list":["x","y","z"],"number":7}`, ""},
		"no default":                {[][]Write{writes("bare", `["x"]`)}, `{"list":[],"bare":["x"],"number":7}`, ""},
		"overwrite":                 {[][]Write{writes("list", `["x"]`), writes("list", `{"__overwrite__":["y"]}`)}, `{"list":["y"],"number":7}`, ""},
		"typed overwrite":           {[][]Write{writes("list", `{"type":"__overwrite__","value":["y"]}`)}, `{"list":["y"],"number":7}`, ""},
		"overwrite twice":           {[][]Write{writes("list", `{"__overwrite__":[]}`), writes("list", `{"__overwrite__":[]}`)}, "", "only one Overwrite"},
		"any value":                 {[][]Write{writes("any", `"x"`), writes("any", `"y"`)}, `{"list":[],"any":"y","number":7}`, ""},
		"topic without duplicates":  {[][]Write{writes("topic", `"x"`), writes("topic", `["x","y"]`)}, `{"list":[],"topic":["x","y"],"number":7}`, ""},
		"unknown channels are lost": {[][]Write{writes("nobody", `1`, "__error__", `2`)}, `{"list":[],"number":7}`, ""},
		"a barrier takes its nodes": {[][]Write{writes("join:a+b:both", `"c"`)}, "", "not one of the nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ch := newChannels(kindsGraph(t), nil)
			before := stateJSON(ch)
			var tasks []taskWrites
			for i, w := range c.steps {
				tasks = append(tasks, task(fmt.Sprint(i), pullPath(fmt.Sprint(i)), w))
			}
			err := ch.apply(tasks)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				require.Equal(t, before, stateJSON(ch), "nothing has changed")
				var invalid *InvalidUpdateError
				require.ErrorAs(t, err, &invalid)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.state, stateJSON(ch))
		})
	}
}

func TestTopicsEmptyAndEphemeralsPass(t *testing.T) {
	t.Parallel()
	ch := newChannels(kindsGraph(t), nil)
	require.NoError(t, ch.apply([]taskWrites{task("in", nullPath, writes(Start, `{}`, "topic", `"x"`, "all", `"x"`))}))
	require.True(t, ch.available(Start))
	require.NoError(t, ch.apply([]taskWrites{task(Start, pullPath(Start), writes("all", `"y"`), Start)}))
	require.False(t, ch.available(Start))
	require.Equal(t, `{"list":[],"all":["x","y"],"number":7}`, stateJSON(ch))
	require.Equal(t, int64(2), ch.values[Start].Version)
	require.Equal(t, int64(2), ch.values["topic"].Version)
	require.Equal(t, int64(1), ch.seen[Start][Start])
}

func TestVersionsRiseByOneForEachSuperstep(t *testing.T) { // spec/runtime.md 1.4
	t.Parallel()
	ch := newChannels(kindsGraph(t), nil)
	require.NoError(t, ch.apply([]taskWrites{task("1", nullPath, writes("last", `1`, "any", `1`))}))
	require.NoError(t, ch.apply([]taskWrites{task("2", nullPath, writes("any", `2`))}))
	require.Equal(t, int64(1), ch.values["last"].Version)
	require.Equal(t, int64(2), ch.values["any"].Version)
}

func TestBarrierIsConsumedByItsReader(t *testing.T) {
	t.Parallel()
	g := kindsGraph(t)
	ch := newChannels(g, nil)
	join := "join:a+b:both"
	require.NoError(t, ch.apply([]taskWrites{task("a", pullPath("a"), writes(join, `"a"`))}))
	require.False(t, ch.available(join))
	require.NoError(t, ch.apply([]taskWrites{task("b", pullPath("b"), writes(join, `"b"`))}))
	require.True(t, ch.available(join))
	require.Equal(t, join, ch.trigger(g.byName["both"]))
	require.NoError(t, ch.apply([]taskWrites{task("both", pullPath("both"), nil, g.byName["both"].triggers...)}))
	require.False(t, ch.available(join))
	require.Empty(t, ch.trigger(g.byName["both"]))
}

func TestDeferredTriggerWaitsUntilNothingElseRuns(t *testing.T) {
	t.Parallel()
	g := kindsGraph(t)
	ch := newChannels(g, nil)
	late := branchChannel("late")
	require.NoError(t, ch.apply([]taskWrites{task("a", pullPath("a"), writes(late, `null`, branchChannel("b"), `null`), branchChannel("a"))}))
	require.Empty(t, ch.trigger(g.byName["late"]), "b runs first")
	require.NoError(t, ch.apply([]taskWrites{task("b", pullPath("b"), nil, branchChannel("b"))}))
	require.Equal(t, late, ch.trigger(g.byName["late"]))
	require.NoError(t, ch.apply([]taskWrites{task("late", pullPath("late"), nil, late)}))
	require.Empty(t, ch.trigger(g.byName["late"]))
}

func TestFrozenCheckpointsAreNotChangedByWhatFollows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := kindsGraphOnce()
		ch := newChannels(g, nil)
		var frozen []*Checkpoint
		var shown []string
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			var tasks []taskWrites
			for i := range rapid.IntRange(0, 3).Draw(t, "tasks") {
				key := rapid.SampledFrom([]string{"list", "bare", "any", "topic", "all"}).Draw(t, "key")
				value := fmt.Sprintf("%q", rapid.StringMatching("[a-c]").Draw(t, "value"))
				tasks = append(tasks, task(fmt.Sprint(i), pullPath(fmt.Sprint(i)), writes(key, value), branchChannel("a")))
			}
			reversed := make([]taskWrites, len(tasks))
			for i, task := range tasks {
				reversed[len(tasks)-1-i] = task
			}
			other, err := ch.applied(reversed)
			require.NoError(t, err)
			require.NoError(t, ch.apply(tasks))
			require.Equal(t, stateJSON(ch), stateJSON(other), "the order of arrival doesn't matter")
			frozen = append(frozen, ch.freeze(checkpointHead{ID: fmt.Sprint(len(frozen))}))
			shown = append(shown, stateJSON(ch))
		}
		for i, cp := range frozen {
			require.Equal(t, shown[i], stateJSON(newChannels(g, cp)))
		}
	})
}

// kindsGraphOnce is kindsGraph where there is no testing.TB.
func kindsGraphOnce() *Graph {
	nothing := func(Context, kinds) (Update, error) { return nil, nil }
	return NewGraph[kinds]("kinds").Node("a", nothing).Edge(Start, "a").MustCompile()
}

func TestPathsSortPullBeforeSendAndSendsByNumber(t *testing.T) { // spec/runtime.md 1.4
	t.Parallel()
	sorted := []string{nullPath, pullPath("a"), pullPath("b"), sendPath(0), sendPath(2), sendPath(10)}
	require.IsIncreasing(t, sorted)
	require.Equal(t, "~__pregel_push, 0000000010, 0000000000", sendPath(10))
	require.JSONEq(t, `["__pregel_push",2,false]`, string(sendPathJSON(2)))
}

func TestTaskAndInterruptIDs(t *testing.T) { // recorded from the reference, spec/runtime.md 1.6, 2.2
	t.Parallel()
	require.Equal(t, "18fb98ba1d567f8c973d1dcbf87e2420", interruptID("agent:6794d6dd-c2d7-5135-ac61-3dcceafff202", 0))
	require.Equal(t, "6794d6dd-c2d7-5135-ac61-3dcceafff202", pullTaskID("1f1ecaf4-485d-6710-8000-e2e84c607b2f", "", 1, "agent", "branch:to:agent"))
	require.NotEqual(t, interruptID("n:t", 0), interruptID("n:t", 1))
	require.NotEqual(t, sendTaskID("c", "", 1, "w", 0), sendTaskID("c", "", 1, "w", 1))
	require.Equal(t, sendTaskID("c", "", 1, "w", 0), sendTaskID("c", "", 1, "w", 0))
}

func TestCompileRefusesBrokenGraphs(t *testing.T) { // spec/runtime.md 1.1
	t.Parallel()
	nothing := func(Context, kinds) (Update, error) { return nil, nil }
	start := func() *Builder[kinds] { return NewGraph[kinds]("g").Node("a", nothing).Edge(Start, "a") }
	for want, b := range map[string]*Builder[kinds]{
		`two nodes named "a"`:          start().Node("a", nothing),
		`"x:y" can't be a node name`:   start().Node("x:y", nothing).Edge("a", "x:y"),
		`"list" is a node and a state`: start().Node("list", nothing).Edge("a", "list"),
		`edge from "a" to "b"`:         start().Edge("a", "b"),
		`branch from "a" to "b"`:       start().Branch("a", func(kinds) string { return "b" }, "b"),
		`join to "b"`:                  start().Join([]string{"a"}, "b"),
		`node "b" is not reachable`:    start().Node("b", nothing),
		`unknown end "b"`:              start().Node("c", nothing, Ends("b")).Edge("a", "c"),
		`unknown error handler "b"`:    start().Node("c", nothing, OnError("b")).Edge("a", "c"),
		`has no edge from __start__`:   NewGraph[kinds]("g").Node("a", nothing),
		`reducer for "nope"`:           NewGraph[kinds]("g", Reducer("nope", nil, func(a, _ int) (int, error) { return a, nil })).Node("a", nothing).Edge(Start, "a"),
		`breakpoint at "nope"`:         NewGraph[kinds]("g", InterruptBefore("nope")).Node("a", nothing).Edge(Start, "a"),
	} {
		_, err := b.Compile()
		require.ErrorContains(t, err, want)
	}
	_, err := NewGraph[struct {
		X int `json:"x" agent:"sum"`
	}]("g").Compile()
	require.ErrorContains(t, err, `unknown tag "sum"`)
	b := start()
	first, err := b.Compile()
	require.NoError(t, err)
	again, err := b.Compile()
	require.NoError(t, err)
	require.Same(t, first, again)
}

func TestSchemaKeysFollowTheTags(t *testing.T) {
	t.Parallel()
	g := kindsGraph(t)
	require.NotContains(t, g.inputKeys, "hidden")
	require.NotContains(t, g.outputKeys, "hidden")
	require.Contains(t, g.keys, "hidden")
}

func TestValuesOfAnotherVersionOfTheGraphAreAdapted(t *testing.T) {
	t.Parallel()
	cp := &Checkpoint{Channels: map[string]Channel{
		"messages": {Version: 1, Value: &Value{JSON: json.RawMessage(`["hi"]`)}},
		"gone":     {Version: 1, Value: &Value{JSON: json.RawMessage(`1`)}},
	}}
	g, err := NewGraph[struct {
		Messages json.RawMessage `json:"messages" agent:"messages"`
	}]("g").Node("a", func(Context, struct {
		Messages json.RawMessage `json:"messages" agent:"messages"`
	}) (Update, error) {
		return nil, nil
	}).Edge(Start, "a").Compile()
	require.NoError(t, err)
	ch := newChannels(g, cp)
	require.Equal(t, 1, ch.values["messages"].Value.List.Len())
}
