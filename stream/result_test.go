package stream_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// spec/rest-api.md 2.4: the last root values event decides.
func TestResult(t *testing.T) {
	t.Parallel()
	question := agent.InterruptInfo{ID: "q", Value: json.RawMessage(`1`), ResponseSchema: json.RawMessage(`{}`)}
	for name, c := range map[string]struct {
		modes  []string
		events func(w *worker)
		want   string
	}{
		"finished":             {nil, func(w *worker) { w.values(1); w.values(2) }, `{"step":2,"text":"xx"}`},
		"modes without values": {[]string{"updates"}, func(w *worker) { w.values(1) }, `{"step":1,"text":"x"}`},
		"interrupted": {nil, func(w *worker) {
			w.values(1)
			w.commit(w.entry(agent.InterruptRaised, "", question))
		}, `{"__interrupt__":[{"id":"q","value":1}]}`},
		"a sibling finished after the interrupt": {nil, func(w *worker) {
			w.commit(w.entry(agent.InterruptRaised, "", question))
			w.values(1)
		}, `{"step":1,"text":"x"}`},
		"nested interrupt": {nil, func(w *worker) {
			w.values(1)
			w.commit(w.entry(agent.InterruptRaised, "child:1", agent.InterruptInfo{ID: "inner"}), w.entry(agent.InterruptBubbled, "", question))
		}, `{"__interrupt__":[{"id":"q","value":1}]}`},
		"breakpoint": {nil, func(w *worker) { w.commit(w.entry(agent.BreakpointHit, "", nil)) }, `{"__interrupt__":[]}`},
		"nested values don't count": {nil, func(w *worker) {
			w.values(1)
			w.commit(w.entry(agent.ValuesEmitted, "child:1", &agent.ValuesNote{Inline: json.RawMessage(`{"nested":1}`)}))
		}, `{"step":1,"text":"x"}`},
		"inline": {nil, func(w *worker) {
			w.commit(w.entry(agent.ValuesEmitted, "", &agent.ValuesNote{Inline: json.RawMessage(`{"a":1}`)}))
		}, `{"a":1}`},
		"failed": {nil, func(w *worker) {
			w.values(1)
			w.commit(w.entry(agent.RunFinished, "", agent.RunFinish{Status: "error", Error: &agent.ErrorInfo{Name: "CustomError", Message: "Boo!"}}))
		}, `{"__error__":{"error":"CustomError","message":"Boo!"}}`},
		"no values": {nil, func(w *worker) {}, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, hub := setup(t)
			w := newWorker(m, hub, newRun("run", c.modes...))
			w.start()
			c.events(w)
			m.end(w.run, thread.RunSuccess)
			got, err := hub.Result(t.Context(), w.run)
			require.NoError(t, err)
			require.Equal(t, c.want, string(got))
		})
	}
}

// A run whose log is gone has its thread's values, or the error in its row.
func TestResultWithoutLog(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	m.states[""] = agent.NewState([]string{"a"}, map[string]agent.Value{"a": {JSON: json.RawMessage(`1`)}})
	run := newRun("run")
	run.Status = thread.RunSuccess
	got, err := hub.Result(t.Context(), run)
	require.NoError(t, err)
	require.Equal(t, `{"a":1}`, string(got))

	run.Kwargs.Temporary = true
	got, err = hub.Result(t.Context(), run)
	require.NoError(t, err)
	require.Equal(t, `{}`, string(got), "a stateless run never looks at a thread")

	run.Status, run.Error = thread.RunError, json.RawMessage(`{"error":"E","message":"m"}`)
	got, err = hub.Result(t.Context(), run)
	require.NoError(t, err)
	require.Equal(t, `{"__error__":{"error":"E","message":"m"}}`, string(got))
}
