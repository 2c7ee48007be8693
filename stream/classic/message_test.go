package classic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/stream/frame"
)

// chunks are the first halves of the "messages" frames.
func chunks(t *testing.T, frames []frame.Frame) []map[string]json.RawMessage {
	var all []map[string]json.RawMessage
	for _, f := range frames {
		if f.Name() == "messages" {
			var pair []map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(f.Data(), &pair))
			require.Len(t, pair, 2)
			all = append(all, pair[0])
		}
	}
	return all
}

// fields returns one field of each chunk.
func fields(chunks []map[string]json.RawMessage, key string) []string {
	var all []string
	for _, c := range chunks {
		all = append(all, string(c[key]))
	}
	return all
}

func (s *script) open(messageID string) {
	meta := s.meta("", "agent", 1)
	meta.Extra = object(s.t, `{"ls_model_type":"chat"}`)
	s.emit(agent.MessageStarted, taskNS("", "agent"), agent.MessageStart{ID: messageID, CallID: "call", Streamed: true, Name: "bot", Meta: meta, ResponseMetadata: raw(map[string]int{"first": 1})})
}

func (s *script) delta(d agent.Delta) { s.emit(agent.BlockDelta, taskNS("", "agent"), d) }

// spec/rest-api.md 4.4: arguments stream as strings, id and name once, usage in
// the last chunk.
func TestToolCallsStreamAsChunks(t *testing.T) {
	t.Parallel()
	s := newScript(t, "g", "run", "messages-tuple").start(`{}`)
	s.open("m")
	ns := taskNS("", "agent")
	s.delta(agent.Delta{ID: "m", Type: "text", Text: "I"})
	s.emit(agent.BlockStarted, ns, agent.BlockStart{ID: "m", Index: 1, Block: json.RawMessage(`{"type":"tool_call_chunk","id":"c1","name":"t","args":"","index":0}`)})
	s.delta(agent.Delta{ID: "m", Index: 1, Type: "tool_call", Text: `{"x":`})
	s.delta(agent.Delta{ID: "m", Index: 1, Type: "tool_call", Text: `1}`})
	s.emit(agent.BlockFinished, ns, agent.BlockFinish{ID: "m", Index: 1, Block: json.RawMessage(`{"type":"tool_call","id":"c1","name":"t","args":{"x":1}}`)})
	// A call whose chunks had no arguments at all.
	s.emit(agent.BlockStarted, ns, agent.BlockStart{ID: "m", Index: 2, Block: json.RawMessage(`{"type":"tool_call_chunk","id":"c2","name":"u","args":"","index":1}`)})
	s.emit(agent.BlockFinished, ns, agent.BlockFinish{ID: "m", Index: 2, Block: json.RawMessage(`{"type":"tool_call","id":"c2","name":"u","args":{}}`)})
	s.emit(agent.MessageFinished, ns, agent.MessageFinish{
		ID: "m", Usage: &message.Usage{InputTokens: 1, OutputTokens: 2, TotalTokens: 3}, ResponseMetadata: json.RawMessage(`{"first":1,"last":2}`),
	})
	got := chunks(t, s.project())
	require.Equal(t, []string{`"I"`, `""`, `""`, `""`, `""`}, fields(got, "content"))
	require.Equal(t, []string{
		`[]`,
		`[{"name":"t","args":"{\"x\":","id":"c1","index":0,"type":"tool_call_chunk"}]`,
		`[{"args":"1}","index":0,"type":"tool_call_chunk"}]`,
		`[{"name":"u","args":"{}","id":"c2","index":1,"type":"tool_call_chunk"}]`,
		`[]`,
	}, fields(got, "tool_call_chunks"))
	require.Equal(t, []string{`[]`, `[]`, `[]`, `[{"name":"u","args":{},"id":"c2","type":"tool_call"}]`, `[]`}, fields(got, "tool_calls"), "a call that comes whole")
	require.Equal(t, []string{"", "", "", "", `{"input_tokens":1,"output_tokens":2,"total_tokens":3}`}, fields(got, "usage_metadata"))
	require.Equal(t, []string{`{"first":1}`, `{}`, `{}`, `{}`, `{"last":2}`}, fields(got, "response_metadata"))
	require.Equal(t, `"bot"`, string(got[3]["name"]))
}

