package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/anthropic"
	"github.com/parley-dev/parley/agent/model/internal/wiretest"
)

// Events of the API's public reference.
const (
	start = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude-sonnet-5-5","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":3,"cache_read_input_tokens":4,"output_tokens":1}}}`
	ping  = `{"type":"ping"}`
	stop  = `{"type":"message_stop"}`
)

func block(index, content string) string {
	return `{"type":"content_block_start","index":` + index + `,"content_block":` + content + `}`
}

func delta(index, content string) string {
	return `{"type":"content_block_delta","index":` + index + `,"delta":` + content + `}`
}

func ended(index string) string { return `{"type":"content_block_stop","index":` + index + `}` }

func reason(r string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + r + `","stop_sequence":null},"usage":{"output_tokens":15}}`
}

// text is a whole text block.
func text(s string) []string {
	return []string{block("0", `{"type":"text","text":""}`), delta("0", `{"type":"text_delta","text":"`+s+`"}`), ended("0")}
}

func newModel(t *testing.T, s *wiretest.Server, change ...func(*anthropic.Options)) *anthropic.Model {
	t.Helper()
	o := anthropic.Options{Model: "m", BaseURL: s.URL}
	for _, c := range change {
		c(&o)
	}
	m, err := anthropic.New(o)
	require.NoError(t, err)
	return m
}

func answer(t *testing.T, events ...string) wiretest.Answer {
	t.Helper()
	s := wiretest.New(t, wiretest.Reply{Body: wiretest.Events(t, events...)})
	return wiretest.Call(t.Context(), newModel(t, s), wiretest.Ask("hi"))
}

func failure(t *testing.T, got wiretest.Answer) *model.Error {
	t.Helper()
	var e *model.Error
	require.ErrorAs(t, got.Err, &e)
	return e
}

func TestStreamsTextWithUsageAndMetadata(t *testing.T) {
	t.Parallel()
	got := answer(
		t, start, block("0", `{"type":"text","text":""}`), ping, delta("0", `{"type":"text_delta","text":"Hel"}`),
		delta("0", `{"type":"text_delta","text":"lo"}`), ended("0"), reason("end_turn"), stop,
	)
	require.NoError(t, got.Err)
	require.Equal(t, "Hello", got.Text())
	require.Equal(t, "Hel", got.Chunks[0].Text)
	require.Equal(t, "stop", got.Reason)
	usage, err := json.Marshal(got.Usage)
	require.NoError(t, err)
	require.JSONEq(t, `{"input_tokens":32,"output_tokens":15,"total_tokens":47,"input_token_details":{"cache_read":4,"cache_creation":3}}`, string(usage))
	require.JSONEq(t, `{"model_provider":"anthropic","model_name":"claude-sonnet-5-5","id":"msg_1","stop_reason":"end_turn"}`, string(got.ResponseMetadata))
}

func TestUsageOfTheEndCounts(t *testing.T) {
	t.Parallel()
	got := answer(t, append(append([]string{start}, text("x")...),
		`{"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":"END"},"usage":{"input_tokens":40,"cache_read_input_tokens":5,"cache_creation_input_tokens":0,"output_tokens":9,"output_tokens_details":{"thinking_tokens":6}}}`, stop)...)
	require.NoError(t, got.Err)
	usage, err := json.Marshal(got.Usage)
	require.NoError(t, err)
	require.JSONEq(t, `{"input_tokens":48,"output_tokens":9,"total_tokens":57,"input_token_details":{"cache_read":5,"cache_creation":3},"output_token_details":{"reasoning":6}}`, string(usage))
	require.Contains(t, string(got.ResponseMetadata), `"stop_sequence":"END"`)
}

func TestThinkingKeepsItsSignatureForTheWayBack(t *testing.T) {
	t.Parallel()
	s := wiretest.New(t, wiretest.Reply{Body: wiretest.Events(
		t, start,
		block("0", `{"type":"thinking","thinking":"","signature":""}`), delta("0", `{"type":"thinking_delta","thinking":"Hm"}`),
		delta("0", `{"type":"thinking_delta","thinking":"m."}`), delta("0", `{"type":"signature_delta","signature":"si"}`),
		delta("0", `{"type":"signature_delta","signature":"g=="}`), ended("0"),
		block("1", `{"type":"thinking","thinking":"","signature":""}`), delta("1", `{"type":"thinking_delta","thinking":"Or?"}`),
		delta("1", `{"type":"signature_delta","signature":"s2"}`), ended("1"),
		block("2", `{"type":"redacted_thinking","data":"dark"}`), ended("2"),
		block("3", `{"type":"text","text":""}`), delta("3", `{"type":"text_delta","text":"42"}`), ended("3"),
		reason("end_turn"), stop,
	)})
	m := newModel(t, s)
	got := wiretest.Call(t.Context(), m, wiretest.Ask("hi"))
	require.NoError(t, got.Err)
	require.JSONEq(t, `[
		{"type":"reasoning","reasoning":"Hmm.","extras":{"signature":"sig=="}},{"type":"reasoning","reasoning":"Or?","extras":{"signature":"s2"}},
		{"type":"non_standard","value":{"type":"redacted_thinking","data":"dark"}},{"type":"text","text":"42"}]`, string(got.Content))

	stored, err := json.Marshal(got.Message)
	require.NoError(t, err)
	wiretest.Call(t.Context(), m, model.Request{Messages: history(t, `[["human","hi"],`+string(stored)+`,["human","sure?"]]`)})
	requireJSON(t, `[
		{"role":"user","content":[{"type":"text","text":"hi"}]},
		{"role":"assistant","content":[{"type":"thinking","thinking":"Hmm.","signature":"sig=="},{"type":"thinking","thinking":"Or?","signature":"s2"},{"type":"redacted_thinking","data":"dark"},{"type":"text","text":"42"}]},
		{"role":"user","content":[{"type":"text","text":"sure?"}]}]`, s.Last(t).Body["messages"])
}

