package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
)

// A trace says what a reader of the thread protocol sees of a run, one line per
// event, or per message. testdata/traces holds those of the reference's recorded
// streams. Left out on both sides: root lifecycle, checkpoints beside values, and
// values that repeat the ones before because no key was written (the reference
// sends those at the root and not in nested graphs). Left out of the recorded
// ones: "tool-error" of calls that wait for a person.
type trace struct {
	lines []string
	// labels name the segments of namespaces: the node, and its place among its tasks in the namespace.
	labels map[string]string
	counts map[string]int
	// wrote is set for graphs that wrote a key since their last values.
	wrote    map[string]bool
	step     map[string]int
	messages map[string]*traced
}

// traced is a message on its way.
type traced struct {
	start  agent.MessageStart
	blocks []string
	open   map[int]int
}

func newTrace() *trace {
	return &trace{labels: map[string]string{}, counts: map[string]int{}}
}

// run adds the events of a run.
func (tr *trace) run(t *testing.T, events []agent.Event) {
	t.Helper()
	tr.wrote, tr.step, tr.messages = map[string]bool{"": true}, map[string]int{}, map[string]*traced{}
	tr.lines = append(tr.lines, "-- run")
	for _, e := range events {
		tr.event(t, e)
	}
}

func (tr *trace) out(ns, format string, args ...any) {
	var labels []string
	for _, segment := range strings.Split(ns, "|") {
		if label, ok := tr.labels[segment]; ok {
			segment = label
		}
		labels = append(labels, segment)
	}
	tr.lines = append(tr.lines, strings.Join(labels, "/")+": "+fmt.Sprintf(format, args...))
}

func (tr *trace) event(t *testing.T, e agent.Event) {
	t.Helper()
	switch p := e.Payload.(type) {
	case agent.NamespaceNote:
		if e.Kind == agent.NamespaceStarted {
			tr.out(e.NS, "namespace started")
		} else {
			tr.out(e.NS, "namespace completed")
		}
	case agent.CheckpointNote:
		tr.step[e.NS] = p.Step
	case *agent.ValuesNote:
		if wrote, known := tr.wrote[e.NS]; wrote || !known {
			tr.out(e.NS, "values step %d: %s", tr.step[e.NS], stateText(t, p.State.JSON()))
		}
		tr.wrote[e.NS] = false
	case agent.TaskStart:
		if segment := p.Name + ":" + p.ID; tr.labels[segment] == "" {
			tr.counts[e.NS+p.Name]++
			tr.labels[segment] = fmt.Sprintf("%s#%d", p.Name, tr.counts[e.NS+p.Name])
		}
		tr.out(e.NS, "start %s by %s", p.Name, strings.Join(p.Triggers, ","))
	case agent.TaskFinish:
		line := "end " + p.Name
		if len(p.Interrupts) > 0 {
			line += fmt.Sprintf(" interrupts %d", len(p.Interrupts))
		}
		tr.out(e.NS, "%s", line)
	case agent.UpdatesNote:
		text := stateText(t, p.Data)
		if text != "" {
			tr.wrote[e.NS] = true
		}
		tr.out(e.NS, "updates %s: %s", p.Node, text)
	case agent.Custom:
		tr.out(e.NS, "custom %s", customText(t, p.Value))
	case agent.InterruptInfo:
		if e.Kind == agent.InterruptRaised {
			tr.out(e.NS, "asks %s", sortedJSON(t, p.Value))
		}
	case agent.ToolNote:
		switch e.Kind {
		case agent.ToolStarted:
			tr.out(e.NS, "tool %s %s %s", p.CallID, p.Name, p.Input)
		case agent.ToolFinished:
			var m struct{ Content string }
			require.NoError(t, json.Unmarshal(p.Output, &m))
			tr.out(e.NS, "tool %s done: %s", p.CallID, short(m.Content))
		default:
			tr.out(e.NS, "tool %s failed: %s", p.CallID, p.Error)
		}
	case agent.MessageStart:
		tr.messages[p.ID] = &traced{start: p, open: map[int]int{}}
	case agent.BlockStart:
		m := tr.messages[p.ID]
		m.open[p.Index] = len(m.blocks)
		m.blocks = append(m.blocks, "")
	case agent.Delta:
		tr.messages[p.ID].delta(p)
	case agent.MessageFinish:
		m := tr.messages[p.ID]
		line := "message " + idText(p.ID)
		for _, b := range m.blocks {
			if b != "" {
				line += " [" + b + "]"
			}
		}
		tr.out(e.NS, "%s", line)
	}
}

