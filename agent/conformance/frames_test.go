package conformance_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
)

// A frame is what the reference server sent in the modes values, updates, tasks
// and custom. testdata holds them with the histories and states that were read afterwards.
type frame struct {
	Event string `json:"event"`
	Data  any    `json:"data"`
}

// framesOf turns a run's events into frames; interrupts are left out.
func framesOf(t *testing.T, events []agent.Event) []frame {
	t.Helper()
	var frames []frame
	add := func(mode, ns string, data any) {
		if ns != "" {
			mode += "|" + ns
		}
		frames = append(frames, frame{mode, plain(t, data)})
	}
	for _, e := range events {
		switch p := e.Payload.(type) {
		case *agent.ValuesNote:
			add("values", e.NS, p.State)
		case agent.TaskStart:
			add("tasks", e.NS, map[string]any{
				"id": p.ID, "name": p.Name, "input": p.InputJSON(), "triggers": p.Triggers, "interrupts": p.Interrupts,
			})
		case agent.TaskFinish:
			add("tasks", e.NS, map[string]any{"id": p.ID, "name": p.Name, "result": p.Result, "interrupts": p.Interrupts})
		case agent.UpdatesNote:
			add("updates", e.NS, map[string]any{p.Node: p.Data})
		case agent.Custom:
			add("custom", e.NS, p.Value)
		}
	}
	return frames
}

func recordedFrames(t *testing.T, name string) []frame {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name+".frames.jsonl"))
	require.NoError(t, err)
	var frames []frame
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		var f frame
		require.NoError(t, json.Unmarshal(lines.Bytes(), &f))
		frames = append(frames, f)
	}
	require.NotEmpty(t, frames)
	return frames
}

// requireFrames compares frames in order, but for ids and the traces of its library.
func requireFrames(t *testing.T, name string, events []agent.Event) {
	t.Helper()
	want, got := recordedFrames(t, name), framesOf(t, events)
	for i := range max(len(want), len(got)) {
		var w, g frame
		if i < len(want) {
			w = frame{maskIDs(want[i].Event), masked(want[i].Data)}
		}
		if i < len(got) {
			g = frame{maskIDs(got[i].Event), masked(got[i].Data)}
		}
		require.Equal(t, w, g, "frame %d of %s", i, name)
	}
}

// snapshotView is a state as testdata has it.
type snapshotView struct {
	Values any        `json:"values"`
	Next   []string   `json:"next"`
	Tasks  []taskView `json:"tasks"`
	Source string     `json:"source"`
	Step   int        `json:"step"`
}

type taskView struct {
	Name       string        `json:"name"`
	Path       any           `json:"path"`
	Error      string        `json:"error,omitempty"`
	Interrupts []any         `json:"interrupts"`
	Result     any           `json:"result,omitempty"`
	Subgraph   bool          `json:"subgraph,omitempty"`
	State      *snapshotView `json:"state,omitempty"`
}

func viewOf(t *testing.T, s *agent.Snapshot) snapshotView {
	t.Helper()
	v := snapshotView{Values: masked(plain(t, s.State)), Next: append([]string{}, s.Next...), Tasks: []taskView{}}
	require.NoError(t, json.Unmarshal(s.Metadata["source"], &v.Source))
	require.NoError(t, json.Unmarshal(s.Metadata["step"], &v.Step))
	for _, task := range s.Tasks {
		tv := taskView{Name: task.Name, Path: plain(t, task.Path), Interrupts: []any{}}
		if task.Error != nil {
			tv.Error = task.Error.Name + ": " + task.Error.Message
		}
		for _, i := range task.Interrupts {
			require.Regexp(t, `^[0-9a-f]{32}$`, i.ID)
			tv.Interrupts = append(tv.Interrupts, masked(plain(t, i)))
		}
		if len(task.Result) > 0 {
			tv.Result = masked(plain(t, task.Result))
		}
		if task.Subgraph != nil {
			inner := viewOf(t, task.Subgraph)
			tv.State = &inner
		} else {
			tv.Subgraph = task.SubgraphNS != ""
		}
		v.Tasks = append(v.Tasks, tv)
	}
	return v
}

func recorded[T any](t *testing.T, name string) T {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	require.NoError(t, err)
	var v T
	require.NoError(t, json.Unmarshal(raw, &v))
	return v
}

// requireHistory compares all checkpoints, newest first.
func requireHistory(t *testing.T, name string, history []*agent.Snapshot) {
	t.Helper()
	want := recorded[[]snapshotView](t, name+".history")
	require.Len(t, history, len(want), "checkpoints of %s", name)
	for i, s := range history {
		require.Equal(t, maskView(want[i]), maskView(viewOf(t, s)), "entry %d of %s", i, name)
	}
}

func requireState(t *testing.T, name string, s *agent.Snapshot) {
	t.Helper()
	require.Equal(t, maskView(recorded[snapshotView](t, name)), maskView(viewOf(t, s)), name)
}

// maskView masks ids and brings an error's recorded form, JSON in a string, to ours.
func maskView(v snapshotView) snapshotView {
	v.Values = masked(v.Values)
	for i, task := range v.Tasks {
		var recorded struct{ Name, Message string }
		if json.Unmarshal([]byte(task.Error), &recorded) == nil && recorded.Name != "" {
			v.Tasks[i].Error = recorded.Name + ": " + recorded.Message
		}
		for j := range task.Interrupts {
			v.Tasks[i].Interrupts[j] = masked(task.Interrupts[j])
		}
		v.Tasks[i].Result = masked(task.Result)
		if task.Name == agent.Start {
			// The reference keeps the input as it came; here it is stored coerced, with ids.
			v.Tasks[i].Result = nil
		}
		if len(task.Interrupts) > 0 {
			// The reference never shows the result of a task that asked; here it is shown.
			v.Tasks[i].Result = nil
		}
		if path, ok := task.Path.([]any); ok && len(path) == 3 && path[2] == false {
			v.Tasks[i].Path = path[:2] // the recorded version's form, spec/runtime.md 1.11
		}
		if task.State != nil {
			inner := maskView(*task.State)
			v.Tasks[i].State = &inner
		}
	}
	return v
}

// plain is v as encoding/json reads it.
func plain(t *testing.T, v any) any {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	var out any
	require.NoError(t, json.Unmarshal(raw, &out), string(raw))
	return out
}

var ids = regexp.MustCompile(
	`UUID-\d+|HEX32-\d+|SGM-\d+|stategraph-message-\d+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b`)

func maskIDs(s string) string { return ids.ReplaceAllString(s, "ID") }

// masked masks ids, and leaves out of messages what only the reference has.
func masked(v any) any {
	switch v := v.(type) {
	case string:
		return maskIDs(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = masked(e)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = masked(e)
		}
		if isMessage(out) {
			maskMessage(out)
		}
		return out
	}
	return v
}

func isMessage(m map[string]any) bool {
	_, typed := m["type"].(string)
	_, content := m["content"]
	return typed && content
}

// maskMessage: ids that the reference made are made by other rules here, and its
// library's classes leave traces.
func maskMessage(m map[string]any) {
	if id, ok := m["id"].(string); ok && (strings.HasPrefix(id, "run-") || id == "ID" || strings.HasPrefix(id, "ID")) {
		m["id"] = "ID"
	}
	if m["id"] == nil {
		m["id"] = "ID"
	}
	delete(m, "tool_call_chunks")
	delete(m, "metadata")
}
