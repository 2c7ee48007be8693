package protocol_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/stream/frame"
	"github.com/parley-dev/parley/stream/protocol"
	"github.com/parley-dev/parley/thread"
)

// script is the log of a thread as it is projected.
type script struct {
	t    *testing.T
	p    *protocol.Projection
	pos  int64
	seq  int64
	run  string
	last frame.Frame
}

func newScript(t *testing.T, o protocol.Options) *script {
	return &script{t: t, p: protocol.New(o), run: "run"}
}

// emit projects one more event; "" for no frame.
func (s *script) emit(kind agent.Kind, ns string, payload any) string {
	s.t.Helper()
	s.pos++
	e := thread.Entry{Pos: s.pos, RunID: s.run, Event: agent.Event{Kind: kind, At: 1_000 + s.pos, NS: ns, Payload: payload}}
	if kind.Numbered() {
		s.seq++
		e.Seq = s.seq
	}
	f, ok := s.p.Project(e, nil)
	if !ok {
		return ""
	}
	s.last = f
	require.Equal(s.t, e.Pos, f.Pos)
	require.Equal(s.t, e.Seq, f.Seq)
	require.Equal(s.t, ns, f.Label.NS)
	require.Equal(s.t, 4, strings.Count(string(f.Wire), "\n"), "three lines and an empty one") // M-58
	require.True(s.t, json.Valid(f.Data()), string(f.Data()))
	var envelope struct {
		Type    string
		EventID string `json:"event_id"`
		Seq     int64
		Method  string
		Params  struct {
			Namespace []string
			Timestamp int64
			Node      *string
			Data      json.RawMessage
		}
	}
	require.NoError(s.t, json.Unmarshal(f.Data(), &envelope))
	require.Equal(s.t, "event", envelope.Type)
	require.Equal(s.t, string(f.ID()), envelope.EventID)
	require.Equal(s.t, e.Seq, envelope.Seq)
	require.Equal(s.t, f.Name(), envelope.Method)
	require.Equal(s.t, e.Event.At, envelope.Params.Timestamp) // M-52
	require.NotNil(s.t, envelope.Params.Namespace)
	require.Equal(s.t, ns, strings.Join(envelope.Params.Namespace, "|"))
	require.Equal(s.t, envelope.Method == "updates", envelope.Params.Node != nil)
	return envelope.Method + " " + string(envelope.Params.Data)
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// Each kind of event, and what the protocol says of it (spec/streaming-protocol.md 3.4–3.10).
func TestWhatEachEventSays(t *testing.T) {
	t.Parallel()
	usage := &message.Usage{InputTokens: 1, OutputTokens: 2, TotalTokens: 3}
	s := newScript(t, protocol.Options{})
	require.Equal(t, `lifecycle {"event":"running","graph_name":"g"}`, s.emit(agent.RunStarted, "", agent.RunStart{
		GraphID: "g", AssistantID: "as", Attempt: 1, Metadata: map[string]json.RawMessage{"k": raw("1"), "thread_id": raw(`"x"`)},
	}))
	for _, c := range []struct {
		kind    agent.Kind
		ns      string
		payload any
		want    string
	}{
		{agent.CheckpointAnnounced, "", agent.CheckpointNote{ID: "c", ParentID: "p", Step: 2, Source: "loop"}, `checkpoints {"id":"c","parent_id":"p","step":2,"source":"loop"}`},
		{agent.CheckpointAnnounced, "a:1", agent.CheckpointNote{ID: "c", Step: -1, Source: "input"}, `checkpoints {"id":"c","step":-1,"source":"input"}`},
		{agent.ValuesEmitted, "", &agent.ValuesNote{Inline: raw("{\"a\":\n1}")}, `values {"a":1}`},
		{agent.UpdatesEmitted, "", agent.UpdatesNote{Node: "n", Data: raw(`{"x":1}`)}, `updates {"x":1}`},
		{agent.UpdatesEmitted, "", agent.UpdatesNote{Node: "n"}, `updates null`},
		{agent.UpdatesEmitted, "", agent.UpdatesNote{Node: "n", Data: raw(`[{"x":1},{"x":2}]`), Cached: true}, `updates [{"x":1},{"x":2}]`},
		{agent.TaskStarted, "", agent.TaskStart{ID: "t", Name: "n", Input: raw(`{"a":1}`), Triggers: []string{"x"}}, `tasks {"id":"t","name":"n","input":{"a":1},"triggers":["x"],"interrupts":[],"metadata":{"assistant_id":"as","graph_id":"g","k":1,"run_attempt":1,"run_id":"run"}}`},
		{agent.TaskFinished, "", agent.TaskFinish{ID: "t", Name: "n", Result: raw(`{"a":1}`), Interrupts: []agent.InterruptInfo{{ID: "i", Value: raw(`1`)}, {ID: "j"}}}, `tasks {"id":"t","name":"n","result":{"a":1},"interrupts":[{"id":"i","value":1},{"id":"j","value":null}],"error":null}`},
		{agent.TaskFinished, "", agent.TaskFinish{ID: "t", Name: "n", Error: &agent.ErrorInfo{Name: "E", Message: "m"}}, `tasks {"id":"t","name":"n","result":{},"interrupts":[],"error":{"message":"m","name":"E"}}`},
		{agent.NamespaceStarted, "a:1|b:2", agent.NamespaceNote{Name: "b"}, `lifecycle {"event":"started","graph_name":"b"}`},
		{agent.NamespaceFinished, "a:1", agent.NamespaceNote{Name: "a"}, `lifecycle {"event":"completed","graph_name":"a"}`},
		{agent.NamespaceFinished, "a:1", agent.NamespaceNote{Name: "a", Failed: true, ToolCallID: "c"}, `lifecycle {"event":"failed","graph_name":"a","cause":{"type":"toolCall","tool_call_id":"c"}}`},
		{agent.InterruptRaised, "a:1", agent.InterruptInfo{ID: "i", Value: raw(`{"q":"<&>"}`)}, `input.requested {"interrupt_id":"i","payload":{"q":"<&>"}}`},
		{agent.InterruptRaised, "", agent.InterruptInfo{ID: "k"}, `input.requested {"interrupt_id":"k","payload":null}`},
		{agent.InterruptRaised, "", agent.InterruptInfo{ID: "k"}, ``}, // M-29
		{agent.InterruptBubbled, "", agent.InterruptInfo{ID: "l"}, ``},
		{agent.CheckpointSaved, "", &agent.CheckpointDetail{CheckpointID: "c"}, ``},
		{agent.BreakpointHit, "", nil, ``},
		{agent.InputAnswered, "", agent.Answered{InterruptIDs: []string{"i", "j"}}, `input.answered {"interrupt_ids":["i","j"]}`},
		{agent.CustomWritten, "", agent.Custom{Value: raw(`{"stage":"thinking"}`)}, `custom {"payload":{"stage":"thinking"}}`},
		{agent.CustomWritten, "", agent.Custom{Value: raw(`"plain"`)}, `custom {"payload":"plain"}`},
		{agent.CustomWritten, "", agent.Custom{Value: raw(`{"name":1}`)}, `custom {"payload":{"name":1}}`},
		{agent.CustomWritten, "", agent.Custom{Value: raw(`{"name":"s","payload":[1]}`)}, `custom {"name":"s","payload":[1]}`},
		{agent.CustomWritten, "", agent.Custom{Value: raw(`{"name":"s"}`)}, `custom {"name":"s","payload":null}`},
		{agent.MessageStarted, "a:1", agent.MessageStart{ID: "m", CallID: "call", Type: "ai", Streamed: true}, `messages {"event":"message-start","id":"m","run_id":"call"}`},
		{agent.BlockStarted, "a:1", agent.BlockStart{ID: "m", Block: raw(`{"type":"text","text":""}`)}, `messages {"event":"content-block-start","index":0,"content":{"type":"text","text":""},"run_id":"call"}`},
		{agent.BlockDelta, "a:1", agent.Delta{ID: "m", Type: "text", Text: "a\nb"}, `messages {"event":"content-block-delta","index":0,"delta":{"type":"text-delta","text":"a\nb"},"run_id":"call"}`},
		{agent.BlockDelta, "a:1", agent.Delta{ID: "m", Index: 1, Type: "reasoning", Text: "r"}, `messages {"event":"content-block-delta","index":1,"delta":{"type":"reasoning-delta","reasoning":"r"},"run_id":"call"}`},
		{agent.BlockDelta, "a:1", agent.Delta{ID: "m", Index: 2, Type: "data", Text: "AAAA"}, `messages {"event":"content-block-delta","index":2,"delta":{"type":"data-delta","data":"AAAA","encoding":"base64"},"run_id":"call"}`},
		// Older clients read content, newer ones delta. // M-57
		{agent.BlockDelta, "a:1", agent.Delta{ID: "m", Index: 3, Type: "tool_call", Text: `{"a`, CallID: "c", Name: "n"}, `messages {"event":"content-block-delta","index":3,"delta":{"type":"tool-call-delta","args":"{\"a"},"content":{"type":"tool_call_chunk","args":"{\"a"},"run_id":"call"}`},
		{agent.BlockFinished, "a:1", agent.BlockFinish{ID: "m", Index: 3, Block: raw(`{"type":"tool_call","id":"c"}`)}, `messages {"event":"content-block-finish","index":3,"content":{"type":"tool_call","id":"c"},"run_id":"call"}`},
		{agent.MessageReset, "a:1", agent.MessageRef{ID: "m"}, ``},
		{agent.MessageFinished, "a:1", agent.MessageFinish{ID: "m", Usage: usage}, `messages {"event":"message-finish","reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3},"run_id":"call"}`},
		{agent.MessageWhole, "a:1", agent.MessageSnapshot{Message: raw(`{}`)}, ``},
		{agent.MessageStarted, "a:1", agent.MessageStart{ID: "o", CallID: "other", Type: "tool"}, `messages {"event":"message-start","id":"o","role":"tool","run_id":"other"}`},
		{agent.MessageFailed, "a:1", agent.MessageError{ID: "o", Message: "down", Code: "E"}, `messages {"event":"error","message":"down","code":"E","run_id":"other"}`},
		{agent.MessageStarted, "a:1", agent.MessageStart{ID: "p"}, `messages {"event":"message-start","id":"p"}`},
		{agent.MessageFinished, "a:1", agent.MessageFinish{ID: "p"}, `messages {"event":"message-finish","reason":"stop"}`},
		{agent.ToolStarted, "tools:1", agent.ToolNote{CallID: "c", Name: "n", Input: `{"a":1}`}, `tools {"event":"tool-started","tool_call_id":"c","tool_name":"n","input":"{\"a\":1}"}`}, // M-32
		{agent.ToolOutput, "tools:1", agent.ToolNote{CallID: "c", Delta: raw(`"text"`)}, `tools {"event":"tool-output-delta","tool_call_id":"c","delta":"text"}`},
		{agent.ToolOutput, "tools:1", agent.ToolNote{CallID: "c", Delta: raw(`{"part":0}`)}, `tools {"event":"tool-output-delta","tool_call_id":"c","delta":"{\"part\":0}"}`},
		{agent.ToolFinished, "tools:1", agent.ToolNote{CallID: "c", Output: raw(`{"type":"tool"}`)}, `tools {"event":"tool-finished","tool_call_id":"c","output":{"type":"tool"}}`},
		{agent.ToolFailed, "tools:1", agent.ToolNote{CallID: "c", Error: "exploded"}, `tools {"event":"tool-error","tool_call_id":"c","message":"exploded"}`},
	} {
		got := s.emit(c.kind, c.ns, c.payload)
		if c.want != got {
			require.Equal(t, compact(c.want), compact(got), "%s", c.kind)
		}
	}
}

// compact brings the data behind a method into one form.
func compact(text string) string {
	method, data, _ := strings.Cut(text, " ")
	var v any
	if json.Unmarshal([]byte(data), &v) != nil {
		return text
	}
	b, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return method + " " + string(b)
}

// How runs end (spec/streaming-protocol.md 3.4). // M-19, M-21, M-49
func TestTerminals(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 5000)
	for _, c := range []struct {
		finish agent.RunFinish
		silent bool
		want   string
	}{
		{agent.RunFinish{Status: "success"}, false, `{"event":"completed","graph_name":"g"}`},
		{agent.RunFinish{Status: "success", Suspended: true}, false, `{"event":"interrupted","graph_name":"g"}`},
		{agent.RunFinish{Status: "interrupted", Cancel: "interrupt"}, false, `{"event":"interrupted","graph_name":"g"}`},
		{agent.RunFinish{Status: "interrupted", Cancel: "rollback"}, false, `{"event":"interrupted","graph_name":"g"}`},
		{agent.RunFinish{Status: "error", Error: &agent.ErrorInfo{Name: "E", Message: "Boo!"}}, false, `{"event":"failed","graph_name":"g","error":"Boo!"}`},
		{agent.RunFinish{Status: "error", Error: &agent.ErrorInfo{Name: "E", Message: "Boo!"}}, true, `{"event":"failed","graph_name":"g"}`},
		{agent.RunFinish{Status: "error"}, false, `{"event":"failed","graph_name":"g","error":""}`},
	} {
		s := newScript(t, protocol.Options{NoFailureText: c.silent})
		c.finish.GraphID = "g"
		require.Equal(t, `lifecycle {"event":"running","graph_name":"g"}`, s.emit(agent.RunStarted, "", agent.RunStart{GraphID: "g", Attempt: 1}))
		require.Equal(t, "synth:run:1", string(s.last.ID()))
		require.Equal(t, "lifecycle "+c.want, s.emit(agent.RunFinished, "", c.finish))
		require.Equal(t, "synth:run:2", string(s.last.ID()))
		require.True(t, s.last.Label.Root)
	}
	s := newScript(t, protocol.Options{})
	got := s.emit(agent.RunFinished, "", agent.RunFinish{Status: "error", Error: &agent.ErrorInfo{Message: long}})
	require.Less(t, len(got), 4500)
	require.True(t, utf8.ValidString(got))
}