func (m *traced) delta(d agent.Delta) {
	b := &m.blocks[m.open[d.Index]]
	switch {
	case d.Type == "tool_call" && !m.start.Streamed:
		// The reference sends no blocks for the calls of a message that wasn't streamed.
	case d.Type == "tool_call":
		*b += "call " + d.CallID + " " + d.Text
	case *b == "":
		*b = d.Text
	default:
		*b += "|" + d.Text
	}
}

var madeID = regexp.MustCompile(`^(run-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// idText masks ids that aren't configured.
func idText(id string) string {
	switch {
	case madeID.MatchString(id):
		return "ID"
	case strings.HasPrefix(id, "stategraph-message-"):
		return "SGM"
	}
	return id
}

func short(text string) string {
	if r := []rune(text); len(r) > 48 {
		return string(r[:48]) + "…"
	}
	return text
}

// stateText is a state, or a node's update, with its messages shortened.
func stateText(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var state map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &state), string(raw))
	var parts []string
	for key, value := range state {
		var messages []tracedMessage
		if key == "messages" && json.Unmarshal(value, &messages) == nil {
			texts := make([]string, len(messages))
			for i, m := range messages {
				texts[i] = m.text(t)
			}
			parts = append(parts, "messages: "+strings.Join(texts, "; "))
			continue
		}
		parts = append(parts, key+"="+sortedJSON(t, value))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

type tracedMessage struct {
	Type, Name, Status string
	Content            any
	ToolCallID         string `json:"tool_call_id"`
	ToolCalls          []struct {
		ID string
	} `json:"tool_calls"`
}

func (m tracedMessage) text(t *testing.T) string {
	t.Helper()
	s := m.Type
	if m.Name != "" {
		s += "(" + m.Name + ")"
	}
	content, _ := m.Content.(string)
	raw, err := json.Marshal(short(content))
	require.NoError(t, err)
	s += " " + string(raw)
	for _, call := range m.ToolCalls {
		s += " " + call.ID
	}
	if m.ToolCallID != "" {
		s += " for " + m.ToolCallID
	}
	if m.Status != "" {
		s += " " + m.Status
	}
	return s
}

func sortedJSON(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(raw, &v), string(raw))
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(v))
	return strings.TrimSpace(b.String())
}

// customText is what v2 makes of a value written to the custom stream (spec/conformance-frontends.md 2).
func customText(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var named struct {
		Name    string          `json:"name"`
		Payload json.RawMessage `json:"payload"`
	}
	if json.Unmarshal(raw, &named) == nil && named.Name != "" {
		return sortedJSON(t, raw)
	}
	return `{"payload":` + sortedJSON(t, raw) + `}`
}

func recordedTrace(t *testing.T, name string) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "traces", name+".txt"))
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
}

// anyOrder sorts the lines of a trace by namespace and keeps the order within
// each, but for tasks that end one after the other: which of them is first is no contract.
func anyOrder(lines []string) map[string][]string {
	all := map[string][]string{}
	for _, line := range lines {
		ns, _, _ := strings.Cut(line, ": ")
		all[ns] = append(all[ns], line)
	}
	for ns, list := range all {
		from := 0
		for i := range list {
			if !strings.HasPrefix(list[i], ns+": updates ") && !strings.HasPrefix(list[i], ns+": end ") && !strings.HasPrefix(list[i], ns+": asks ") {
				slices.Sort(list[from:i])
				from = i + 1
			}
		}
		slices.Sort(list[from:])
	}
	return all
}
