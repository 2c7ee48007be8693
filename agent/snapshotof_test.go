package agent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// forked is a thread whose nodes b and c are next.
func forked(t *testing.T) *history {
	h := newHistory(t, flowGraph(t))
	h.edit(Edit{AsNode: inputNode, Values: raw(`{"n":1}`)}, Edit{AsNode: Start, Values: raw(`{"n":1}`)}, Edit{AsNode: "a", Values: raw(`{"out":["a"]}`)})
	return h
}

func viewOf(t *testing.T, s *Snapshot, node string) TaskView {
	t.Helper()
	for _, v := range s.Tasks {
		if v.Name == node {
			return v
		}
	}
	require.Fail(t, "no task view", node)
	return TaskView{}
}

func openIDs(v TaskView) []string {
	ids := []string{}
	for _, q := range v.Interrupts {
		ids = append(ids, q.ID)
	}
	return ids
}

func TestSnapshotOfAnEmptyThread(t *testing.T) {
	t.Parallel()
	s, err := flowGraph(t).SnapshotOf(t.Context(), nil, nil, true, true)
	require.NoError(t, err)
	require.Empty(t, s.CheckpointID)
	require.Equal(t, "{}", string(s.State.JSON()))
	require.Empty(t, s.Next)
	require.NotNil(t, s.Next)
}

func TestSnapshotDescribesItsCheckpoint(t *testing.T) {
	t.Parallel()
	h := forked(t)
	s := h.snapshot(true)
	require.Equal(t, h.head().Checkpoint.ID, s.CheckpointID)
	require.Equal(t, h.head().Checkpoint.ParentID, s.ParentID)
	require.Equal(t, h.now, s.CreatedAt)
	require.Nil(t, s.Map)
	require.Nil(t, s.ParentMap)
	require.JSONEq(t, `"update"`, string(s.Metadata["source"]))
	require.JSONEq(t, `1`, string(s.Metadata["step"]))
	require.JSONEq(t, `{}`, string(s.Metadata["parents"]))
	require.JSONEq(t, `"test"`, string(s.Metadata["by"]))
	require.NotContains(t, h.head().Checkpoint.Metadata, "source", "the checkpoint's own metadata is left alone")
	require.JSONEq(t, `{"messages":[],"out":["a"],"n":1}`, string(s.State.JSON()), "keys without a value are absent")
	require.Equal(t, []string{"b", "c"}, s.Next)
	require.JSONEq(t, `["__pregel_pull","b"]`, string(viewOf(t, s, "b").Path))
}

func TestFinishedSiblingsCountInTheNewestStateOnly(t *testing.T) {
	t.Parallel()
	h := forked(t)
	h.done("c", Values{"out": []string{"c"}})
	h.ask("b", 0, qid("1"))

	latest := h.snapshot(true)
	require.Equal(t, []string{"b"}, latest.Next)
	require.JSONEq(t, `{"messages":[],"out":["a","c"],"n":1}`, string(latest.State.JSON()))
	require.JSONEq(t, `{"out":["c"]}`, string(viewOf(t, latest, "c").Result))
	require.Nil(t, viewOf(t, latest, "b").Result)

	old := h.snapshot(false)
	require.Equal(t, []string{"b", "c"}, old.Next)
	require.JSONEq(t, `{"messages":[],"out":["a"],"n":1}`, string(old.State.JSON()))
	require.JSONEq(t, `{"out":["c"]}`, string(viewOf(t, old, "c").Result))
	require.JSONEq(t, string(latest.State.JSON()), string(h.snapshot(true).State.JSON()), "reading changes nothing")
}

// The trap of spec/runtime.md 1.11: an answer is no output.
func TestHalfAnsweredNodeIsStillNext(t *testing.T) {
	t.Parallel()
	h := forked(t)
	h.ask("b", 1, qid("1"), qid("2"))
	h.done("c", nil)
	for _, latest := range []bool{true, false} {
		s := h.snapshot(latest)
		require.Contains(t, s.Next, "b")
		require.Equal(t, []string{qid("2")}, openIDs(viewOf(t, s, "b")), "only the open question shows")
	}
	h.answer(qid("2"))
	s := h.snapshot(true)
	require.Equal(t, []string{"b"}, s.Next, "answered, but not run yet")
	require.Empty(t, openIDs(viewOf(t, s, "b")))
	require.NotNil(t, viewOf(t, s, "b").Interrupts)
}

