package agent

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUpdateGoesOnAsIfItsNodeHadReturned(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		edit  Edit
		next  []string
		state string
	}{
		"static edges":      {Edit{AsNode: "a", Values: raw(`{"out":["u"]}`)}, []string{"b", "c"}, `{"messages":[],"out":["a","u"],"n":1}`},
		"conditional edge":  {Edit{AsNode: "b", Values: raw(`{"n":2}`)}, []string{"d"}, `{"messages":[],"out":["a"],"n":2}`},
		"edge to the end":   {Edit{AsNode: "b", Values: raw(`{"n":101}`)}, []string{}, `{"messages":[],"out":["a"],"n":101}`},
		"null values":       {Edit{AsNode: "c"}, []string{"d"}, `{"messages":[],"out":["a"],"n":1}`},
		"list of objects":   {Edit{AsNode: "c", Values: raw(`[{"out":["u"]},{"out":["v"]}]`)}, []string{"d"}, `{"messages":[],"out":["a","u","v"],"n":1}`},
		"unknown keys":      {Edit{AsNode: "c", Values: raw(`{"zzz":1}`)}, []string{"d"}, `{"messages":[],"out":["a"],"n":1}`},
		"command":           {Edit{AsNode: "c", Command: &Command{Update: []Write{{"n", raw("7")}}, Goto: []Target{{Node: "x"}}}}, []string{"d", "x"}, `{"messages":[],"out":["a"],"n":7}`},
		"end drops tasks":   {Edit{AsNode: End}, []string{}, `{"messages":[],"out":["a"],"n":1}`},
		"derived: a again":  {Edit{Values: raw(`{"n":3}`)}, []string{"b", "c"}, `{"messages":[],"out":["a"],"n":3}`},
		"repeat":            {Edit{}, []string{"b", "c"}, `{"messages":[],"out":["a"],"n":1}`},
		"overwrite":         {Edit{AsNode: "c", Values: raw(`{"out":{"__overwrite__":["only"]}}`)}, []string{"d"}, `{"messages":[],"out":["only"],"n":1}`},
		"as if it were run": {Edit{AsNode: inputNode, Values: raw(`{"n":9,"zzz":1}`)}, []string{Start}, `{"messages":[],"out":["a"],"n":1}`},
	} {
		h := running(t)
		base := h.head().Checkpoint
		h.edit(tc.edit)
		cp := h.head().Checkpoint
		require.Equal(t, base.ID, cp.ParentID, name)
		require.Equal(t, base.Step+1, cp.Step, name)
		source := SourceUpdate
		if tc.edit.AsNode == inputNode {
			source = SourceInput
		}
		require.Equal(t, source, cp.Source, name)
		s := h.snapshot(true)
		require.Equal(t, tc.next, s.Next, name)
		require.JSONEq(t, tc.state, string(s.State.JSON()), name)
	}
}

// running is a thread on which a has just run: it is the node that saw the newest version.
func running(t *testing.T) *history {
	h := newHistory(t, flowGraph(t))
	h.edit(Edit{AsNode: inputNode, Values: raw(`{"n":1}`)}, Edit{AsNode: Start, Values: raw(`{"n":1}`)})
	h.step(map[string]Values{"a": {"out": []string{"a"}}})
	return h
}

// step makes the checkpoint of a whole superstep, as the loop does.
func (h *history) step(results map[string]Values) {
	h.t.Helper()
	for node, values := range results {
		h.done(node, values)
	}
	base := h.head()
	ch := newChannels(h.g, base.Checkpoint)
	require.NoError(h.t, ch.apply(withWrites(ch.pending(h.g, base))))
	h.add(&EditResult{Checkpoints: []*Checkpoint{ch.freeze(checkpointHead{
		ID: h.Checkpoint(), ParentID: base.Checkpoint.ID, Source: SourceLoop, Step: base.Checkpoint.Step + 1, At: h.now,
	})}})
}