// A recovered run is not said to run once more; its state of what is under way is new. // M-19
func TestRecoveredRun(t *testing.T) {
	t.Parallel()
	s := newScript(t, protocol.Options{})
	s.emit(agent.RunStarted, "", agent.RunStart{GraphID: "g", Attempt: 1})
	require.NotEmpty(t, s.emit(agent.InputAnswered, "", agent.Answered{InterruptIDs: []string{"h"}}))
	require.NotEmpty(t, s.emit(agent.InterruptRaised, "", agent.InterruptInfo{ID: "i"}))
	require.Empty(t, s.emit(agent.RunStarted, "", agent.RunStart{GraphID: "g", Attempt: 2}))
	require.Empty(t, s.emit(agent.InputAnswered, "", agent.Answered{InterruptIDs: []string{"h"}}))
	require.Empty(t, s.emit(agent.InterruptRaised, "", agent.InterruptInfo{ID: "i"}))
	s.emit(agent.RunFinished, "", agent.RunFinish{Status: "success"})
	s.run = "next"
	require.NotEmpty(t, s.emit(agent.RunStarted, "", agent.RunStart{GraphID: "g", Attempt: 1}))
	require.NotEmpty(t, s.emit(agent.InputAnswered, "", agent.Answered{InterruptIDs: []string{"i"}}), "once in each run")
	require.NotEmpty(t, s.emit(agent.InterruptRaised, "", agent.InterruptInfo{ID: "i"}), "once in each run")
}