// decisions 8: an answered question is not among those of the newest state, and
// stays beside the result in history.
func TestAnsweredQuestionStaysInHistory(t *testing.T) {
	t.Parallel()
	h := forked(t)
	h.ask("b", 1, qid("1"))
	h.ask("c", 0, qid("2"))
	h.done("b", Values{"out": []string{"b"}})
	for _, latest := range []bool{true, false} {
		require.Empty(t, openIDs(viewOf(t, h.snapshot(latest), "b")), "the superstep is open: what shows is what can be answered")
		require.Equal(t, []string{qid("2")}, openIDs(viewOf(t, h.snapshot(latest), "c")))
	}
	h.answer(qid("2"))
	h.done("c", Values{"out": []string{"c"}})
	old := h.snapshot(false)
	require.Equal(t, []string{qid("1")}, openIDs(viewOf(t, old, "b")))
	require.JSONEq(t, `{"out":["b"]}`, string(viewOf(t, old, "b").Result))
	require.Equal(t, []string{qid("2")}, openIDs(viewOf(t, old, "c")))
	require.Empty(t, openIDs(viewOf(t, h.snapshot(true), "c")))
}

func TestFailedTaskShowsItsErrorUntilItIsDone(t *testing.T) {
	t.Parallel()
	h := forked(t)
	boom := &ErrorInfo{Name: "CustomError", Message: "Boo!"}
	h.record("b", TaskFailed, func(r *TaskRecord) { r.Error = boom })
	s := h.snapshot(true)
	require.Equal(t, []string{"b", "c"}, s.Next)
	require.Equal(t, boom, viewOf(t, s, "b").Error)
	require.Nil(t, viewOf(t, s, "c").Error)
	h.done("b", Values{"out": []string{"b"}})
	require.Nil(t, viewOf(t, h.snapshot(true), "b").Error)
}

func TestResultShowsSeveralWritesOfOneKey(t *testing.T) {
	t.Parallel()
	g := flowGraph(t)
	require.JSONEq(t, `{"out":{"$writes":[["x"],["y"]]},"n":1}`, string(g.resultOf([]Write{
		{"out", raw(`["x"]`)}, {"branch:to:d", raw("null")}, {"n", raw("1")}, {"out", raw(`["y"]`)},
	})))
	require.Nil(t, g.resultOf([]Write{{"branch:to:d", raw("null")}}))
}

func TestSendsHaveTheirPlaceInThePath(t *testing.T) {
	t.Parallel()
	h := newHistory(t, flowGraph(t))
	h.edit(Edit{AsNode: "a", Command: &Command{Goto: []Target{{Node: "x", Input: raw(`{"k":1}`)}, {Node: "x", Input: raw(`2`)}}}})
	s := h.snapshot(true)
	require.Equal(t, []string{"x", "x", "b", "c"}, s.Next)
	require.JSONEq(t, `["__pregel_push",1,false]`, string(s.Tasks[1].Path))
	require.NotEqual(t, s.Tasks[0].ID, s.Tasks[1].ID)
	require.Equal(t, s.Tasks, h.snapshot(true).Tasks, "ids are the same in every read")
}

func TestUnappliableResultsLeaveTheThreadReadable(t *testing.T) {
	t.Parallel()
	h := forked(t)
	h.done("b", Values{"n": 2})
	h.done("c", Values{"n": 3}) // two values for a key that takes one
	s := h.snapshot(true)
	require.JSONEq(t, `{"messages":[],"out":["a"],"n":1}`, string(s.State.JSON()))
	require.JSONEq(t, `{"n":3}`, string(viewOf(t, s, "c").Result), "the results are kept aside")
	_, err := h.tryEdit(Edit{AsNode: "a", Values: raw(`{"n":4}`)})
	require.NoError(t, err, "and the thread can be edited")
	h.edit(Edit{AsNode: End})
	require.Empty(t, h.snapshot(true).Next, "and ended")
}

