package message

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func accumulate(chunks ...Chunk) *Accumulator {
	var a Accumulator
	for _, c := range chunks {
		a.Add(c)
	}
	return &a
}

func TestAccumulatorContent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		chunks []Chunk
		want   string
	}{
		"nothing":               {nil, `""`},
		"text stays a string":   {[]Chunk{{Text: "be"}, {Text: "g\u2028"}, {Text: "in"}}, `"beg\u2028in"`},
		"reasoning makes lists": {[]Chunk{{Reasoning: "hm"}, {Reasoning: "m"}, {Text: "a"}, {Text: "b"}}, `[{"type":"reasoning","reasoning":"hmm"},{"type":"text","text":"ab"}]`},
		"interleaved thinking":  {[]Chunk{{Text: "a"}, {Reasoning: "r"}, {Text: "b"}}, `[{"type":"text","text":"a"},{"type":"reasoning","reasoning":"r"},{"type":"text","text":"b"}]`},
		"media":                 {[]Chunk{{Text: "a"}, {Block: json.RawMessage(`{"type":"image","url":"u"}`)}}, `[{"type":"text","text":"a"},{"type":"image","url":"u"}]`},
		"blocks of one index":   {[]Chunk{{Block: json.RawMessage(`{"type":"audio","data":"AA","index":0}`)}, {Block: json.RawMessage(`{"type":"audio","data":"BB","index":0}`)}}, `[{"type":"audio","data":"AABB","index":0}]`},
		"signed reasoning":      {[]Chunk{{Reasoning: "a"}, {Signature: "s1"}, {Reasoning: "b"}, {Signature: "s2"}, {Text: "t"}}, `[{"type":"reasoning","reasoning":"a","extras":{"signature":"s1"}},{"type":"reasoning","reasoning":"b","extras":{"signature":"s2"}},{"type":"text","text":"t"}]`},
		"a signature alone":     {[]Chunk{{Signature: "s"}, {Text: "t"}}, `[{"type":"reasoning","reasoning":"","extras":{"signature":"s"}},{"type":"text","text":"t"}]`},
		"a call between text":   {[]Chunk{{Text: "a"}, {ToolCalls: []ToolCallChunk{{ID: "c", Name: "t"}}}, {Text: "b"}}, `"ab"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.JSONEq(t, tc.want, string(accumulate(tc.chunks...).Finish().Content))
		})
	}
}

func TestAccumulatorMergesToolCallsByIndex(t *testing.T) {
	t.Parallel()
	a := accumulate(
		Chunk{ToolCalls: []ToolCallChunk{{Index: 0, ID: "c1", Name: "weather", Args: `{"city":"San`}}},
		Chunk{ToolCalls: []ToolCallChunk{{Index: 1, ID: "c2", Name: "time"}}},
	)
	require.Equal(t, []ToolCall{
		NewToolCall("c1", "weather", json.RawMessage(`{"city":"San"}`)),
		NewToolCall("c2", "time", json.RawMessage(`{}`)),
	}, a.Message().ToolCalls)

	// Model D repeats id and name in both halves: they replace, they don't concatenate.
	a.Add(Chunk{ToolCalls: []ToolCallChunk{{Index: 0, ID: "c1", Name: "weather", Args: ` Francisco"}`}}})
	m := a.Finish()
	require.Empty(t, m.InvalidToolCalls)
	require.Equal(t, []ToolCall{
		NewToolCall("c1", "weather", json.RawMessage(`{"city":"San Francisco"}`)),
		NewToolCall("c2", "time", json.RawMessage(`{}`)),
	}, m.ToolCalls)
}

func TestAccumulatorKeepsCallsOfOneIndexApartByID(t *testing.T) {
	t.Parallel()
	m := accumulate(
		Chunk{ToolCalls: []ToolCallChunk{{ID: "c1", Name: "a", Args: `{}`}}},
		Chunk{ToolCalls: []ToolCallChunk{{ID: "c2", Name: "b", Args: `{"x"`}}},
		Chunk{ToolCalls: []ToolCallChunk{{Args: `:1}`}}},
	).Finish()
	require.Equal(t, []ToolCall{
		NewToolCall("c1", "a", json.RawMessage(`{}`)),
		NewToolCall("c2", "b", json.RawMessage(`{"x":1}`)),
	}, m.ToolCalls)
}

func TestAccumulatorNeverFinishesHalfAnArgument(t *testing.T) {
	t.Parallel()
	for _, args := range []string{`{"amount":1`, `[1]`, `"x"`, `{"a":}`} {
		a := accumulate(Chunk{ToolCalls: []ToolCallChunk{{ID: "c", Name: "pay", Args: args}}})
		m := a.Finish()
		require.Empty(t, m.ToolCalls, args)
		require.Len(t, m.InvalidToolCalls, 1, args)
		require.Equal(t, args, m.InvalidToolCalls[0].Args)
		require.NotEmpty(t, m.InvalidToolCalls[0].Error)
	}
}

func TestAccumulatorMetadata(t *testing.T) {
	t.Parallel()
	a := accumulate(
		Chunk{ID: "m1", Usage: &Usage{InputTokens: 3, TotalTokens: 3, InputTokenDetails: json.RawMessage(`{"cache_read":1}`)}},
		Chunk{ID: "other", AdditionalKwargs: json.RawMessage(`{"thought":"a","id":"x"}`), ResponseMetadata: json.RawMessage(`{"model":"m"}`)},
		Chunk{AdditionalKwargs: json.RawMessage(`{"thought":"b","id":"y"}`), ResponseMetadata: json.RawMessage(`{"model":"n","stop":1}`), FinishReason: "stop"},
		Chunk{Usage: &Usage{OutputTokens: 2, TotalTokens: 2, InputTokenDetails: json.RawMessage(`{"cache_read":2,"audio":1}`)}},
	)
	m := a.Finish()
	require.Equal(t, "m1", m.ID)
	require.Equal(t, "stop", a.FinishReason())
	require.JSONEq(t, `{"thought":"ab","id":"y"}`, string(m.AdditionalKwargs))
	require.JSONEq(t, `{"model":"n","stop":1}`, string(m.ResponseMetadata))
	require.Equal(t, 3, m.UsageMetadata.InputTokens)
	require.Equal(t, 2, m.UsageMetadata.OutputTokens)
	require.Equal(t, 5, m.UsageMetadata.TotalTokens)
	require.JSONEq(t, `{"cache_read":3,"audio":1}`, string(m.UsageMetadata.InputTokenDetails))

	a.Reset()
	require.Equal(t, Message{Type: AI, ID: "m1", Content: json.RawMessage(`""`)}, a.Finish())
}

func TestPartialObject(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                         `{}`,
		`{`:                        `{}`,
		`{"a`:                      `{}`,
		`{"a":`:                    `{}`,
		`{"a":tr`:                  `{}`,
		`{"a":true`:                `{"a":true}`,
		`{"a":-`:                   `{}`,
		`{"a":12.`:                 `{"a":12}`,
		`{"a":"x`:                  `{"a":"x"}`,
		`{"a":"x\`:                 `{"a":"x"}`,
		`{"a":"x\u00e`:             `{"a":"x"}`,
		`{"a":"x","b`:              `{"a":"x"}`,
		`{"a":{"b":[1,"y`:          `{"a":{"b":[1,"y"]}}`,
		`{"a":[`:                   `{"a":[]}`,
		`{"a":[1,`:                 `{"a":[1]}`,
		`{"a":[1,2],`:              `{"a":[1,2]}`,
		` { "a" : 1 , "b" : [ {} `: `{"a":1,"b":[{}]}`,
		`{"a":1}`:                  `{"a":1}`,
		`{"a":1}}`:                 `{"a":1}`,
		`[1`:                       `{}`,
		`{"a":nope,"b":1`:          `{}`,
		`garbage`:                  `{}`,
	} {
		require.Equal(t, want, string(partialObject(text)), text)
	}
}

func TestPartialObjectIsAlwaysAnObject(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`\{("[ab\\u]{0,3}"?|[0-9.\-truefalsn]{0,4}|[\[\]{},:" ]){0,12}`).Draw(t, "text")
		var v map[string]any
		require.NoError(t, json.Unmarshal(partialObject(text), &v), text)
	})
}

func TestPartialObjectGrowsToTheWhole(t *testing.T) {
	t.Parallel()
	const whole = `{"city":"Zürich \"x\" 😀","n":[1,2.5,-3e2,true,null],"o":{"k":{}},"e":""}`
	for i := range len(whole) + 1 {
		require.True(t, json.Valid(partialObject(whole[:i])), whole[:i])
	}
	require.JSONEq(t, whole, string(partialObject(whole)))
}
