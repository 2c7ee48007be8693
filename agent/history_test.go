package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/message"
)

// history is a thread made by hand: checkpoints from state updates, task records as a run would leave them.
type history struct {
	t      *testing.T
	g      *Graph
	tuples map[string][]*Tuple
	minted int
	now    time.Time
}

func newHistory(t *testing.T, g *Graph) *history {
	return &history{t: t, g: g, tuples: map[string][]*Tuple{}, now: time.UnixMilli(1764500000000).UTC()}
}

// Checkpoint implements IDs.
func (h *history) Checkpoint() string {
	h.minted++
	return fmt.Sprintf("0198c0de-0000-7000-8000-%012d", h.minted)
}

// UUID implements IDs.
func (h *history) UUID() string {
	h.minted++
	return fmt.Sprintf("00000000-0000-4000-8000-%012d", h.minted)
}

// Now implements Clock.
func (h *history) Now() time.Time { return h.now }

// Sleep implements Clock.
func (h *history) Sleep(context.Context, time.Duration) error { return nil }

// reader reads the history.
type historyReader struct{ *history }

func (r historyReader) Checkpoint(_ context.Context, ns, id string) (*Tuple, error) {
	list := r.tuples[ns]
	for i := len(list) - 1; i >= 0; i-- {
		if id == "" || list[i].Checkpoint.ID == id {
			return list[i], nil
		}
	}
	return nil, nil
}

func (r historyReader) Checkpoints(context.Context, string, CheckpointQuery) ([]*Tuple, error) {
	return nil, fmt.Errorf("not used")
}

func (r historyReader) Steps(context.Context, string) ([]StepRecord, error) { return nil, nil }

// add stores what a state update left.
func (h *history) add(r *EditResult) {
	for _, cp := range r.Checkpoints {
		h.tuples[cp.NS] = append(h.tuples[cp.NS], &Tuple{Checkpoint: cp, Answers: map[string]Answer{}})
	}
	for _, rec := range r.Tasks {
		tuple, err := historyReader{h}.Checkpoint(h.t.Context(), rec.NS, rec.CheckpointID)
		require.NoError(h.t, err)
		require.NotNil(h.t, tuple, "a record without its checkpoint")
		tuple.Tasks = append(tuple.Tasks, rec)
	}
}

func (h *history) head() *Tuple {
	if list := h.tuples[""]; len(list) > 0 {
		return list[len(list)-1]
	}
	return nil
}

// edit updates the head, one superstep per edit.
func (h *history) edit(edits ...Edit) {
	h.t.Helper()
	r, err := h.tryEdit(edits...)
	require.NoError(h.t, err)
	h.add(r)
}

func (h *history) tryEdit(edits ...Edit) (*EditResult, error) {
	req := EditRequest{Base: h.head(), Reader: historyReader{h}, Clock: h, IDs: h, Metadata: map[string]json.RawMessage{"by": text("test")}}
	for _, e := range edits {
		req.Supersteps = append(req.Supersteps, []Edit{e})
	}
	return h.g.EditState(h.t.Context(), req)
}

// task returns the head's task of a node.
func (h *history) task(node string) plannedTask {
	h.t.Helper()
	tuple := h.head()
	ch := scratchChannels(h.g, tuple.Checkpoint)
	for _, p := range ch.pending(h.g, tuple) {
		if p.node.name == node {
			return p.plannedTask
		}
	}
	require.Fail(h.t, "no such task", node)
	return plannedTask{}
}

// record stores how far a task of the head came.
func (h *history) record(node string, status TaskStatus, change func(*TaskRecord)) {
	h.t.Helper()
	p := h.task(node)
	rec := TaskRecord{CheckpointID: h.head().Checkpoint.ID, TaskID: p.id, Name: node, Path: p.path, Status: status}
	change(&rec)
	tuple := h.head()
	for i := range tuple.Tasks {
		if tuple.Tasks[i].TaskID == rec.TaskID {
			tuple.Tasks[i] = rec
			return
		}
	}
	tuple.Tasks = append(tuple.Tasks, rec)
}

// done finishes a task with what its node returned.
func (h *history) done(node string, values Values) {
	h.t.Helper()
	p := h.task(node)
	ch := scratchChannels(h.g, h.head().Checkpoint)
	writes, err := h.g.writersOf(editContext(h.t.Context(), "", Config{}, h, &p), p.node, values, ch, p.id)
	require.NoError(h.t, err)
	h.record(node, TaskDone, func(r *TaskRecord) {
		r.Writes = writes
		for _, old := range h.head().Tasks {
			if old.TaskID == p.id {
				r.Interrupts = old.Interrupts
			}
		}
	})
}

// ask leaves a task with questions, of which n are answered.
func (h *history) ask(node string, n int, ids ...string) {
	h.t.Helper()
	h.record(node, TaskInterrupted, func(r *TaskRecord) {
		for i, id := range ids {
			r.Interrupts = append(r.Interrupts, InterruptInfo{ID: id, Value: text("question " + id[:1])})
			if i < n {
				h.head().Answers[id] = Answer{InterruptID: id, Value: text("answer")}
			}
		}
	})
}

// answer accepts an answer.
func (h *history) answer(id string) {
	h.head().Answers[id] = Answer{InterruptID: id, Value: text("answer")}
}

func (h *history) snapshot(latest bool) *Snapshot {
	h.t.Helper()
	s, err := h.g.SnapshotOf(h.t.Context(), historyReader{h}, h.head(), latest, false)
	require.NoError(h.t, err)
	return s
}

// qid makes an interrupt id.
func qid(c string) string { return c + "0000000000000000000000000000000" }

// values and next in one line, for comparing histories.
func (h *history) lines() []string {
	var lines []string
	for _, tuple := range h.tuples[""] {
		s, err := h.g.SnapshotOf(h.t.Context(), nil, tuple, false, false)
		require.NoError(h.t, err)
		lines = append(lines, fmt.Sprintf("%d %s %v %s", tuple.Checkpoint.Step, tuple.Checkpoint.Source, s.Next, s.State.JSON()))
	}
	return lines
}

type flowState struct {
	Messages message.List `json:"messages"`
	Out      []string     `json:"out" agent:"append"`
	N        int          `json:"n"`
	Secret   string       `json:"secret" agent:"private"`
}

func flowNode(Context, flowState) (Update, error) { return nil, nil }

// flowGraph: start → a → {b, c} → d → end; b may leave for d early, x is reached by goto and Send only.
func flowGraph(t *testing.T, opts ...GraphOption) *Graph {
	g, err := NewGraph[flowState]("flow", opts...).
		Node("a", flowNode, Ends("x")).Node("b", flowNode).Node("c", flowNode).Node("d", flowNode).Node("x", flowNode).
		Edge(Start, "a").Edge("a", "b").Edge("a", "c").Edge("c", "d").
		Branch("b", func(s flowState) string {
			if s.N > 100 {
				return End
			}
			return "d"
		}, "d", End).
		Edge("d", End).Compile()
	require.NoError(t, err)
	return g
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }
