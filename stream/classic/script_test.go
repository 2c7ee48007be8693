package classic_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream/classic"
	"github.com/parley-dev/parley/stream/frame"
	"github.com/parley-dev/parley/thread"
)

// script writes the events of a run by hand, in the order of the runtime.
type script struct {
	t       *testing.T
	run     thread.Run
	entries []thread.Entry
	pos     int64
	seq     int64
	// states are what checkpoints hold, by namespace and id.
	states map[string]*agent.State
	// head is the newest checkpoint of each namespace.
	head map[string]string
	// maps are the checkpoint ids of the enclosing graphs, by namespace.
	maps map[string]map[string]string
}

var everyMode = []string{"values", "updates", "messages-tuple", "tasks", "checkpoints", "custom", "debug"}

func newScript(t *testing.T, graph, runName string, modes ...string) *script {
	if len(modes) == 0 {
		modes = everyMode
	}
	return &script{
		t: t,
		run: thread.Run{
			ID: id(runName), ThreadID: id("thread"), AssistantID: id("assistant"), GraphID: graph,
			Kwargs: thread.RunKwargs{StreamMode: modes, Subgraphs: true},
		},
		states: map[string]*agent.State{},
		head:   map[string]string{},
		maps:   map[string]map[string]string{},
	}
}

// id is a UUID that belongs to a name.
func id(name string) string { return uuid.NewSHA1(uuid.Nil, []byte(name)).String() }

func (s *script) emit(kind agent.Kind, ns string, payload any) {
	s.pos++
	e := thread.Entry{Pos: s.pos, RunID: s.run.ID, Event: agent.Event{Kind: kind, At: 1_796_030_303_000 + s.pos, NS: ns, Payload: payload}}
	if kind.Numbered() {
		s.seq++
		e.Seq = s.seq
	}
	s.entries = append(s.entries, e)
}

func (s *script) start(configurable string) *script {
	s.emit(agent.RunStarted, "", agent.RunStart{
		GraphID: s.run.GraphID, AssistantID: s.run.AssistantID, Attempt: 1,
		Metadata:     object(s.t, `{"created_by":"system"}`),
		Configurable: object(s.t, configurable), RecursionLimit: 25,
	})
	return s
}

func (s *script) end(finish agent.RunFinish) *script {
	finish.GraphID = s.run.GraphID
	s.emit(agent.RunFinished, "", finish)
	return s
}

// cp is a checkpoint in a script.
type cp struct {
	ns, id, parent string
	step           int
	source         string
	values         string
	next           []string
	tasks          []agent.TaskView
	silent         bool   // no values: nothing was written
	metadata       string // of a checkpoint that an earlier run stored
}

func (s *script) checkpoint(c cp) {
	state := stateOf(s.t, c.values)
	checkpointID, parentID := id(c.ns+c.id), ""
	if c.parent != "" {
		parentID = id(c.ns + c.parent)
	}
	s.states[c.ns+checkpointID] = state
	s.head[c.ns] = checkpointID
	within := s.maps[c.ns]
	if !c.silent {
		s.emit(agent.CheckpointAnnounced, c.ns, agent.CheckpointNote{ID: checkpointID, ParentID: parentID, Step: c.step, Source: c.source})
		s.emit(agent.ValuesEmitted, c.ns, &agent.ValuesNote{CheckpointID: checkpointID, State: state})
	}
	parents, err := json.Marshal(within)
	require.NoError(s.t, err)
	if within == nil {
		parents = json.RawMessage(`{}`)
	}
	metadata := map[string]json.RawMessage{
		"source": raw(c.source), "step": raw(c.step), "parents": parents,
	}
	detail := &agent.CheckpointDetail{
		CheckpointID: checkpointID, ParentID: parentID, Map: within, Metadata: metadata,
		Step: c.step, Next: c.next, Tasks: c.tasks, State: state,
	}
	if c.metadata != "" {
		for k, v := range object(s.t, c.metadata) {
			metadata[k] = v
		}
	} else if parentID != "" {
		detail.ParentMap = within
	}
	s.emit(agent.CheckpointSaved, c.ns, detail)
}

// taskView is a task of a checkpoint's next superstep.
func taskView(ns, node string, interrupts ...agent.InterruptInfo) agent.TaskView {
	return agent.TaskView{ID: id(ns + node), Name: nodeOf(node), Path: raw([]string{"__pregel_pull", nodeOf(node)}), Interrupts: interrupts}
}

// nodeOf drops the visit from node#visit.
func nodeOf(task string) string { name, _, _ := strings.Cut(task, "#"); return name }

func (s *script) taskStart(ns, task string, step int, input string) {
	start := agent.TaskStart{
		ID: id(ns + task), Name: nodeOf(task), Step: step, Input: json.RawMessage(input),
		Triggers: []string{"branch:to:" + nodeOf(task)},
	}
	if state := s.states[ns+s.head[ns]]; state != nil && string(state.JSON()) == input {
		start.CheckpointID = s.head[ns]
	}
	s.emit(agent.TaskStarted, ns, start)
}

// taskEnd reports a task that wrote result, or, with "", one that asks.
func (s *script) taskEnd(ns, task string, step int, result string, interrupts ...agent.InterruptInfo) {
	finish := agent.TaskFinish{ID: id(ns + task), Name: nodeOf(task), Step: step, Interrupts: interrupts}
	if result != "" {
		finish.Result = json.RawMessage(result)
		s.emit(agent.UpdatesEmitted, ns, agent.UpdatesNote{Node: nodeOf(task), Data: finish.Result})
	}
	s.emit(agent.TaskFinished, ns, finish)
}

// taskNS is the namespace of a task.
func taskNS(ns, task string) string {
	own := nodeOf(task) + ":" + id(ns+task)
	if ns == "" {
		return own
	}
	return ns + "|" + own
}

func (s *script) meta(ns, task string, step int) agent.MessageMeta {
	return agent.MessageMeta{
		Node: nodeOf(task), Step: step, Triggers: []string{"branch:to:" + nodeOf(task)},
		CheckpointNS: taskNS(ns, task),
	}
}

// stream writes a message of a model, one character a chunk.
func (s *script) stream(ns, task string, step int, messageID, text string) {
	at := taskNS(ns, task)
	meta := s.meta(ns, task, step)
	meta.Extra = object(s.t, `{"ls_model_type":"chat"}`)
	s.emit(agent.MessageStarted, at, agent.MessageStart{ID: messageID, CallID: id("call" + messageID), Type: "ai", Streamed: true, Meta: meta})
	s.emit(agent.BlockStarted, at, agent.BlockStart{ID: messageID, Block: raw(map[string]string{"type": "text", "text": ""})})
	for _, r := range text {
		s.emit(agent.BlockDelta, at, agent.Delta{ID: messageID, Type: "text", Text: string(r)})
	}
	s.emit(agent.BlockFinished, at, agent.BlockFinish{ID: messageID, Block: raw(map[string]string{"type": "text", "text": text})})
	s.emit(agent.MessageFinished, at, agent.MessageFinish{ID: messageID, Reason: "stop", Message: json.RawMessage(ai(messageID, text))})
}

func (s *script) whole(ns, task string, step int, message string) {
	s.emit(agent.MessageWhole, taskNS(ns, task), agent.MessageSnapshot{Message: json.RawMessage(message), Meta: s.meta(ns, task, step)})
}

// project returns what a live reader gets.
func (s *script) project() []frame.Frame {
	return projectAll(classic.New(s.run), s.entries, nil)
}

// replay returns what a reader of the stored log gets.
func (s *script) replay() []frame.Frame {
	var stored []thread.Entry
	for _, e := range s.entries {
		if start, ok := e.Event.Payload.(agent.TaskStart); ok && start.CheckpointID != "" {
			start.Input = nil // as the log keeps it
			e.Event.Payload = start
		}
		b, err := json.Marshal(e.Event)
		require.NoError(s.t, err)
		e.Event = agent.Event{}
		require.NoError(s.t, json.Unmarshal(b, &e.Event))
		stored = append(stored, e)
	}
	return projectAll(classic.New(s.run), stored, s.states)
}

func projectAll(p *classic.Projection, entries []thread.Entry, states map[string]*agent.State) []frame.Frame {
	var all []frame.Frame
	for _, e := range entries {
		var state *agent.State
		if id := p.NeedsState(e); id != "" {
			state = states[e.Event.NS+id]
		}
		all = append(all, p.Project(e, state)...)
	}
	return all
}

func body(frames []frame.Frame) []byte {
	var b bytes.Buffer
	for _, f := range frames {
		b.Write(f.Wire)
	}
	return b.Bytes()
}

// names are the frames' event names.
func names(frames []frame.Frame) []string {
	var list []string
	for _, f := range frames {
		list = append(list, f.Name())
	}
	return list
}

func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func object(t *testing.T, text string) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	require.NoError(t, json.Unmarshal([]byte(text), &m))
	return m
}

// stateOf makes a state of a JSON object, its keys in the order of the text.
func stateOf(t *testing.T, text string) *agent.State {
	values := map[string]agent.Value{}
	for k, v := range object(t, text) {
		values[k] = agent.Value{JSON: v}
	}
	var keys []string
	d := json.NewDecoder(strings.NewReader(text))
	_, err := d.Token()
	require.NoError(t, err)
	for d.More() {
		key, err := d.Token()
		require.NoError(t, err)
		keys = append(keys, key.(string))
		var skipped json.RawMessage
		require.NoError(t, d.Decode(&skipped))
	}
	return agent.NewState(keys, values)
}

func human(id, text string) string {
	return `{"type":"human","id":"` + id + `","content":` + string(raw(text)) + `,"additional_kwargs":{},"response_metadata":{}}`
}

func ai(id, text string) string {
	return `{"type":"ai","id":"` + id + `","content":` + string(raw(text)) + `,"tool_calls":[],"invalid_tool_calls":[],"additional_kwargs":{},"response_metadata":{}}`
}

func toolMessage(id, text string) string {
	return `{"type":"tool","id":"` + id + `","content":` + string(raw(text)) + `,"tool_call_id":"tool_call_id","additional_kwargs":{},"response_metadata":{}}`
}

func list(messages ...string) string { return "[" + strings.Join(messages, ",") + "]" }
