package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/internal/wiretest"
	"github.com/parley-dev/parley/agent/model/openai"
)

// sent is the body of the request that a call makes; the reply is empty but whole.
func sent(t *testing.T, req model.Request, change ...func(*openai.Options)) map[string]any {
	t.Helper()
	s := wiretest.New(t, wiretest.Reply{Body: wiretest.SSE(`{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}`, done)})
	require.NoError(t, wiretest.Call(t.Context(), newModel(t, s, change...), req).Err)
	return s.Last(t).Body
}

// history reads messages as clients send them.
func history(t *testing.T, raw string) message.List {
	t.Helper()
	list, err := message.CoerceList(json.RawMessage(raw))
	require.NoError(t, err)
	return message.New(list...)
}

func requireJSON(t *testing.T, want string, got any) {
	t.Helper()
	raw, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, want, string(raw))
}

func TestRequestHasParametersAndTools(t *testing.T) {
	t.Parallel()
	zero, half := 0.0, 0.5
	req := model.Request{
		System: "Be brief.", Messages: message.New(message.NewHuman("hi")), Stop: []string{"END"}, ToolChoice: model.ChoiceAny,
		Tools: []model.Tool{
			{Name: "files.read", Description: "Reads.", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","maximum":12345678901234567890}}}`)},
			{Name: "now"},
		},
		ResponseFormat: &model.ResponseFormat{Name: "out", Schema: json.RawMessage(`{"type":"object"}`), Strict: true},
	}
	got := sent(t, req, func(o *openai.Options) {
		o.Temperature, o.TopP, o.MaxTokens, o.ReasoningEffort, o.SerialTools = &half, &half, 99, "low", true
		o.Extra = map[string]json.RawMessage{"top_k": json.RawMessage(`20`)}
	})
	requireJSON(t, `{
		"model":"m","stream":true,"stream_options":{"include_usage":true},"stop":["END"],"temperature":0.5,"top_p":0.5,"max_completion_tokens":99,
		"reasoning_effort":"low","parallel_tool_calls":false,"tool_choice":"required","top_k":20,
		"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}],
		"tools":[
			{"type":"function","function":{"name":"files_read","description":"Reads.","parameters":{"type":"object","properties":{"n":{"type":"integer","maximum":12345678901234567890}}}}},
			{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{}}}}],
		"response_format":{"type":"json_schema","json_schema":{"name":"out","schema":{"type":"object"},"strict":true}}}`, got)

	req.ResponseFormat, req.ToolChoice = nil, "files.read"
	got = sent(t, req, func(o *openai.Options) {
		o.Temperature, o.MaxTokens, o.LegacyMaxTokens, o.NoStreamUsage = &zero, 5, true, true
	})
	require.InDelta(t, 0, got["temperature"], 1e-9, "a temperature of 0 is sent")
	require.InDelta(t, 5, got["max_tokens"], 0)
	requireJSON(t, `{"type":"function","function":{"name":"files_read"}}`, got["tool_choice"])
	require.NotContains(t, got, "stream_options")
	require.NotContains(t, got, "max_completion_tokens")

	req.ToolChoice = model.ChoiceNone
	require.Equal(t, "none", sent(t, req)["tool_choice"])
}

func TestToolNamesComeBackAsTheyAre(t *testing.T) {
	t.Parallel()
	s := wiretest.New(t, wiretest.Reply{Body: wiretest.SSE(
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"files_read","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, done)})
	req := wiretest.Ask("hi")
	req.Tools = []model.Tool{{Name: "files.read"}}
	got := wiretest.Call(t.Context(), newModel(t, s), req)
	require.NoError(t, got.Err)
	require.Equal(t, "files.read", got.ToolCalls[0].Name)
}

func TestHistories(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		history, want string
		change        func(*openai.Options)
	}{
		"texts": {
			history: `[["system","S"],{"role":"developer","content":"D"},{"type":"human","content":"a","name":"ann"},{"type":"ai","content":[{"type":"text","text":"b"},{"type":"text","text":"c"}]},{"type":"human","content":[{"type":"text","text":"d"},"e"],"name":"two words"},{"type":"human","content":""}]`,
			want:    `[{"role":"system","content":"S"},{"role":"developer","content":"D"},{"role":"user","content":"a","name":"ann"},{"role":"assistant","content":"bc"},{"role":"user","content":"d\ne"},{"role":"user","content":""}]`,
		},
		"pictures": {
			history: `[{"type":"human","content":[{"type":"text","text":"What?"},{"type":"image_url","image_url":{"url":"https://x/a.png","detail":"low"}},{"type":"image_url","image_url":"https://x/b.png"},
				{"type":"image","source_type":"base64","mime_type":"image/jpeg","data":"QQ=="},{"type":"image","mimeType":"image/webp","data":"QQ=="},{"type":"image","url":"https://x/c.png"},{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"QQ=="}}]}]`,
			want: `[{"role":"user","content":[{"type":"text","text":"What?"},{"type":"image_url","image_url":{"url":"https://x/a.png","detail":"low"}},{"type":"image_url","image_url":{"url":"https://x/b.png"}},
				{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,QQ=="}},{"type":"image_url","image_url":{"url":"data:image/webp;base64,QQ=="}},{"type":"image_url","image_url":{"url":"https://x/c.png"}},{"type":"image_url","image_url":{"url":"data:image/gif;base64,QQ=="}}]}]`,
		},
		"sound and files": {
			history: `[{"type":"human","content":[{"type":"audio","mime_type":"audio/mpeg","data":"QQ=="},{"type":"input_audio","input_audio":{"data":"Qg==","format":"wav"}},{"type":"file","mime_type":"application/pdf","data":"Qw==","filename":"a.pdf"},{"type":"file","file_id":"file-1"},{"type":"file","file":{"file_data":"data:application/pdf;base64,RA=="}}]}]`,
			want:    `[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"QQ==","format":"mp3"}},{"type":"input_audio","input_audio":{"data":"Qg==","format":"wav"}},{"type":"file","file":{"file_data":"data:application/pdf;base64,Qw==","filename":"a.pdf"}},{"type":"file","file":{"file_id":"file-1"}},{"type":"file","file":{"file_data":"data:application/pdf;base64,RA==","filename":"file.pdf"}}]}]`,
		},
		"tools": {
			history: `[["human","q"],{"type":"ai","content":"","tool_calls":[{"id":"a","name":"t","args":{"n":1}},{"id":"b","name":"files.read","args":{}}]},
				{"type":"tool","tool_call_id":"b","content":[{"type":"text","text":"two"},{"type":"text","text":"lines"}]},{"type":"tool","tool_call_id":"a","content":"no such n","status":"error"}]`,
			want: `[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"t","arguments":"{\"n\":1}"}},{"id":"b","type":"function","function":{"name":"files_read","arguments":"{}"}}]},
				{"role":"tool","tool_call_id":"a","content":"Error: no such n"},{"role":"tool","tool_call_id":"b","content":"two\nlines"}]`,
		},
		"tools that say nothing": {
			history: `[{"type":"ai","content":"","tool_calls":[{"id":"a","name":"t","args":{}},{"id":"b","name":"t","args":{}}]},{"type":"tool","tool_call_id":"a","content":"","status":"error"},{"type":"tool","tool_call_id":"b","content":[]}]`,
			want:    `[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"t","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"t","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"The tool failed."},{"role":"tool","tool_call_id":"b","content":"The tool returned nothing."}]`,
		},
		"a tool's picture follows behind": {
			history: `[{"type":"ai","content":"","tool_calls":[{"id":"a","name":"t","args":{}}]},{"type":"tool","tool_call_id":"a","content":[{"type":"text","text":"Here:"},{"type":"image","mime_type":"image/png","data":"QQ=="}]},["human","thanks"]]`,
			want: `[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"t","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"Here:\n[image: see the attachment below]"},
				{"role":"user","content":[{"type":"text","text":"Attached by the tool call a:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,QQ=="}}]},{"role":"user","content":"thanks"}]`,
		},
		"of another provider": {
			history: `[["human","q"],{"type":"ai","id":"msg_1","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"reasoning","reasoning":"hm","extras":{"signature":"s"}},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"Let me see."},{"type":"tool_use","id":"toolu/01.x:y","name":"t","input":{}}],
				"tool_calls":[{"id":"toolu/01.x:y","name":"t","args":{}}],"response_metadata":{"model_provider":"anthropic"}},{"type":"tool","tool_call_id":"toolu/01.x:y","content":"ok"}]`,
			want: `[{"role":"user","content":"q"},{"role":"assistant","content":"Let me see.","tool_calls":[{"id":"call_2c77d44015b12ae5d79aeff0ecd75719","type":"function","function":{"name":"t","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_2c77d44015b12ae5d79aeff0ecd75719","content":"ok"}]`,
		},
		"only thoughts": {history: `[["human","q"],{"type":"ai","content":[{"type":"reasoning","reasoning":"hm"}]},["human","r"]]`, want: `[{"role":"user","content":"q"},{"role":"user","content":"r"}]`},
		"thoughts returned": {
			history: `[["human","q"],{"type":"ai","content":[{"type":"reasoning","reasoning":"hm"},{"type":"text","text":"a"}]}]`,
			want:    `[{"role":"user","content":"q"},{"role":"assistant","content":"a","reasoning_content":"hm"}]`,
			change:  func(o *openai.Options) { o.ReturnReasoning = true },
		},
		"a call without a result": {
			history: `[{"type":"ai","content":"","tool_calls":[{"id":"a","name":"t","args":{}}]},["human","and?"]]`,
			want:    `[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"t","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"Error: This call has no result: it was not carried out, or was broken off."},{"role":"user","content":"and?"}]`,
		},
		"a malformed call that was answered": {
			history: `[{"type":"ai","content":"","invalid_tool_calls":[{"id":"a","name":"t","args":"{\"x"}]},{"type":"tool","tool_call_id":"a","content":"Malformed.","status":"error"}]`,
			want:    `[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"t","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"Error: Malformed."}]`,
		},
		"a result without a call": {history: `[{"type":"tool","tool_call_id":"a","content":"x"},["human","q"]]`, want: `[{"role":"user","content":"q"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change := tc.change
			if change == nil {
				change = func(*openai.Options) {}
			}
			got := sent(t, model.Request{Messages: history(t, tc.history)}, change)
			requireJSON(t, tc.want, got["messages"])
		})
	}
}

func TestWhatTheWireHasNoPlaceForIsNamed(t *testing.T) {
	t.Parallel()
	for block, want := range map[string]string{
		`{"type":"video","url":"https://x/a.mp4"}`:            `message 0: a block of type "video" (video)`,
		`{"type":"audio","url":"https://x/a.mp3"}`:            `message 0: a block of type "audio" without data; sound can't be sent by URL or file id`,
		`{"type":"file","url":"https://x/a.pdf"}`:             `message 0: a block of type "file" by URL; files need data or a file id`,
		`{"type":"image","file_id":"f"}`:                      `message 0: a block of type "image" by file id; images need a URL or data`,
		`{"type":"hologram","x":1}`:                           `message 0: a block of type "hologram" (other)`,
		`{"type":"image"}`:                                    `message 0: content block 0: the block of type "image" has neither url nor data nor file id`,
		`{"type":"image_url","image_url":"data:image/png;x"}`: `message 0: content block 0: the data: URL of a block of type "image_url" has no data`,
	} {
		s := wiretest.New(t, wiretest.Reply{})
		got := wiretest.Call(t.Context(), newModel(t, s), model.Request{Messages: history(t, `[{"type":"human","content":[`+block+`]}]`)})
		e := failure(t, got)
		require.ErrorIs(t, e, model.ErrUnsupported)
		require.EqualError(t, e, "openai: "+want)
		require.False(t, e.Retryable())
		require.Empty(t, s.Requests())
	}
}

// Gemini refuses a history whose calls lost their thought signatures.
func TestExtrasOfToolCallsGoBackToTheServer(t *testing.T) {
	t.Parallel()
	s := wiretest.New(t, wiretest.Reply{Body: wiretest.SSE(
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","extra_content":{"google":{"thought_signature":"sig=="}},"function":{"name":"t","arguments":"{}"}},{"index":1,"id":"b","function":{"name":"t","arguments":"{}"}}]}}]}`,
		`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, done,
	)})
	m := newModel(t, s)
	got := wiretest.Call(t.Context(), m, wiretest.Ask("hi"))
	require.NoError(t, got.Err)

	stored, err := json.Marshal(got.Message)
	require.NoError(t, err)
	wiretest.Call(t.Context(), m, model.Request{Messages: history(t, `[["human","hi"],`+string(stored)+`]`)})
	messages, ok := s.Last(t).Body["messages"].([]any)
	require.True(t, ok)
	requireJSON(t, `{"role":"assistant","tool_calls":[
		{"id":"a","type":"function","function":{"name":"t","arguments":"{}"},"extra_content":{"google":{"thought_signature":"sig=="}}},
		{"id":"b","type":"function","function":{"name":"t","arguments":"{}"}}]}`, messages[1])
}

func TestRequestsThatTheModelRefusesAreNotSent(t *testing.T) {
	t.Parallel()
	half := 0.5
	s := wiretest.New(t, wiretest.Reply{})
	m := newModel(t, s, func(o *openai.Options) { o.Model, o.Temperature = "gpt-5-mini", &half })
	e := failure(t, wiretest.Call(t.Context(), m, wiretest.Ask("hi")))
	require.False(t, e.Retryable())
	require.ErrorContains(t, e, "temperature")
	require.Empty(t, s.Requests())
}