// nestedHistory is a thread whose node sub runs a graph that waits before its second node.
func nestedHistory(t *testing.T, opts ...GraphOption) (*history, string) {
	child, err := NewGraph[flowState]("child", opts...).Node("one", flowNode).Node("two", flowNode).
		Edge(Start, "one").Edge("one", "two").Edge("two", End).Compile()
	require.NoError(t, err)
	g, err := NewGraph[flowState]("parent").Node("first", flowNode).Subgraph("sub", child).
		Edge(Start, "first").Edge("first", "sub").Edge("sub", End).Compile()
	require.NoError(t, err)
	h := newHistory(t, g)
	h.edit(Edit{AsNode: Start, Values: raw(`{"n":1}`)}, Edit{AsNode: "first", Values: raw(`{"n":2}`)})
	p := h.task("sub")
	ns := p.childNS("")
	r, err := g.SubgraphAt(ns).EditState(t.Context(), EditRequest{NS: ns, Clock: h, IDs: h, Supersteps: [][]Edit{
		{{AsNode: inputNode, Values: raw(`{"n":2}`)}}, {{AsNode: Start, Values: raw(`{"n":2}`)}}, {{AsNode: "one", Values: raw(`{"out":["one"]}`)}},
	}})
	require.NoError(t, err)
	for _, cp := range r.Checkpoints {
		cp.Parents = map[string]string{"": h.head().Checkpoint.ID}
	}
	h.add(r)
	return h, ns
}

func TestNestedStateIsReadWhenAskedFor(t *testing.T) {
	t.Parallel()
	h, ns := nestedHistory(t)
	s := h.snapshot(true)
	view := viewOf(t, s, "sub")
	require.Equal(t, "sub:"+view.ID, ns)
	require.Equal(t, ns, view.SubgraphNS)
	require.Nil(t, view.Subgraph)

	s, err := h.g.SnapshotOf(t.Context(), historyReader{h}, h.head(), true, true)
	require.NoError(t, err)
	nested := viewOf(t, s, "sub").Subgraph
	require.NotNil(t, nested)
	require.Equal(t, []string{"two"}, nested.Next)
	require.JSONEq(t, `{"messages":[],"out":["one"],"n":2}`, string(nested.State.JSON()))
	require.Equal(t, map[string]string{"": h.head().Checkpoint.ID, ns: nested.CheckpointID}, nested.Map)
	require.JSONEq(t, `{"":"`+h.head().Checkpoint.ID+`"}`, string(nested.Metadata["parents"]))
}

func TestStatefulNestedGraphHasOneNamespace(t *testing.T) {
	t.Parallel()
	h, ns := nestedHistory(t, Stateful())
	require.Equal(t, "sub", ns)
	require.Equal(t, "sub", viewOf(t, h.snapshot(true), "sub").SubgraphNS)
}

func TestGraphThatIsNotKnownIsShownByWhatIsStored(t *testing.T) {
	t.Parallel()
	h := forked(t)
	h.ask("b", 1, qid("1"), qid("2"))
	h.done("c", nil)
	var unknown *Graph
	s, err := unknown.SnapshotOf(t.Context(), nil, h.head(), true, true)
	require.NoError(t, err)
	require.JSONEq(t, `{"messages":[],"out":["a"],"n":1}`, string(s.State.JSON()))
	require.Equal(t, []string{"b"}, s.Next)
	require.Equal(t, []string{qid("2")}, openIDs(s.Tasks[0]))

	h.head().Checkpoint.Keys = []string{"out", "n", "unset"}
	s, err = unknown.SnapshotOf(t.Context(), nil, h.head(), true, true)
	require.NoError(t, err)
	require.Equal(t, `{"out":["a"],"n":1}`, string(s.State.JSON()), "those that the checkpoint names, in that order")
}

func TestHandledFailureCountsWithWhatItsHandlerWrote(t *testing.T) {
	t.Parallel()
	g, err := NewGraph[flowState]("handled").
		Node("risky", flowNode, OnError("rescue")).Node("rescue", flowNode).Node("other", flowNode).
		Edge(Start, "risky").Edge(Start, "other").Compile()
	require.NoError(t, err)
	h := newHistory(t, g)
	h.edit(Edit{AsNode: Start, Values: raw(`{"n":1}`)})
	p := h.task("risky")
	h.record("risky", TaskDone, func(r *TaskRecord) { r.Error = &ErrorInfo{Name: "Error", Message: "boom"} })
	cp := h.head().Checkpoint
	h.head().Tasks = append(h.head().Tasks, TaskRecord{
		CheckpointID: cp.ID, TaskID: handlerTaskID(cp.ID, "", p.step, "rescue", p.id), Name: "rescue", Status: TaskDone,
		Path: "~__pregel_push, node_error_handler, " + p.id, Writes: []Write{{"out", raw(`["rescued"]`)}},
	})
	s := h.snapshot(true)
	require.Equal(t, []string{"other"}, s.Next)
	require.JSONEq(t, `{"messages":[],"out":["rescued"],"n":1}`, string(s.State.JSON()))
	require.Nil(t, viewOf(t, s, "risky").Error)
}
