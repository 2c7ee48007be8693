package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/internal/wiretest"
	"github.com/parley-dev/parley/agent/model/openai"
)

// done is the end of a stream.
const done = "[DONE]"

// newModel is a model of a server.
func newModel(t *testing.T, s *wiretest.Server, change ...func(*openai.Options)) *openai.Model {
	t.Helper()
	o := openai.Options{Model: "m", BaseURL: s.URL + "/v1"}
	for _, c := range change {
		c(&o)
	}
	m, err := openai.New(o)
	require.NoError(t, err)
	return m
}

// answer calls a server that plays payloads.
func answer(t *testing.T, payloads ...string) wiretest.Answer {
	t.Helper()
	s := wiretest.New(t, wiretest.Reply{Body: wiretest.SSE(payloads...)})
	return wiretest.Call(t.Context(), newModel(t, s), wiretest.Ask("hi"))
}

func TestStreamsTextWithUsageAndMetadata(t *testing.T) {
	t.Parallel()
	got := answer(
		t,
		`{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"gpt-5-mini-2026","system_fingerprint":"fp","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"finish_reason":null}],"usage":null}`,
		`{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}`,
		`{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":null}]}`,
		`{"id":"chatcmpl-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
		`{"id":"chatcmpl-1","choices":[],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":8,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":4,"audio_tokens":0}}}`,
		done,
	)
	require.NoError(t, got.Err)
	require.Equal(t, "Hello", got.Text())
	require.Equal(t, "stop", got.Reason)
	require.Len(t, got.Chunks, 3)
	require.Equal(t, "Hel", got.Chunks[0].Text)
	require.Empty(t, got.ID, "servers and their caches repeat ids, and a message would replace another")
	usage, err := json.Marshal(got.Usage)
	require.NoError(t, err)
	require.JSONEq(t, `{"input_tokens":19,"output_tokens":10,"total_tokens":29,"input_token_details":{"cache_read":8},"output_token_details":{"reasoning":4}}`, string(usage))
	require.JSONEq(t, `{"model_provider":"openai","model_name":"gpt-5-mini-2026","id":"chatcmpl-1","finish_reason":"stop","system_fingerprint":"fp"}`, string(got.ResponseMetadata))
}

func TestStreamsReasoning(t *testing.T) {
	t.Parallel()
	for name, deltas := range map[string][]string{
		"DeepSeek, vLLM":     {`{"reasoning_content":"Hm"}`, `{"reasoning_content":"m.","content":null}`, `{"content":"42"}`},
		"Ollama, OpenRouter": {`{"reasoning":"Hm"}`, `{"reasoning":"m.","content":""}`, `{"content":"42"}`},
		"both":               {`{"reasoning":"Hmm.","reasoning_content":"Hmm."}`, `{"content":"42"}`},
		"Mistral":            {`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hmm."}]}]}`, `{"content":[{"type":"text","text":"42"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var payloads []string
			for _, d := range deltas {
				payloads = append(payloads, `{"choices":[{"index":0,"delta":`+d+`}]}`)
			}
			got := answer(t, append(payloads, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, done)...)
			require.NoError(t, got.Err)
			require.JSONEq(t, `[{"type":"reasoning","reasoning":"Hmm."},{"type":"text","text":"42"}]`, string(got.Content))
		})
	}
}

func TestStreamsToolCalls(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		deltas []string
		reason string
		want   []message.ToolCall
	}{
		"parallel, in pieces": {
			deltas: []string{
				`{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"weather","arguments":""}}]}`,
				`{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":"}}]}`,
				`{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"time","arguments":"{}"}}]}`,
				`{"tool_calls":[{"index":0,"function":{"arguments":"\"Ulm\"}"}}]}`,
			},
			reason: "tool_calls",
			want:   []message.ToolCall{message.NewToolCall("call_a", "weather", json.RawMessage(`{"city":"Ulm"}`)), message.NewToolCall("call_b", "time", json.RawMessage(`{}`))},
		},
		"id and name with each piece": {
			deltas: []string{
				`{"tool_calls":[{"index":0,"id":"call_a","function":{"name":"weather","arguments":"{\"a\":"}}]}`,
				`{"tool_calls":[{"index":0,"id":"call_a","function":{"name":"weather","arguments":"1}"}}]}`,
			},
			reason: "tool_calls",
			want:   []message.ToolCall{message.NewToolCall("call_a", "weather", json.RawMessage(`{"a":1}`))},
		},
		"all at index 0, with ids (Gemini)": {
			deltas: []string{
				`{"tool_calls":[{"index":0,"id":"x1","function":{"name":"weather","arguments":"{\"a\":1}"}},{"index":0,"id":"x2","function":{"name":"weather","arguments":"{\"a\":2}"}}]}`,
			},
			reason: "stop",
			want:   []message.ToolCall{message.NewToolCall("x1", "weather", json.RawMessage(`{"a":1}`)), message.NewToolCall("x2", "weather", json.RawMessage(`{"a":2}`))},
		},
		"no index, arguments as an object": {
			deltas: []string{`{"tool_calls":[{"id":"x1","function":{"name":"weather","arguments":{"a":1}}}]}`},
			reason: "stop",
			want:   []message.ToolCall{message.NewToolCall("x1", "weather", json.RawMessage(`{"a":1}`))},
		},
		"no arguments": {
			deltas: []string{`{"tool_calls":[{"index":0,"id":"x1","function":{"name":"now"}}]}`},
			reason: "tool_calls",
			want:   []message.ToolCall{message.NewToolCall("x1", "now", json.RawMessage(`{}`))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var payloads []string
			for _, d := range tc.deltas {
				payloads = append(payloads, `{"choices":[{"index":0,"delta":`+d+`}]}`)
			}
			got := answer(t, append(payloads, `{"choices":[{"index":0,"delta":{},"finish_reason":"`+tc.reason+`"}]}`, done)...)
			require.NoError(t, got.Err)
			require.Equal(t, tc.want, got.ToolCalls)
			require.Equal(t, "tool_use", got.Reason)
		})
	}
}