// What isn't wanted is not made, but known to what follows; counting gives as
// many frames as making them, with the same labels.
func TestWantSkipAndCount(t *testing.T) {
	t.Parallel()
	events := func(s *script) {
		s.emit(agent.RunStarted, "", agent.RunStart{GraphID: "g", Attempt: 1})
		s.emit(agent.MessageStarted, "a:1", agent.MessageStart{ID: "m", CallID: "call"})
	}
	s := newScript(t, protocol.Options{})
	s.p.Want(protocol.Lifecycle)
	events(s)
	s.p.Want(protocol.All)
	require.Contains(t, s.emit(agent.BlockDelta, "a:1", agent.Delta{ID: "m", Text: "x"}), `"run_id":"call"`)

	s = newScript(t, protocol.Options{})
	s.p.Skip(2)
	events(s)
	require.Contains(t, s.emit(agent.BlockDelta, "a:1", agent.Delta{ID: "m", Text: "x"}), `"run_id":"call"`)

	counting, making := protocol.New(protocol.Options{}), protocol.New(protocol.Options{})
	counting.Count()
	for i, e := range []agent.Event{
		{Kind: agent.RunStarted, Payload: agent.RunStart{}},
		{Kind: agent.ValuesEmitted, Payload: &agent.ValuesNote{Inline: raw(`{}`)}},
		{Kind: agent.CustomWritten, Payload: agent.Custom{Value: raw(`{"name":"n"}`)}},
		{Kind: agent.TaskStarted, NS: "a:1", Payload: agent.TaskStart{Input: raw(`1`)}},
		{Kind: agent.InterruptRaised, Payload: agent.InterruptInfo{ID: "i"}},
		{Kind: agent.InterruptRaised, Payload: agent.InterruptInfo{ID: "i"}},
		{Kind: agent.RunFinished, Payload: agent.RunFinish{Status: "success"}},
	} {
		entry := thread.Entry{Pos: int64(i + 1), Seq: int64(i + 1), RunID: "run", Event: e}
		want, ok := making.Project(entry, nil)
		got, counted := counting.Project(entry, nil)
		require.Equal(t, ok, counted, e.Kind)
		if ok {
			require.Equal(t, want.Label, got.Label, e.Kind)
			require.Equal(t, want.Seq, got.Seq)
		}
	}
}