func TestUpdateOfAnEmptyThread(t *testing.T) {
	t.Parallel()
	h := newHistory(t, flowGraph(t))
	h.edit(Edit{Values: raw(`{"n":5}`)})
	require.Equal(t, []string{`0 update [a] {"messages":[],"out":[],"n":5}`}, h.lines(), "derived as __start__")
	require.Empty(t, h.head().Checkpoint.ParentID)

	h = newHistory(t, flowGraph(t))
	h.edit(Edit{})
	require.Equal(t, []string{`0 update [] {"messages":[],"out":[]}`}, h.lines())
}

// api.test 54: a thread made from recorded supersteps has the history of the original.
func TestSupersteppedCopyHasTheSameHistory(t *testing.T) {
	t.Parallel()
	original := running(t)
	original.step(map[string]Values{"b": {"out": []string{"b"}, "n": 2}, "c": {"messages": []any{map[string]any{"type": "ai", "id": "m", "content": "c"}}}})
	original.step(map[string]Values{"d": {"out": []string{"d"}}})

	copied := newHistory(t, flowGraph(t))
	r, err := copied.g.EditState(t.Context(), EditRequest{Clock: copied, IDs: copied, Supersteps: [][]Edit{
		{{AsNode: inputNode, Values: raw(`{"n":1}`)}},
		{{AsNode: Start, Values: raw(`{"n":1}`)}},
		{{AsNode: "a", Values: raw(`{"out":["a"]}`)}},
		{ // in the order of their completion
			{AsNode: "c", Values: raw(`{"messages":[{"type":"ai","id":"m","content":"c"}]}`)},
			{AsNode: "b", Values: raw(`{"n":2,"out":["b"]}`)},
		},
		{{AsNode: "d", Values: raw(`{"out":["d"]}`)}},
	}})
	require.NoError(t, err)
	copied.add(r)
	require.Len(t, r.Checkpoints, 5)
	strip := func(h *history) (states []string) {
		for _, tuple := range h.tuples[""] {
			s, err := h.g.SnapshotOf(t.Context(), nil, tuple, false, false)
			require.NoError(t, err)
			line, err := json.Marshal([]any{tuple.Checkpoint.Step, s.Next, s.State})
			require.NoError(t, err)
			states = append(states, string(line))
		}
		return states
	}
	require.Equal(t, strip(original), strip(copied))
	for i, cp := range r.Checkpoints[1:] {
		require.Equal(t, r.Checkpoints[i].ID, cp.ParentID)
		require.Greater(t, cp.ID, r.Checkpoints[i].ID)
	}
}

func TestFinishedTasksCountAsRunUnlessTheBaseIsNamed(t *testing.T) {
	t.Parallel()
	h := running(t)
	h.done("c", Values{"out": []string{"c"}})
	h.ask("b", 1, qid("1"), qid("2"))
	req := EditRequest{Base: h.head(), Clock: h, IDs: h, Supersteps: [][]Edit{{{Values: raw(`{"n":2}`)}}}}
	r, err := h.g.EditState(t.Context(), req)
	require.NoError(t, err)
	s, err := h.g.SnapshotOf(t.Context(), nil, &Tuple{Checkpoint: r.Checkpoints[0]}, true, false)
	require.NoError(t, err)
	require.JSONEq(t, `{"messages":[],"out":["a","c"],"n":2}`, string(s.State.JSON()), "c ran last; half-answered b did not")
	require.Equal(t, []string{"d"}, s.Next)

	req.BaseAddressed = true
	r, err = h.g.EditState(t.Context(), req)
	require.NoError(t, err)
	s, err = h.g.SnapshotOf(t.Context(), nil, &Tuple{Checkpoint: r.Checkpoints[0]}, true, false)
	require.NoError(t, err)
	require.JSONEq(t, `{"messages":[],"out":["a"],"n":2}`, string(s.State.JSON()))
	require.Equal(t, []string{"b", "c"}, s.Next)
	require.Empty(t, r.Tasks, "a named base isn't the newest for sure: nothing is stored on it")
}

