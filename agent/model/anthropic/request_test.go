package anthropic_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/anthropic"
	"github.com/parley-dev/parley/agent/model/internal/wiretest"
)

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

// sent is the request that a call makes.
func sent(t *testing.T, req model.Request, change ...func(*anthropic.Options)) wiretest.Request {
	t.Helper()
	events := append(append([]string{start}, text("x")...), reason("end_turn"), stop)
	s := wiretest.New(t, wiretest.Reply{Body: wiretest.Events(t, events...)})
	require.NoError(t, wiretest.Call(t.Context(), newModel(t, s, change...), req).Err)
	return s.Last(t)
}

func TestRequestHasParametersAndTools(t *testing.T) {
	t.Parallel()
	req := model.Request{
		System: "Be brief.", Messages: message.New(message.NewHuman("hi")), Stop: []string{"END"}, ToolChoice: model.ChoiceAny,
		Tools: []model.Tool{
			{Name: "files.read", Description: "Reads.", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)},
			{Name: "now"},
		},
		ResponseFormat: &model.ResponseFormat{Name: "out", Schema: json.RawMessage(`{"type":"object"}`)},
	}
	got := sent(t, req, func(o *anthropic.Options) {
		o.Effort, o.PromptCache, o.AdaptiveThinking, o.SerialTools = "low", true, true, true
		o.Extra = map[string]json.RawMessage{"service_tier": json.RawMessage(`"standard_only"`)}
		o.Headers = model.Headers{"Anthropic-Beta": "b"}
	})
	requireJSON(t, `{
		"model":"m","max_tokens":16384,"stream":true,"stop_sequences":["END"],"system":[{"type":"text","text":"Be brief."}],
		"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"service_tier":"standard_only",
		"tools":[{"name":"files_read","description":"Reads.","input_schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}},
			{"name":"now","input_schema":{"type":"object","properties":{}}}],
		"tool_choice":{"type":"any","disable_parallel_tool_use":true},"cache_control":{"type":"ephemeral"},
		"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"low","format":{"type":"json_schema","schema":{"type":"object"}}}}`, got.Body)
	require.Equal(t, "/v1/messages", got.Path)
	require.Equal(t, "b", got.Header.Get("Anthropic-Beta"))
	require.NotEqual(t, "2023-06-01", got.Header.Get("Anthropic-Version"))
	require.Empty(t, got.Header.Get("X-Api-Key"))

	req.ToolChoice, req.ResponseFormat = "files.read", nil
	got = sent(t, req, func(o *anthropic.Options) { o.ThinkingBudget, o.MaxTokens = 2048, 4096 })
	requireJSON(t, `{"type":"tool","name":"files_read"}`, got.Body["tool_choice"])
	requireJSON(t, `{"type":"enabled","budget_tokens":2048,"display":"summarized"}`, got.Body["thinking"])
	require.InDelta(t, 4096, got.Body["max_tokens"], 0)
	require.NotContains(t, got.Body, "output_config")

	req.ToolChoice = model.ChoiceNone
	requireJSON(t, `{"type":"none"}`, sent(t, req).Body["tool_choice"])
	req.ToolChoice = ""
	requireJSON(t, `{"type":"auto","disable_parallel_tool_use":true}`, sent(t, req, func(o *anthropic.Options) { o.SerialTools = true }).Body["tool_choice"])
}

// The API's version 2026-10-21 refuses temperature and top_p.
func TestSamplingIsSentInTheVersionThatHasIt(t *testing.T) {
	t.Parallel()
	zero, half := 0.0, 0.5
	got := sent(t, wiretest.Ask("hi"), func(o *anthropic.Options) { o.Temperature, o.TopP = &zero, &half })
	require.InDelta(t, 0, got.Body["temperature"], 0)
	require.InDelta(t, 0.5, got.Body["top_p"], 0)
	require.Equal(t, []string{"2023-06-01"}, got.Header.Values("Anthropic-Version"))
}

