package agent

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// runRecorder stores what a run commits into a history.
type runRecorder struct {
	h  *history
	mu sync.Mutex
}

func (r *runRecorder) Emit(...Event) {}

func (r *runRecorder) Commit(_ context.Context, c Commit) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, cp := range c.Checkpoints {
		r.h.tuples[cp.NS] = append(r.h.tuples[cp.NS], &Tuple{Checkpoint: cp, Answers: map[string]Answer{}})
	}
	for _, rec := range c.Tasks {
		tuple, err := historyReader{r.h}.Checkpoint(r.h.t.Context(), rec.NS, rec.CheckpointID)
		if err != nil || tuple == nil {
			return errors.New("a record without its checkpoint")
		}
		kept := tuple.Tasks[:0:0]
		for _, old := range tuple.Tasks {
			if old.TaskID != rec.TaskID {
				kept = append(kept, old)
			}
		}
		tuple.Tasks = append(kept, rec)
	}
	return nil
}

// run carries out a run on the history's head.
func (h *history) run(input string) Outcome {
	h.t.Helper()
	h.minted++
	out, err := h.g.Run(h.t.Context(), Execution{
		ThreadID: "t", RunID: h.UUID(), Attempt: 1, Input: json.RawMessage(input),
		Reader: historyReader{h}, Recorder: &runRecorder{h: h}, Clock: h, IDs: h,
	})
	require.NoError(h.t, err)
	return out
}

// resume checks a command, stores what its admission would, and runs on.
func (h *history) resume(wire string) Outcome {
	h.t.Helper()
	plan, err := h.check(wire, h.open()...)
	require.NoError(h.t, err)
	for _, list := range h.tuples {
		for _, a := range plan.Answers {
			list[len(list)-1].Answers[a.InterruptID] = a
		}
	}
	if plan.Writes != nil {
		require.NoError(h.t, (&runRecorder{h: h}).Commit(h.t.Context(), Commit{Tasks: []TaskRecord{*plan.Writes}}))
	}
	return h.run("null")
}

// open lists the questions that the head's state shows.
func (h *history) open() []InterruptInfo {
	var open []InterruptInfo
	for _, v := range h.snapshot(true).Tasks {
		open = append(open, v.Interrupts...)
	}
	return open
}

type reviewState struct {
	Out []string `json:"out" agent:"append"`
	N   int      `json:"n"`
}

func asking(name string, questions int) func(Context, reviewState) (Update, error) {
	return func(ctx Context, _ reviewState) (Update, error) {
		said := name
		for i := range questions {
			answer, err := Interrupt[string](ctx, map[string]any{"q": i})
			if err != nil {
				return nil, err
			}
			said += ":" + answer
		}
		return Set("out", []string{said}), nil
	}
}

// reviewGraph: twice asks two questions beside once, which asks one, and plain.
func reviewGraph(t *testing.T) *Graph {
	g, err := NewGraph[reviewState]("review").
		Node("twice", asking("twice", 2)).Node("once", asking("once", 1)).Node("plain", asking("plain", 0)).Node("last", asking("last", 0)).
		Edge(Start, "twice").Edge(Start, "once").Edge(Start, "plain").
		Join([]string{"twice", "once", "plain"}, "last").Compile()
	require.NoError(t, err)
	return g
}

// api A.3 and decisions 8 on a thread that really ran.
func TestStateOfAThreadWhileItsQuestionsAreAnswered(t *testing.T) {
	t.Parallel()
	h := newHistory(t, reviewGraph(t))
	require.True(t, h.run(`{"n":1,"zzz":2}`).Suspended)
	s := h.snapshot(true)
	require.Equal(t, []string{"twice", "once"}, s.Next)
	require.JSONEq(t, `{"out":["plain"],"n":1}`, string(s.State.JSON()))
	first, other := openIDs(viewOf(t, s, "twice")), openIDs(viewOf(t, s, "once"))
	require.Len(t, first, 1)
	require.Len(t, other, 1)
	require.True(t, isInterruptID(first[0]))

	_, err := h.check(`{"resume":"x"}`, h.open()...)
	var refusal *ResumeError
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, AmbiguousResume, refusal.Code)

	head := h.head().Checkpoint.ID
	require.True(t, h.resume(`{"resume":{"`+first[0]+`":"A"},"update":{"n":2}}`).Suspended)
	s = h.snapshot(true)
	require.Equal(t, head, s.CheckpointID, "answers make no checkpoint")
	require.Equal(t, []string{"twice", "once"}, s.Next)
	require.JSONEq(t, `{"out":["plain"],"n":2}`, string(s.State.JSON()))
	second := openIDs(viewOf(t, s, "twice"))
	require.Len(t, second, 1, "the answered question doesn't show")
	require.NotEqual(t, first, second)
	_, err = h.check(`{"resume":{"`+first[0]+`":"again"}}`, h.open()...)
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, InterruptNotPending, refusal.Code)

	require.False(t, h.resume(`{"resume":{"`+second[0]+`":"B","`+other[0]+`":"C"}}`).Suspended)
	s = h.snapshot(true)
	require.Empty(t, s.Next)
	require.JSONEq(t, `{"out":["once:C","plain","twice:A:B","last"],"n":2}`, string(s.State.JSON()))
	require.Len(t, h.tuples[""], 4, "input, step 0, the superstep that asked, last")

	entry, err := h.g.SnapshotOf(t.Context(), nil, h.tuples[""][0], false, false)
	require.NoError(t, err)
	require.Equal(t, []string{Start}, entry.Next)
	require.JSONEq(t, `{"n":1}`, string(entry.Tasks[0].Result), "the input stands as the result of __start__")

	asked := h.tuples[""][1]
	old, err := h.g.SnapshotOf(t.Context(), nil, asked, false, false)
	require.NoError(t, err)
	require.Equal(t, []string{"twice", "once", "plain"}, old.Next)
	require.Equal(t, append(first, second...), openIDs(viewOf(t, old, "twice")))
	require.JSONEq(t, `{"out":["twice:A:B"]}`, string(viewOf(t, old, "twice").Result))
}

// A state update of a thread that really ran and waits; api.test 30.
func TestUpdateOfAWaitingThreadLetsItAskAgain(t *testing.T) {
	t.Parallel()
	g, err := NewGraph[reviewState]("ask").Node("before", asking("before", 0)).Node("ask", asking("ask", 1)).
		Edge(Start, "before").Edge("before", "ask").Compile()
	require.NoError(t, err)
	h := newHistory(t, g)
	require.True(t, h.run(`{"n":1}`).Suspended)
	asked := h.open()
	h.edit(Edit{Values: raw(`{"n":2}`)})
	s := h.snapshot(true)
	require.Equal(t, []string{"ask"}, s.Next)
	require.Empty(t, h.open())

	require.True(t, h.run("null").Suspended)
	again := h.open()
	require.Len(t, again, 1)
	require.NotEqual(t, asked[0].ID, again[0].ID)
	checkpoints := len(h.tuples[""])
	require.True(t, h.resume(`{"resume":"yes","update":{"n":3},"goto":"before"}`).Suspended, "the edge from before leads to the question again")
	require.Len(t, h.tuples[""], checkpoints+1, "answer, update and goto are one superstep")
	s = h.snapshot(true)
	require.JSONEq(t, `{"out":["before","ask:yes","before"],"n":3}`, string(s.State.JSON()))
	require.NotEqual(t, again[0].ID, h.open()[0].ID)
}
