package message

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConstructorsGiveTheWireForm(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]Message{
		`{"type":"human","content":"a","additional_kwargs":{},"response_metadata":{}}`:                                                                                            NewHuman("a"),
		`{"type":"system","content":"a","additional_kwargs":{},"response_metadata":{}}`:                                                                                           NewSystem("a"),
		`{"type":"ai","content":"","additional_kwargs":{},"response_metadata":{},"tool_calls":[{"name":"f","args":{"x":1},"id":"c","type":"tool_call"}],"invalid_tool_calls":[]}`: NewAI("", NewToolCall("c", "f", json.RawMessage(`{"x":1}`))),
		`{"type":"tool","name":"f","content":"a","additional_kwargs":{},"response_metadata":{},"tool_call_id":"c"}`:                                                               NewTool("c", "f", "a"),
		`{"type":"remove","id":"x","content":[],"additional_kwargs":{},"response_metadata":{}}`:                                                                                   NewRemove("x"),
	} {
		b, err := m.MarshalJSON()
		require.NoError(t, err)
		require.Equal(t, want, string(b))
	}
}

func TestExtraNeverWritesAKeyTwice(t *testing.T) {
	t.Parallel()
	extra := map[string]json.RawMessage{}
	for _, k := range []string{"type", "id", "name", "content", "additional_kwargs", "response_metadata", "tool_calls", "invalid_tool_calls", "usage_metadata", "tool_call_id", "status", "artifact", "b", "a"} {
		extra[k] = json.RawMessage(`9`)
	}
	for _, m := range []Message{
		{Type: AI, ID: "i", Name: "n", UsageMetadata: &Usage{}, Extra: extra},
		{Type: Tool, ID: "i", Name: "n", ToolCallID: "c", Status: "success", Artifact: json.RawMessage(`1`), Extra: extra},
		{Type: Human, Extra: extra},
	} {
		b, err := m.MarshalJSON()
		require.NoError(t, err)
		seen := map[string]bool{}
		require.NoError(t, eachField(b, func(key string, _ json.RawMessage) error {
			require.False(t, seen[key], "%s twice in %s", key, b)
			seen[key] = true
			return nil
		}))
		require.Regexp(t, `"a":9.*"b":9`, string(b))
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		`"a\nb"`: "a\nb",
		`[]`:     "",
		``:       "",
		`[{"type":"reasoning","reasoning":"r","text":"no"},{"type":"text","text":"a"},"b",7,{"text":"c","type":"text"}]`: "abc",
	} {
		require.Equal(t, want, Message{Content: json.RawMessage(content)}.Text(), content)
	}
}

func TestMergeObjects(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ a, b, concat, replace string }{
		{``, `{"a":1}`, `{"a":1}`, `{"a":1}`},
		{`{"a":1}`, ``, `{"a":1}`, `{"a":1}`},
		{`{"a":"x","b":1}`, `{"a":"y","c":2}`, `{"a":"xy","b":1,"c":2}`, `{"a":"y","b":1,"c":2}`},
		{`{"id":"x","name":"n","type":"t"}`, `{"id":"y","name":"","type":"t"}`, `{"id":"y","name":"n","type":"t"}`, `{"id":"y","name":"n","type":"t"}`},
		{`{"a":{"b":"x"},"n":null}`, `{"a":{"b":"y","c":1},"n":1}`, `{"a":{"b":"xy","c":1},"n":1}`, `{"a":{"b":"y","c":1},"n":1}`},
		{`{"a":[1],"b":[],"c":[3]}`, `{"a":[2],"b":[2],"c":[]}`, `{"a":[1,2],"b":[2],"c":[3]}`, `{"a":[2],"b":[2],"c":[]}`},
		{`{"a":1}`, `{"a":null}`, `{"a":1}`, `{"a":1}`},
		{`{"a":1}`, `{"a":"s"}`, `{"a":"s"}`, `{"a":"s"}`},
	} {
		require.Equal(t, tc.concat, string(mergeObjects(json.RawMessage(tc.a), json.RawMessage(tc.b), concatStrings)))
		require.Equal(t, tc.replace, string(mergeObjects(json.RawMessage(tc.a), json.RawMessage(tc.b), replaceStrings)))
	}
}
