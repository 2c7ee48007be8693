package message

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCoerceTakesEveryFormThatClientsSend(t *testing.T) {
	t.Parallel()
	const human = `{"type":"human","content":"hi","additional_kwargs":{},"response_metadata":{}}`
	for name, tc := range map[string]struct{ in, want string }{
		"string":           {`"hi"`, human},
		"pair":             {`["user","hi"]`, human},
		"role":             {`{"role":"user","content":"hi"}`, human},
		"type":             {`{"type":"human","content":"hi"}`, human},
		"null means unset": {`{"type":"human","content":"hi","id":null,"name":null}`, human},
		"type user":        {`{"type":"user","content":"hi"}`, human},
		"constructor": {`{"lc":1,"type":"constructor","id":["langchain_core","messages","HumanMessage"],"kwargs":{"content":"hi"}}`,
			human},
		"chunk becomes a full message": {`{"type":"AIMessageChunk","id":"r","content":"x","tool_call_chunks":[{"index":0}]}`,
			`{"type":"ai","id":"r","content":"x","additional_kwargs":{},"response_metadata":{},"tool_calls":[],"invalid_tool_calls":[]}`},
		"assistant": {`{"role":"assistant","content":"x","name":"bot","usage_metadata":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}`,
			`{"type":"ai","name":"bot","content":"x","additional_kwargs":{},"response_metadata":{},"tool_calls":[],"invalid_tool_calls":[],"usage_metadata":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}`},
		"OpenAI tool calls": {`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}]}`,
			`{"type":"ai","content":[],"additional_kwargs":{},"response_metadata":{},"tool_calls":[{"name":"f","args":{"a":1},"id":"c","type":"tool_call"}],"invalid_tool_calls":[]}`},
		"tool": {`{"role":"tool","content":"r","tool_call_id":"c","status":"error","artifact":{"x":1}}`,
			`{"type":"tool","content":"r","additional_kwargs":{},"response_metadata":{},"tool_call_id":"c","status":"error","artifact":{"x":1}}`},
		"developer is a marked system message": {`{"role":"developer","content":"s"}`,
			`{"type":"system","content":"s","additional_kwargs":{"__openai_role__":"developer"},"response_metadata":{}}`},
		"developer keeps its own kwargs": {`{"role":"developer","content":"s","additional_kwargs":{"a":1}}`,
			`{"type":"system","content":"s","additional_kwargs":{"a":1,"__openai_role__":"developer"},"response_metadata":{}}`},
		"remove": {`{"role":"remove","id":"x"}`,
			`{"type":"remove","id":"x","content":[],"additional_kwargs":{},"response_metadata":{}}`},
		"missing content": {`{"type":"human"}`,
			`{"type":"human","content":[],"additional_kwargs":{},"response_metadata":{}}`},
		"blocks and unknown keys pass": {`{"type":"human","content":[{"type":"image_url","image_url":{"url":"u"}}],"example":false,"z":[1]}`,
			`{"type":"human","content":[{"type":"image_url","image_url":{"url":"u"}}],"additional_kwargs":{},"response_metadata":{},"example":false,"z":[1]}`},
		"a foreign field stays": {`{"type":"human","content":"","status":"s","tool_calls":[]}`,
			`{"type":"human","content":"","additional_kwargs":{},"response_metadata":{},"status":"s","tool_calls":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := Coerce(json.RawMessage(tc.in))
			require.NoError(t, err)
			b, err := m.MarshalJSON()
			require.NoError(t, err)
			require.Equal(t, tc.want, string(b))
		})
	}
}

func TestCoerceRefuses(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"role":"nobody","content":""}`:       `unknown role "nobody"`,
		`{"content":"x"}`:                      "needs a type or a role",
		`7`:                                    "7 is not a message",
		`null`:                                 "null is not a message",
		`["user"]`:                             "[role, content]",
		`[1,"x"]`:                              "not a string",
		`{"type":"human","content":5}`:         "content is 5",
		`{"type":"human","content":"","id":5}`: "the id 5",
		`{"type":"tool","content":""}`:         "needs a tool_call_id",
		`{"type":"remove"}`:                    "needs an id",
		`{"lc":1,"type":"constructor","id":["X"],"kwargs":{}}`:        `unknown role "X"`,
		`{"lc":1,"type":"constructor","id":"X","kwargs":{}}`:          "class path",
		`{"role":"ai","tool_calls":[{"function":{"arguments":"{"}}]}`: "are not JSON",
		`{"type":"human","content":"x"`:                               "unexpected end",
	} {
		_, err := Coerce(json.RawMessage(in))
		require.ErrorContains(t, err, want, in)
	}
	_, err := Coerce(json.RawMessage(`{"role":"nobody"}`))
	var coercion *CoercionError
	require.ErrorAs(t, err, &coercion)
	require.ErrorContains(t, err, "Allowed roles: human, user, ai, assistant, system, developer, tool, remove")

	list, err := CoerceList(json.RawMessage(`["user","hi"]`))
	require.NoError(t, err)
	require.Len(t, list, 2)
}

// D-25: a message that is complete keeps its bytes, key order and spelling included.
func TestReduceKeepsTheBytesOfWireMessages(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"content":"\u00e9<b>","id":"h","additional_kwargs":{"k":1e2},"response_metadata":{},"type":"human","z":null}`,
		`{"id":"a","content":"","tool_calls":[{"id":"c","name":"f","args":{"b":1,"a":2},"extras":{"signature":"s"}}],"invalid_tool_calls":[],"additional_kwargs":{},"response_metadata":{"model":"m"},"usage_metadata":{"input_tokens":1,"output_tokens":1,"total_tokens":2,"cost":0.5},"type":"ai"}`,
		`{"status":"success","content":"{}","tool_call_id":"c","name":"f","metadata":{"v":1},"additional_kwargs":{},"response_metadata":{},"id":"t","type":"tool"}`,
	} {
		l, err := Reduce(List{}, json.RawMessage(raw), nil)
		require.NoError(t, err)
		require.Equal(t, raw, string(l.Raw(0)))

		var loose any
		require.NoError(t, json.Unmarshal([]byte(raw), &loose))
		pretty, err := json.MarshalIndent(loose, "", "  ")
		require.NoError(t, err)
		l, err = Reduce(List{}, pretty, nil)
		require.NoError(t, err)
		require.JSONEq(t, raw, string(l.Raw(0)))
		require.NotContains(t, string(l.Raw(0)), "\n", "an event's data is one line")
	}
}

// D-25: what Parley doesn't know survives a message being decoded and written again.
func TestMessageRoundTripLosesNothing(t *testing.T) {
	t.Parallel()
	const raw = `{"type":"ai","id":"a","name":"n","content":[{"type":"text","text":"x"}],"additional_kwargs":{"k":[1]},"response_metadata":{"model":"m"},"tool_calls":[{"name":"f","args":{"x":1},"id":"c","type":"tool_call"}],"invalid_tool_calls":[{"name":"g","args":"{","id":"d","error":"e","type":"invalid_tool_call"}],"usage_metadata":{"input_tokens":1,"output_tokens":2,"total_tokens":3,"input_token_details":{"cache_read":1}},"content_blocks":[],"mystery":{"a":null}}`
	var m Message
	require.NoError(t, json.Unmarshal([]byte(raw), &m))
	require.Equal(t, "x", m.Text())
	require.Equal(t, []InvalidToolCall{{Name: "g", Args: "{", ID: "d", Error: "e", Type: "invalid_tool_call"}}, m.InvalidToolCalls)
	b, err := m.MarshalJSON()
	require.NoError(t, err)
	require.Equal(t, raw, string(b))
	require.Equal(t, m, New(m).At(0))
}

func TestMarshalEscapesWhatBreaksReaders(t *testing.T) {
	t.Parallel()
	const text = "a\"\\\n\r\t\x01<&>é😀\u2028\u2029\xffz"
	b, err := NewHuman(text).MarshalJSON()
	require.NoError(t, err)
	require.Contains(t, string(b), `"a\"\\\n\r\t\u0001<&>é😀\u2028\u2029`+"\ufffd"+`z"`)
	var m Message
	require.NoError(t, json.Unmarshal(b, &m))
	require.Equal(t, "a\"\\\n\r\t\x01<&>é😀\u2028\u2029\ufffdz", m.Text())

	_, err = Message{Type: Human, ID: "x", Content: json.RawMessage(`{`)}.MarshalJSON()
	require.ErrorContains(t, err, "not JSON")
}

func TestScannersRefuseMalformedJSON(t *testing.T) {
	t.Parallel()
	for _, in := range []string{``, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{a:1}`, `{"a" 1}`, `{"a":1;}`, `{"\x":1}`, `{"a":}`, `[]`} {
		require.Error(t, eachField([]byte(in), func(string, json.RawMessage) error { return nil }), in)
	}
	for _, in := range []string{``, `[`, `[1`, `[1,`, `["a`, `[,]`, `[1;2]`, `[{]`, `{}`} {
		require.Error(t, eachElement([]byte(in), func(json.RawMessage) error { return nil }), in)
	}
}

func TestIDOf(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"type":"ai","id":"a","content":""}`: "a",
		`{"id":"b","type":"ai"}`:              "b",
		`{"type":"ai","content":"\"id\":"}`:   "",
		`{"type":"ai","id":"x\"y"}`:           `x"y`,
		`{"type":"ai","id":"\u0061"}`:         "a",
		`{"type":"ai","id":null}`:             "",
		`{"type":"ai","id":"`:                 "",
		`nonsense`:                            "",
	} {
		require.Equal(t, want, idOf(json.RawMessage(in)), in)
	}
}
