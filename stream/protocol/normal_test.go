package protocol_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/stream/protocol"
	"github.com/parley-dev/parley/thread"
)

// valuesOf is the data of the values event that shows a state.
func valuesOf(t require.TestingT, note *agent.ValuesNote) string {
	p := protocol.New(protocol.Options{})
	f, ok := p.Project(thread.Entry{Pos: 1, Seq: 1, Event: agent.Event{Kind: agent.ValuesEmitted, Payload: note}}, nil)
	require.True(t, ok)
	var e struct {
		Params struct{ Data json.RawMessage }
	}
	require.NoError(t, json.Unmarshal(f.Data(), &e))
	return string(e.Params.Data)
}

// Messages lose what is empty and nothing else, byte for byte. // D-25, M-24, M-31
func TestMessagesKeepAllThatIsInThem(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"type":"human","id":"h","content":"x","additional_kwargs":{},"response_metadata":{}}`:                       `{"type":"human","id":"h","content":"x"}`,
		`{"type":"ai","content":"","tool_calls":[],"invalid_tool_calls":[],"name":"m"}`:                               `{"type":"ai","content":"","name":"m"}`,
		`{"type":"ai","content":[{"type":"text","text":"a\"],b"}],"response_metadata":{"cards":{"k":[1,{}]}}}`:        `{"type":"ai","content":[{"type":"text","text":"a\"],b"}],"response_metadata":{"cards":{"k":[1,{}]}}}`,
		`{"type":"ai","content":"","additional_kwargs":{"a":null},"usage_metadata":{"input_tokens":1},"x":{},"y":[]}`: `{"type":"ai","content":"","additional_kwargs":{"a":null},"usage_metadata":{"input_tokens":1},"x":{},"y":[]}`,
		`{"type":"tool","content":"1","tool_call_id":"c","status":"error","artifact":{},"tool_calls":[{"id":"1"}]}`:   `{"type":"tool","content":"1","tool_call_id":"c","status":"error","artifact":{},"tool_calls":[{"id":"1"}]}`,
		`{"type":"remove","id":"h","content":[],"additional_kwargs":{}}`:                                              `{"type":"remove","id":"h","content":[]}`,
	} {
		require.Equal(t, `{"messages":[`+want+`]}`, valuesOf(t, &agent.ValuesNote{Inline: raw(`{"messages":[` + in + `]}`)}))
		require.Equal(t, `{"last":`+want+`}`, valuesOf(t, &agent.ValuesNote{Inline: raw(`{"last":` + in + `}`)}))
	}
	// What only looks like one in part stays as it is.
	for _, same := range []string{
		`{"messages":["a",{"type":"human","content":"x","additional_kwargs":{}}]}`, `{"messages":[{"type":"other","content":"x","additional_kwargs":{}}]}`,
		`{"messages":[{"type":"human","additional_kwargs":{}}]}`, `{"a":[],"b":{},"c":"x","d":null,"e":-1.5e3,"f":[[{"type":"ai","content":"","tool_calls":[]}]]}`, `{}`,
	} {
		require.Equal(t, same, valuesOf(t, &agent.ValuesNote{Inline: raw(same)}))
	}
}

// A state in memory, one that was stored inline and one that was read say the same.
func TestAStateSaysTheSameInEveryForm(t *testing.T) {
	t.Parallel()
	ai := message.NewAI("answer")
	ai.ID, ai.ResponseMetadata = "m", raw(`{"cards":{"a":1}}`)
	list := message.New(message.NewHuman("hi"), ai)
	live := agent.NewState([]string{"messages", "n", "none"}, map[string]agent.Value{"messages": {List: &list}, "n": {JSON: raw(`{"a":[1]}`)}})
	want := valuesOf(t, &agent.ValuesNote{State: live})
	require.Contains(t, want, `"response_metadata":{"cards":{"a":1}}`)
	require.NotContains(t, want, `{}`)
	require.Equal(t, want, valuesOf(t, &agent.ValuesNote{Inline: live.JSON()}))
	p := protocol.New(protocol.Options{})
	e := thread.Entry{Pos: 1, Seq: 1, Event: agent.Event{Kind: agent.ValuesEmitted, Payload: &agent.ValuesNote{CheckpointID: "c"}}}
	require.Equal(t, "c", p.NeedsState(e))
	f, ok := p.Project(e, live)
	require.True(t, ok)
	require.Contains(t, string(f.Data()), want)
	_, ok = p.Project(e, nil)
	require.False(t, ok, "a state that is gone is not shown")
}

// Whatever a state holds, its values are that state again.
func TestValuesAreTheState(t *testing.T) {
	t.Parallel()
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		leaves := []*rapid.Generator[any]{
			rapid.String().AsAny(), rapid.Int().AsAny(), rapid.Bool().AsAny(), rapid.Float64Range(-1e6, 1e6).AsAny(), rapid.Just[any](nil),
		}
		if depth > 0 {
			leaves = append(leaves, rapid.SliceOfN(value(depth-1), 0, 3).AsAny(), rapid.MapOfN(rapid.String(), value(depth-1), 0, 3).AsAny())
		}
		return rapid.OneOf(leaves...)
	}
	rapid.Check(t, func(t *rapid.T) {
		state := rapid.MapOf(rapid.String(), value(3)).Draw(t, "state")
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetIndent("", rapid.SampledFrom([]string{"", " ", "\t"}).Draw(t, "indent"))
		require.NoError(t, e.Encode(state))
		require.JSONEq(t, b.String(), valuesOf(t, &agent.ValuesNote{Inline: bytes.TrimSpace(b.Bytes())}))
	})
}