func TestHistories(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ history, want, system string }{
		"texts": {
			history: `[["system","S"],["human","a"],{"type":"ai","content":[{"type":"text","text":"b"},{"type":"text","text":" \n"},"c"]},["system","T"],{"type":"human","content":""},["human","d"]]`,
			want:    `[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"text","text":"b"},{"type":"text","text":"c"}]},{"role":"user","content":[{"type":"text","text":"d"}]}]`,
			system:  `[{"type":"text","text":"S"},{"type":"text","text":"T"}]`,
		},
		"pictures": {
			history: `[{"type":"human","content":[{"type":"image_url","image_url":{"url":"https://x/a.png"}},{"type":"image_url","image_url":"data:image/png;base64,QQ=="},{"type":"image","mime_type":"image/jpeg","data":"Qg=="},{"type":"image","source_type":"id","id":"file_1"}]}]`,
			want: `[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://x/a.png"}},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QQ=="}},
				{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"Qg=="}},{"type":"image","source":{"type":"file","file_id":"file_1"}}]}]`,
		},
		"files": {
			history: `[{"type":"human","content":[{"type":"file","mime_type":"application/pdf","data":"QQ==","filename":"a.pdf"},{"type":"file","url":"https://x/a.pdf"},{"type":"text-plain","mime_type":"text/plain","data":"aGk="},{"type":"document","source":{"type":"text","media_type":"text/plain","data":"plain"}},{"type":"file","file_id":"file_1"}]}]`,
			want: `[{"role":"user","content":[{"type":"document","title":"a.pdf","source":{"type":"base64","media_type":"application/pdf","data":"QQ=="}},{"type":"document","source":{"type":"url","url":"https://x/a.pdf"}},
				{"type":"document","source":{"type":"text","media_type":"text/plain","data":"hi"}},{"type":"text","text":"plain"},{"type":"document","source":{"type":"file","file_id":"file_1"}}]}]`,
		},
		"tools": {
			history: `[["human","q"],{"type":"ai","content":"","tool_calls":[{"id":"a","name":"t","args":{"n":1}},{"id":"b","name":"files.read","args":{}}]},
				{"type":"tool","tool_call_id":"b","content":[{"type":"text","text":"see"},{"type":"image","mime_type":"image/png","data":"QQ=="}]},{"type":"tool","tool_call_id":"a","content":"no such n","status":"error"},["human","and?"]]`,
			want: `[{"role":"user","content":[{"type":"text","text":"q"}]},
				{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{"n":1}},{"type":"tool_use","id":"b","name":"files_read","input":{}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":[{"type":"text","text":"no such n"}]},
					{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QQ=="}}]}]},
				{"role":"user","content":[{"type":"text","text":"and?"}]}]`,
		},
		"tools that say nothing": {
			history: `[["human","q"],{"type":"ai","content":"","tool_calls":[{"id":"a","name":"t","args":{}},{"id":"b","name":"t","args":{}}]},{"type":"tool","tool_call_id":"a","content":"","status":"error"},{"type":"tool","tool_call_id":"b","content":""}]`,
			want: `[{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{}},{"type":"tool_use","id":"b","name":"t","input":{}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":[{"type":"text","text":"The tool failed."}]},{"type":"tool_result","tool_use_id":"b"}]}]`,
		},
		"of another provider": {
			history: `[["human","q"],{"type":"ai","id":"chatcmpl-1","content":[{"type":"reasoning","reasoning":"hm","extras":{"signature":"not ours"}},{"type":"text","text":"See."}],"tool_calls":[{"id":"functions.t:0","name":"t","args":{}}],"response_metadata":{"model_provider":"openai"}},{"type":"tool","tool_call_id":"functions.t:0","content":"ok"},
				{"type":"ai","content":[{"type":"reasoning","reasoning":"unsigned"}]}]`,
			want: `[{"role":"user","content":[{"type":"text","text":"q"}]},
				{"role":"assistant","content":[{"type":"text","text":"See."},{"type":"tool_use","id":"call_9348c0a19557918d3d5f676e912d8f47","name":"t","input":{}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_9348c0a19557918d3d5f676e912d8f47","content":[{"type":"text","text":"ok"}]}]}]`,
		},
		"of LangChain's own Anthropic messages": {
			history: `[["human","q"],{"type":"ai","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"See."},{"type":"tool_use","id":"toolu_1","name":"t","input":{}}],"tool_calls":[{"id":"toolu_1","name":"t","args":{}}]},{"type":"tool","tool_call_id":"toolu_1","content":"ok"}]`,
			want: `[{"role":"user","content":[{"type":"text","text":"q"}]},
				{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"See."},{"type":"tool_use","id":"toolu_1","name":"t","input":{}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"ok"}]}]}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := sent(t, model.Request{Messages: history(t, tc.history)}).Body
			requireJSON(t, tc.want, got["messages"])
			if tc.system != "" {
				requireJSON(t, tc.system, got["system"])
			}
		})
	}
}

func TestWhatTheWireHasNoPlaceForIsNamed(t *testing.T) {
	t.Parallel()
	for block, want := range map[string]string{
		`{"type":"audio","mime_type":"audio/wav","data":"QQ=="}`:      `message 0: a block of type "audio" (audio)`,
		`{"type":"video","url":"https://x/a.mp4"}`:                    `message 0: a block of type "video" (video)`,
		`{"type":"file","mime_type":"application/zip","data":"QQ=="}`: `message 0: a block of type "file" with application/zip; files must be PDF or text`,
		`{"type":"file","mime_type":"text/plain","data":"?"}`:         `message 0: a block of type "file" whose data aren't base64`,
		`{"type":"hologram"}`: `message 0: a block of type "hologram" (other)`,
	} {
		s := wiretest.New(t, wiretest.Reply{})
		e := failure(t, wiretest.Call(t.Context(), newModel(t, s), model.Request{Messages: history(t, `[{"type":"human","content":[`+block+`]}]`)}))
		require.ErrorIs(t, e, model.ErrUnsupported)
		require.EqualError(t, e, "anthropic: "+want)
		require.False(t, e.Retryable())
		require.Empty(t, s.Requests())
	}
}