// The other half of the trap of spec/runtime.md 1.11: the half-answered node isn't skipped.
func TestUpdateOfAHalfAnsweredThreadLeavesTheNodePending(t *testing.T) {
	t.Parallel()
	h := newHistory(t, flowGraph(t))
	h.edit(Edit{AsNode: "c", Values: raw(`{"n":1}`)})
	h.ask("d", 1, qid("1"), qid("2"))
	before := h.task("d")
	h.head().Checkpoint.Seen = map[string]map[string]int64{"c": {"branch:to:c": 1}}
	h.edit(Edit{Values: raw(`{"n":2}`)})
	s := h.snapshot(true)
	require.Equal(t, []string{"d"}, s.Next)
	require.Empty(t, openIDs(viewOf(t, s, "d")), "it asks again when the thread goes on")
	after := h.task("d")
	require.NotEqual(t, before.id, after.id)
	require.Equal(t, before.origin, after.origin, "what it has done before isn't done again (decisions 6)")
}

func TestRepeatKeepsAndCopyDropsTheJournal(t *testing.T) {
	t.Parallel()
	for asNode, same := range map[string]bool{"": true, asCopy: false} {
		h := running(t)
		before := h.task("b")
		h.edit(Edit{AsNode: asNode})
		require.Equal(t, same, before.origin == h.task("b").origin, asNode)
	}
}

func TestCopyStandsBesideItsOriginal(t *testing.T) {
	t.Parallel()
	h := running(t)
	original := h.head().Checkpoint
	h.edit(Edit{AsNode: asCopy})
	cp := h.head().Checkpoint
	require.Equal(t, SourceFork, cp.Source)
	require.Equal(t, original.ParentID, cp.ParentID)
	require.Equal(t, original.Step+1, cp.Step)
	require.Equal(t, []string{"b", "c"}, h.snapshot(true).Next)
}

func TestCopyTakesResultsForItsTasks(t *testing.T) {
	t.Parallel()
	h := running(t)
	h.edit(Edit{AsNode: asCopy, Values: raw(`[[{"out":["b"]},"b"],[{"out":["c"]},"c"]]`)})
	list := h.tuples[""]
	fork, last := list[len(list)-2], list[len(list)-1]
	require.Equal(t, SourceFork, fork.Checkpoint.Source)
	require.Equal(t, fork.Checkpoint.ID, last.Checkpoint.ParentID)
	s, err := h.g.SnapshotOf(t.Context(), nil, fork, false, false)
	require.NoError(t, err)
	require.JSONEq(t, `{"out":["b"]}`, string(viewOf(t, s, "b").Result))
	require.JSONEq(t, `{"out":["c"]}`, string(viewOf(t, s, "c").Result))
	s = h.snapshot(true)
	require.Equal(t, []string{"d"}, s.Next)
	require.JSONEq(t, `{"messages":[],"out":["a","b","c"],"n":1}`, string(s.State.JSON()))
}

func TestMessageIDsOfAnUpdateAreAssignedOnce(t *testing.T) {
	t.Parallel()
	h := running(t)
	ids := map[string]bool{}
	for range 2 { // equal edits of one base: two branches, two messages
		r, err := h.tryEdit(Edit{AsNode: "c", Values: raw(`{"messages":["hi",{"role":"ai","content":"x"}]}`)})
		require.NoError(t, err)
		list := r.Checkpoints[0].Channels["messages"].Value.List
		for _, m := range list.All() {
			require.NotEmpty(t, m.ID)
			ids[m.ID] = true
		}
		require.Contains(t, string(r.Tasks[0].Writes[0].Value), list.At(0).ID, "the stored write has them, too")
	}
	require.Len(t, ids, 4)
}