func TestStreamsToolCalls(t *testing.T) {
	t.Parallel()
	got := answer(
		t, start, block("0", `{"type":"text","text":"Let me see."}`), ended("0"),
		block("1", `{"type":"tool_use","id":"toolu_1","name":"weather","input":{}}`), delta("1", `{"type":"input_json_delta","partial_json":""}`),
		delta("1", `{"type":"input_json_delta","partial_json":"{\"city\": "}`), delta("1", `{"type":"input_json_delta","partial_json":"\"Ulm\"}"}`), ended("1"),
		block("2", `{"type":"tool_use","id":"toolu_2","name":"now","input":{}}`), ended("2"),
		block("3", `{"type":"tool_use","id":"toolu_3","name":"time","input":{"zone":"CET"}}`), ended("3"),
		reason("tool_use"), stop,
	)
	require.NoError(t, got.Err)
	require.Equal(t, "Let me see.", got.Text())
	require.Equal(t, []message.ToolCall{
		message.NewToolCall("toolu_1", "weather", json.RawMessage(`{"city":"Ulm"}`)),
		message.NewToolCall("toolu_2", "now", json.RawMessage(`{}`)),
		message.NewToolCall("toolu_3", "time", json.RawMessage(`{"zone":"CET"}`)),
	}, got.ToolCalls)
	require.Equal(t, "tool_use", got.Reason)
}

// D-107: half an argument must not reach a tool.
func TestMalformedArgumentsEndAsInvalidCalls(t *testing.T) {
	t.Parallel()
	got := answer(
		t, start, block("0", `{"type":"tool_use","id":"toolu_1","name":"weather","input":{}}`),
		delta("0", `{"type":"input_json_delta","partial_json":"{\"city\": \"Ul"}`), ended("0"), reason("max_tokens"), stop,
	)
	require.NoError(t, got.Err)
	require.Empty(t, got.ToolCalls)
	require.Equal(t, `{"city": "Ul`, got.InvalidToolCalls[0].Args)
	require.Equal(t, "length", got.Reason)
}

func TestEventsThatNobodyKnowsArePassedOver(t *testing.T) {
	t.Parallel()
	got := answer(
		t, start, `{"type":"weather_report","sky":"blue"}`,
		block("0", `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`), delta("0", `{"type":"input_json_delta","partial_json":"{}"}`), ended("0"),
		block("1", `{"type":"hologram"}`), delta("1", `{"type":"hologram_delta","x":1}`), ended("1"),
		block("2", `{"type":"text","text":"ok"}`), ended("2"), reason("end_turn"), stop,
	)
	require.NoError(t, got.Err)
	require.Equal(t, "ok", got.Text())
	require.Empty(t, got.ToolCalls)
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	for r, want := range map[string]string{
		"end_turn": "stop", "stop_sequence": "stop", "pause_turn": "stop", "max_tokens": "length", "refusal": "content_filter",
		"model_context_window_exceeded": "length", "something_new": "stop",
	} {
		got := answer(t, append(append([]string{start}, text("x")...), reason(r), stop)...)
		require.NoError(t, got.Err)
		require.Equal(t, want, got.Reason, r)
	}
}