func TestTheKeyGoesToTheServerAndNowhereElse(t *testing.T) {
	t.Parallel()
	const secret = "sk-ant-api03-0123456789abcdef"
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, []byte(secret+"\n"), 0o600))
	echoed := `{"type":"error","error":{"type":"authentication_error","message":"bad key ` + secret + `"}}`
	s := wiretest.New(t, wiretest.Reply{Status: 401, Body: echoed}, wiretest.Reply{Body: wiretest.Events(t, echoed)}, wiretest.Reply{Body: "event: error\ndata: " + secret + "\n\n"})
	m := newModel(t, s, func(o *anthropic.Options) { o.Key = model.FileKey(file) })
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for range 3 {
		e := failure(t, wiretest.Call(t.Context(), m, wiretest.Ask("hi")))
		fmt.Fprintf(&log, "%v %+v %#v %s", e, e, *e, errors.Join(e, e.Unwrap()))
		logger.Info("failed", "error", e, "model", m, "info", m.Info())
	}
	fmt.Fprintf(&log, "%v %+v %#v %s", m, m, m, m)
	require.NotContains(t, log.String(), secret)
	require.NotContains(t, log.String(), "0123456789abcdef")
	require.Equal(t, "Bearer "+secret, s.Last(t).Header.Get("Authorization"))
	require.Equal(t, secret, s.Last(t).Header.Get("X-Api-Key"), "what gateways know")
}

func TestTheEnvironmentIsNotReadBehindOurBack(t *testing.T) {
	for name, value := range map[string]string{
		"ANTHROPIC_API_KEY": "sk-ant-env-key", "ANTHROPIC_AUTH_TOKEN": "env-token", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1", "ANTHROPIC_CUSTOM_HEADERS": "X-Env: 1",
	} {
		t.Setenv(name, value)
	}
	got := sent(t, wiretest.Ask("hi"))
	require.Empty(t, got.Header.Values("Authorization"))
	require.Empty(t, got.Header.Values("X-Api-Key"))
	require.Empty(t, got.Header.Values("X-Env"))
}

func TestUnusableOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, o := range []anthropic.Options{{}, {Model: "m", BaseURL: "api.anthropic.com"}, {Model: "m", BaseURL: "http://u:secret@x"}} {
		_, err := anthropic.New(o)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret")
	}
	m, err := anthropic.New(anthropic.Options{Model: "m", BaseURL: anthropic.DefaultBaseURL + "/v1/"})
	require.NoError(t, err)
	require.Equal(t, anthropic.DefaultKeyEnv, m.Key().Env)
	require.Equal(t, "anthropic", m.Info().Provider)
}