// Content of several kinds is sent as blocks with an index, which clients merge.
func TestReasoningStreamsAsBlocks(t *testing.T) {
	t.Parallel()
	s := newScript(t, "g", "run", "messages-tuple", "messages").start(`{}`)
	s.open("m")
	ns := taskNS("", "agent")
	s.emit(agent.BlockStarted, ns, agent.BlockStart{ID: "m", Block: json.RawMessage(`{"type":"reasoning","reasoning":""}`)})
	s.delta(agent.Delta{ID: "m", Type: "reasoning", Text: "hm"})
	s.delta(agent.Delta{ID: "m", Index: 1, Type: "text", Text: "yes"})
	image := `{"type":"image","url":"u"}`
	s.emit(agent.BlockFinished, ns, agent.BlockFinish{ID: "m", Index: 2, Block: json.RawMessage(image)})
	frames := s.project()
	require.Equal(t, []string{
		`[{"type":"reasoning","reasoning":"hm","index":0}]`,
		`[{"type":"text","text":"yes","index":1}]`,
		`[` + image + `]`,
	}, fields(chunks(t, frames), "content"))
	last := frames[len(frames)-1]
	require.Equal(t, "messages/partial", last.Name())
	require.Contains(t, string(last.Data()), `"content":[{"type":"reasoning","reasoning":"hm"},{"type":"text","text":"yes"},`+image+`]`)
}

// Mode "messages": metadata once, then the message as far as it is, then what
// each new state has of messages that weren't complete before.
func TestMessagesModeAccumulates(t *testing.T) {
	t.Parallel()
	s := agentRun(t, newScript(t, "agent", "run", "messages"), "")
	frames := s.project()
	require.Equal(t, []string{
		"metadata", "messages/complete",
		"messages/metadata", "messages/partial", "messages/partial", "messages/partial", "messages/partial", "messages/partial", "messages/complete",
		"messages/complete",
		"messages/metadata", "messages/partial", "messages/partial", "messages/partial", "messages/complete",
	}, names(frames))
	var partial, complete []struct{ ID, Content string }
	require.NoError(t, json.Unmarshal(frames[7].Data(), &partial))
	require.NoError(t, json.Unmarshal(frames[8].Data(), &complete))
	require.Equal(t, complete, partial, "the last partial is the complete message")
	require.Equal(t, "begin", partial[0].Content)
	require.Equal(t, list(human("human-1", "foo")), string(frames[1].Data()))
	require.Contains(t, string(frames[2].Data()), `{"`+id("m1")+`":{"metadata":{"tags":[]`)
	require.Equal(t, string(body(frames)), string(body(s.replay())))
}

// Decisions 7: a second attempt of a model call removes the message and starts it anew under its id.
func TestMessageResetRemovesAndRestarts(t *testing.T) {
	t.Parallel()
	s := newScript(t, "g", "run", "messages-tuple", "messages").start(`{}`)
	s.open("m")
	s.delta(agent.Delta{ID: "m", Type: "text", Text: "wro"})
	s.emit(agent.MessageReset, taskNS("", "agent"), agent.MessageRef{ID: "m", Meta: s.meta("", "agent", 1)})
	s.open("m")
	s.delta(agent.Delta{ID: "m", Type: "text", Text: "right"})
	frames := s.project()
	require.Equal(t, []string{"metadata", "messages", "messages/metadata", "messages/partial", "messages", "messages", "messages/partial"}, names(frames))
	require.True(t, strings.HasPrefix(string(frames[4].Data()), `[{"type":"remove","id":"m","content":[],"additional_kwargs":{},"response_metadata":{}},{"tags":[]`))
	require.Contains(t, string(frames[6].Data()), `"content":"right"`)
}

// After a crash: no second metadata, the numbers jump, partials start again (decisions 2, 7).
func TestRecoveryGoesOnBehindTheReservedNumbers(t *testing.T) {
	t.Parallel()
	s := newScript(t, "g", "run", "messages", "custom").start(`{}`)
	s.open("m")
	s.delta(agent.Delta{ID: "m", Type: "text", Text: "lost"})
	s.emit(agent.RunStarted, "", agent.RunStart{GraphID: "g", Attempt: 2, FrameBase: 5000})
	s.delta(agent.Delta{ID: "m", Type: "text", Text: "of the dead worker"})
	s.open("m")
	s.delta(agent.Delta{ID: "m", Type: "text", Text: "new"})
	frames := s.project()
	require.Equal(t, []string{"metadata", "messages/metadata", "messages/partial", "messages/partial"}, names(frames))
	require.Contains(t, string(frames[3].Data()), `"content":"new"`)
	require.EqualValues(t, 5000, frames[3].N)
	require.EqualValues(t, 2, frames[3].Prev)
}

func TestWholeMessagesNameTheirNodeUnlessAModelMadeThem(t *testing.T) {
	t.Parallel()
	s := newScript(t, "g", "run", "messages-tuple").start(`{}`)
	s.whole("", "agent", 3, ai("a", "x"))
	meta := s.meta("", "agent", 3)
	meta.Extra = object(t, `{"ls_model_type":"chat"}`)
	s.emit(agent.MessageWhole, taskNS("", "agent"), agent.MessageSnapshot{Message: raw("m"), Meta: meta})
	frames := s.project()
	require.Contains(t, string(frames[1].Data()), `{"tags":["graph:step:3"],"name":"agent",`)
	require.Contains(t, string(frames[2].Data()), `["m",{"tags":[],"assistant_id"`)
}