func TestCallsWithoutIDsGetThem(t *testing.T) {
	t.Parallel()
	got := answer(
		t,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"a","arguments":"{}"}}]}}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"b","arguments":"{"}},{"index":0,"function":{"arguments":"}"}}]}}]}`,
		`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, done,
	)
	require.NoError(t, got.Err)
	require.Len(t, got.ToolCalls, 2)
	require.NotEqual(t, got.ToolCalls[0].ID, got.ToolCalls[1].ID)
	for i, name := range []string{"a", "b"} {
		require.Regexp(t, `^call_[0-9a-f]{24}$`, got.ToolCalls[i].ID)
		require.Equal(t, name, got.ToolCalls[i].Name)
		require.JSONEq(t, `{}`, string(got.ToolCalls[i].Args))
	}
}

// D-107: half an argument must not reach a tool.
func TestMalformedArgumentsEndAsInvalidCalls(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{"cut off": `{"city":"Ul`, "no object": `"Ulm"`, "rubbish": `city=Ulm`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			quoted, err := json.Marshal(args)
			require.NoError(t, err)
			got := answer(
				t,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"weather","arguments":`+string(quoted)+`}}]}}]}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`, done,
			)
			require.NoError(t, got.Err)
			require.Empty(t, got.ToolCalls)
			require.Len(t, got.InvalidToolCalls, 1)
			require.Equal(t, args, got.InvalidToolCalls[0].Args)
			require.Equal(t, "length", got.Reason)
		})
	}
}

func TestFinishReasons(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"stop": "stop", "length": "length", "content_filter": "content_filter", "tool_calls": "stop", "whatever": "stop",
	} {
		got := answer(t, `{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"`+reason+`"}]}`, done)
		require.NoError(t, got.Err)
		require.Equal(t, want, got.Reason, reason)
	}
	got := answer(t, `{"choices":[{"index":0,"delta":{"refusal":"I won't."}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, done)
	require.Equal(t, "I won't.", got.Text())
	require.Equal(t, "content_filter", got.Reason)
}

func TestOddStreamsThatAreWhole(t *testing.T) {
	t.Parallel()
	line := `{"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}`
	for name, reply := range map[string]wiretest.Reply{
		"comments and events":       {Body: ": PROCESSING\n\n: PROCESSING\n\nevent: x\nid: 1\n" + wiretest.SSE(line, done)},
		"carriage returns":          {Body: "data:" + line + "\r\n\r\ndata: [DONE]\r\n\r\n"},
		"no blank lines":            {Body: "data: " + line + "\ndata: [DONE]\n"},
		"finished but no [DONE]":    {Body: wiretest.SSE(line)},
		"no newline at the end":     {Body: "data: " + line},
		"[DONE] but no reason":      {Body: wiretest.SSE(`{"choices":[{"index":0,"delta":{"content":"ok"}}]}`, done)},
		"an empty choice":           {Body: wiretest.SSE(`{"choices":[{"index":0}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`, line, done)},
		"an error that is null":     {Body: wiretest.SSE(`{"error":null,"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}`, done)},
		"text that says error":      {Body: wiretest.SSE(line, `{"choices":[],"x":"\"error\""}`, done)},
		"no stream at all":          {Header: map[string]string{"Content-Type": "application/json; charset=utf-8"}, Body: "{\n \"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"ok\"},\"finish_reason\":\"stop\"}]\n}\n"},
		"a lot of comments":         {Body: strings.Repeat(": ping\n\n", 2000) + wiretest.SSE(line, done)},
		"a line longer than 64 KiB": {Body: wiretest.SSE(strings.Replace(line, `"index"`, `"pad":"`+strings.Repeat("x", 200<<10)+`","index"`, 1), done)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := wiretest.Call(t.Context(), newModel(t, wiretest.New(t, reply)), wiretest.Ask("hi"))
			require.NoError(t, got.Err)
			require.Equal(t, "ok", got.Text())
			require.Equal(t, "stop", got.Reason)
		})
	}
}

func TestUsageThatGrowsIsCountedOnce(t *testing.T) {
	t.Parallel()
	got := answer(
		t,
		`{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}}`,
		`{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`, done,
	)
	require.NoError(t, got.Err)
	require.Equal(t, &message.Usage{InputTokens: 5, OutputTokens: 2, TotalTokens: 7}, got.Usage)
}

func TestInfoAndPrintsShowNoSecrets(t *testing.T) {
	t.Parallel()
	temperature := 0.5
	m, err := openai.New(openai.Options{Model: "m", Provider: "p", Headers: model.Headers{"X-Token": "secret-value"}, Temperature: &temperature, MaxTokens: 7})
	require.NoError(t, err)
	info := m.Info()
	require.Equal(t, "p", info.Provider)
	require.Equal(t, "m", info.Name)
	require.JSONEq(t, `0.5`, string(info.Metadata["ls_temperature"]))
	require.JSONEq(t, `7`, string(info.Metadata["ls_max_tokens"]))
	require.Equal(t, "OPENAI_API_KEY", m.Key().Env)
}