func TestNestedGraphIsUpdatedInItsNamespace(t *testing.T) {
	t.Parallel()
	h, ns := nestedHistory(t)
	base := h.tuples[ns][len(h.tuples[ns])-1]
	r, err := h.g.SubgraphAt(ns).EditState(t.Context(), EditRequest{
		NS: ns, Base: base, Clock: h, IDs: h, Supersteps: [][]Edit{{{Values: raw(`{"n":3}`), AsNode: "one"}}},
	})
	require.NoError(t, err)
	cp := r.Checkpoints[0]
	require.Equal(t, ns, cp.NS)
	require.Equal(t, base.Checkpoint.Parents, cp.Parents)
	require.Equal(t, ns, r.Tasks[0].NS)
	h.add(r)
	s, err := h.g.SnapshotOf(t.Context(), historyReader{h}, h.head(), true, true)
	require.NoError(t, err)
	nested := viewOf(t, s, "sub").Subgraph
	require.Equal(t, []string{"two"}, nested.Next)
	require.JSONEq(t, `3`, string(nested.State.JSON()[len(nested.State.JSON())-2:len(nested.State.JSON())-1]))
}

func TestInvalidUpdatesAreRefused(t *testing.T) {
	t.Parallel()
	one := func(e Edit) [][]Edit { return [][]Edit{{e}} }
	for name, tc := range map[string]struct {
		steps [][]Edit
		want  string
	}{
		"no superstep":            {nil, "no supersteps"},
		"empty superstep":         {[][]Edit{{}}, "no updates"},
		"unknown node":            {one(Edit{AsNode: "nope", Values: raw(`{}`)}), `Node "nope" does not exist`},
		"values for the end":      {one(Edit{AsNode: End, Values: raw(`{"n":1}`)}), `Node "__end__" does not exist`},
		"no node, two updates":    {[][]Edit{{{Values: raw(`{}`)}, {AsNode: "b"}}}, "asNode"},
		"copy beside another":     {[][]Edit{{{AsNode: asCopy}, {AsNode: "b"}}}, "excludes"},
		"input beside another":    {[][]Edit{{{AsNode: "b"}, {AsNode: inputNode, Values: raw(`{}`)}}}, "excludes"},
		"input without values":    {one(Edit{AsNode: inputNode}), "no input writes"},
		"no object":               {one(Edit{AsNode: "b", Values: raw(`"x"`)}), "object"},
		"two values":              {[][]Edit{{{AsNode: "b", Values: raw(`{"n":1}`)}, {AsNode: "c", Values: raw(`{"n":2}`)}}}, "LastValue"},
		"wrong type":              {one(Edit{AsNode: "b", Values: raw(`{"n":"x"}`)}), `state key "n"`},
		"unknown message":         {one(Edit{AsNode: "c", Values: raw(`{"messages":{"type":"remove","id":"gone"}}`)}), "gone"},
		"goto an unknown node":    {one(Edit{AsNode: "c", Command: &Command{Goto: []Target{{Node: "nope"}}}}), `"nope" is not a node`},
		"command to the parent":   {one(Edit{AsNode: "c", Command: &Command{Parent: true}}), "parent"},
		"second superstep fails":  {[][]Edit{{{AsNode: "c"}}, {{AsNode: "nope"}}}, `Node "nope" does not exist`},
		"copy of a copy's update": {one(Edit{AsNode: asCopy, Values: raw(`[[{}, 3]]`)}), "[values, asNode]"},
	} {
		h := running(t)
		r, err := h.g.EditState(t.Context(), EditRequest{Base: h.head(), Clock: h, IDs: h, Supersteps: tc.steps})
		var invalid *InvalidUpdateError
		require.ErrorAs(t, err, &invalid, name)
		require.ErrorContains(t, err, tc.want, name)
		require.Nil(t, r, name)
	}
	h := newHistory(t, flowGraph(t))
	_, err := h.tryEdit(Edit{AsNode: asCopy})
	require.ErrorContains(t, err, "non-existent")

	h = running(t)
	h.step(map[string]Values{"b": nil, "c": nil})
	_, err = h.tryEdit(Edit{Values: raw(`{"n":2}`)})
	require.ErrorContains(t, err, "Ambiguous update", "b and c ran in one superstep")
}