func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	refusal := func(kind, text string) string {
		return `{"type":"error","error":{"type":"` + kind + `","message":"` + text + `"},"request_id":"req_1"}`
	}
	for name, tc := range map[string]struct {
		reply wiretest.Reply
		text  string
		again bool
		wait  time.Duration
		too   bool
	}{
		"400":             {reply: wiretest.Reply{Status: 400, Body: refusal("invalid_request_error", "Bad.")}, text: "anthropic: 400: invalid_request_error: Bad. (request req_1)"},
		"400, too long":   {reply: wiretest.Reply{Status: 400, Body: refusal("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum")}, text: "anthropic: 400: invalid_request_error: prompt is too long: 9 tokens > 8 maximum (request req_1)", too: true},
		"401":             {reply: wiretest.Reply{Status: 401, Body: refusal("authentication_error", "invalid x-api-key")}, text: "anthropic: 401: authentication_error: invalid x-api-key (request req_1)"},
		"404":             {reply: wiretest.Reply{Status: 404, Body: refusal("not_found_error", "model: x")}, text: "anthropic: 404: not_found_error: model: x (request req_1)"},
		"413":             {reply: wiretest.Reply{Status: 413, Body: refusal("request_too_large", "Too large.")}, text: "anthropic: 413: request_too_large: Too large. (request req_1)", too: true},
		"429":             {reply: wiretest.Reply{Status: 429, Header: map[string]string{"Retry-After": "12"}, Body: refusal("rate_limit_error", "Slow down.")}, text: "anthropic: 429: rate_limit_error: Slow down. (request req_1)", again: true, wait: 12 * time.Second},
		"500":             {reply: wiretest.Reply{Status: 500, Body: refusal("api_error", "Oops.")}, text: "anthropic: 500: api_error: Oops. (request req_1)", again: true},
		"529":             {reply: wiretest.Reply{Status: 529, Body: refusal("overloaded_error", "Overloaded")}, text: "anthropic: 529: overloaded_error: Overloaded (request req_1)", again: true},
		"529, mid-stream": {reply: wiretest.Reply{Body: wiretest.Events(t, start, text("a")[0], text("a")[1], refusal("overloaded_error", "Overloaded"))}, text: "anthropic: 529: overloaded_error: Overloaded (request req_1)", again: true},
		"429, mid-stream": {reply: wiretest.Reply{Body: wiretest.Events(t, start, refusal("rate_limit_error", "Slow down."))}, text: "anthropic: 429: rate_limit_error: Slow down. (request req_1)", again: true},
		"400, mid-stream": {reply: wiretest.Reply{Body: wiretest.Events(t, refusal("invalid_request_error", "Bad."))}, text: "anthropic: 400: invalid_request_error: Bad. (request req_1)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := wiretest.New(t, tc.reply)
			e := failure(t, wiretest.Call(t.Context(), newModel(t, s), wiretest.Ask("hi")))
			require.EqualError(t, e, tc.text)
			require.Equal(t, tc.again, e.Retryable())
			require.Equal(t, tc.wait, e.RetryAfter())
			require.Equal(t, tc.too, errors.Is(e, model.ErrContextLength))
			require.Len(t, s.Requests(), 1, "the SDK repeats nothing by itself")
		})
	}
}

func TestBrokenStreamsAreWorthAnotherTry(t *testing.T) {
	t.Parallel()
	begun := wiretest.Events(t, start, text("a")[0], text("a")[1])
	for name, reply := range map[string]wiretest.Reply{
		"ends in mid-message":   {Body: begun},
		"ends before its end":   {Body: begun + wiretest.Events(t, ended("0"), reason("end_turn"))},
		"no stop reason":        {Body: begun + wiretest.Events(t, ended("0"), stop)},
		"cut in mid-message":    {Body: begun, Cut: true},
		"cut before the start":  {Silent: true, Cut: true},
		"not JSON":              {Body: begun + "event: content_block_delta\ndata: {\"type\":\n\n"},
		"empty":                 {},
		"a web page":            {Header: map[string]string{"Content-Type": "text/html"}, Body: "<html>Please log in</html>"},
		"an error without form": {Body: begun + "event: error\ndata: oops\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := failure(t, wiretest.Call(t.Context(), newModel(t, wiretest.New(t, reply)), wiretest.Ask("hi")))
			require.True(t, e.Retryable(), e)
		})
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	const short = 30 * time.Millisecond
	begun := wiretest.Events(t, start, text("a")[0], text("a")[1])
	for name, tc := range map[string]struct {
		reply  wiretest.Reply
		limits model.Timeouts
		text   string
	}{
		"no headers":                {wiretest.Reply{Silent: true, Hang: true}, model.Timeouts{FirstToken: short}, "anthropic: timeout: no answer within 30ms"},
		"a ping is no first token":  {wiretest.Reply{Body: wiretest.Events(t, start, ping), Hang: true}, model.Timeouts{FirstToken: short}, "anthropic: timeout: no answer within 30ms"},
		"silence behind the start":  {wiretest.Reply{Body: begun, Hang: true}, model.Timeouts{Idle: short}, "anthropic: timeout: silent for 30ms"},
		"too long for the whole of": {wiretest.Reply{Body: begun, Hang: true}, model.Timeouts{Total: short}, "anthropic: timeout: not finished within 30ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := wiretest.New(t, tc.reply)
			e := failure(t, wiretest.Call(t.Context(), newModel(t, s, func(o *anthropic.Options) { o.Timeouts = tc.limits }), wiretest.Ask("hi")))
			require.EqualError(t, e, tc.text)
			require.ErrorIs(t, e, model.ErrTimeout)
			require.True(t, e.Retryable())
			if len(s.Requests()) > 0 {
				<-s.Gone
			}
		})
	}
}

func TestCancellingStopsTheRequest(t *testing.T) {
	t.Parallel()
	s := wiretest.New(t, wiretest.Reply{Body: wiretest.Events(t, start, text("a")[0], text("a")[1]), Hang: true})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range newModel(t, s).Stream(ctx, wiretest.Ask("hi")) {
		if last = err; err == nil {
			cancel()
		}
	}
	require.ErrorIs(t, last, context.Canceled)
	<-s.Gone
}
