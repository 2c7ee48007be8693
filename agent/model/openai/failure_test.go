package openai_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/internal/wiretest"
	"github.com/parley-dev/parley/agent/model/openai"
)

// failure is the error of a call that must be a model.Error.
func failure(t *testing.T, got wiretest.Answer) *model.Error {
	t.Helper()
	var e *model.Error
	require.ErrorAs(t, got.Err, &e)
	return e
}

func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reply   wiretest.Reply
		text    string
		code    string
		again   bool
		wait    time.Duration
		too     bool // long
		request string
	}{
		"400": {reply: wiretest.Reply{Status: 400, Body: `{"error":{"message":"Bad thing.","type":"invalid_request_error","param":null,"code":null}}`}, text: "openai: 400: invalid_request_error: Bad thing.", code: "invalid_request_error"},
		"400 for the length": {
			reply: wiretest.Reply{Status: 400, Body: `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`},
			text:  "openai: 400: context_length_exceeded: This model's maximum context length is 8192 tokens.", code: "context_length_exceeded", too: true,
		},
		"400 for the length, vLLM": {
			reply: wiretest.Reply{Status: 400, Body: `{"object":"error","message":"This model's maximum context length is 10 tokens.","type":"BadRequestError","code":400}`},
			text:  "openai: 400: BadRequestError: This model's maximum context length is 10 tokens.", code: "BadRequestError", too: true,
		},
		"401":                 {reply: wiretest.Reply{Status: 401, Body: `{"error":{"message":"No.","code":"invalid_api_key"}}`}, text: "openai: 401: invalid_api_key: No.", code: "invalid_api_key"},
		"403 without a body":  {reply: wiretest.Reply{Status: 403}, text: "openai: 403 Forbidden"},
		"404 of Ollama":       {reply: wiretest.Reply{Status: 404, Body: `{"error":"model 'x' not found"}`}, text: "openai: 404 Not Found: model 'x' not found"},
		"422 of a proxy":      {reply: wiretest.Reply{Status: 422, Body: `{"detail":[{"loc":["body"]}]}`}, text: `openai: 422 Unprocessable Entity: [{"loc":["body"]}]`},
		"429":                 {reply: wiretest.Reply{Status: 429, Header: map[string]string{"Retry-After": "7", "X-Request-Id": "r-1"}, Body: `{"error":{"message":"Slow down.","code":"rate_limit_exceeded"}}`}, text: "openai: 429: rate_limit_exceeded: Slow down. (request r-1)", code: "rate_limit_exceeded", again: true, wait: 7 * time.Second, request: "r-1"},
		"429 for good":        {reply: wiretest.Reply{Status: 429, Body: `{"error":{"message":"Pay first.","code":"insufficient_quota"}}`}, text: "openai: 429: insufficient_quota: Pay first.", code: "insufficient_quota"},
		"429 of Google":       {reply: wiretest.Reply{Status: 429, Body: `[{"error":{"code":429,"message":"Quota.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"x"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"39s"}]}}]`}, text: "openai: 429: RESOURCE_EXHAUSTED: Quota.", code: "RESOURCE_EXHAUSTED", again: true, wait: 39 * time.Second},
		"500":                 {reply: wiretest.Reply{Status: 500, Body: "oops"}, text: "openai: 500 Internal Server Error: oops", again: true},
		"500, told not to":    {reply: wiretest.Reply{Status: 500, Header: map[string]string{"X-Should-Retry": "false"}}, text: "openai: 500 Internal Server Error"},
		"502 of a gateway":    {reply: wiretest.Reply{Status: 502, Header: map[string]string{"Content-Type": "text/html"}, Body: "<html>Bad Gateway</html>"}, text: "openai: 502 Bad Gateway: <html>Bad Gateway</html>", again: true},
		"503":                 {reply: wiretest.Reply{Status: 503, Header: map[string]string{"Retry-After-Ms": "250"}}, text: "openai: 503 Service Unavailable", again: true, wait: 250 * time.Millisecond},
		"529":                 {reply: wiretest.Reply{Status: 529, Body: `{"error":{"type":"overloaded_error","message":["Over","loaded"]}}`}, text: "openai: 529: overloaded_error: Over, loaded", code: "overloaded_error", again: true},
		"a redirect":          {reply: wiretest.Reply{Status: 307, Header: map[string]string{"Location": "http://127.0.0.1:1/"}}, text: "openai: 307 Temporary Redirect: the server redirects; check the base URL"},
		"in the stream":       {reply: wiretest.Reply{Body: wiretest.SSE(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"error":{"message":"Provider gone","code":502}}`)}, text: "openai: 502 Bad Gateway: Provider gone", again: true},
		"in the stream, 400":  {reply: wiretest.Reply{Body: wiretest.SSE(`{"error":{"message":"prompt is too long","type":"invalid_request_error"}}`)}, text: "openai: 400: invalid_request_error: prompt is too long", code: "invalid_request_error", too: true},
		"with status 200":     {reply: wiretest.Reply{Header: map[string]string{"Content-Type": "application/json"}, Body: `{"error":{"message":"No such model","code":"model_not_found"}}`}, text: "openai: 404: model_not_found: No such model", code: "model_not_found"},
		"gave up in mid-text": {reply: wiretest.Reply{Body: wiretest.SSE(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"error"}]}`, done)}, text: "openai: 503: error: the server gave up in mid-answer", code: "error", again: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := wiretest.New(t, tc.reply)
			e := failure(t, wiretest.Call(t.Context(), newModel(t, s), wiretest.Ask("hi")))
			require.EqualError(t, e, tc.text)
			require.Equal(t, tc.code, e.Code)
			require.Equal(t, tc.again, e.Retryable())
			require.Equal(t, tc.wait, e.RetryAfter())
			require.Equal(t, tc.too, errors.Is(e, model.ErrContextLength))
			require.Equal(t, tc.request, e.RequestID)
			require.Len(t, s.Requests(), 1, "the SDK repeats nothing by itself")
		})
	}
}

func TestBrokenStreamsAreWorthAnotherTry(t *testing.T) {
	t.Parallel()
	begun := wiretest.SSE(`{"choices":[{"index":0,"delta":{"content":"Once upon"}}]}`)
	for name, reply := range map[string]wiretest.Reply{
		"ends in mid-message":  {Body: begun},
		"cut in mid-message":   {Body: begun, Cut: true},
		"cut before the start": {Silent: true, Cut: true},
		"not JSON":             {Body: begun + wiretest.SSE(`{"choices":[{"ind`)},
		"another type":         {Body: begun + wiretest.SSE(`{"choices":7}`)},
		"empty":                {},
		"only [DONE]":          {Body: wiretest.SSE(done)},
		"an empty reply":       {Header: map[string]string{"Content-Type": "application/json"}},
		"a web page":           {Header: map[string]string{"Content-Type": "text/html"}, Body: "<html>Please log in</html>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := failure(t, wiretest.Call(t.Context(), newModel(t, wiretest.New(t, reply)), wiretest.Ask("hi")))
			require.True(t, e.Retryable(), e)
			if !reply.Silent {
				require.ErrorIs(t, e, model.ErrBrokenStream)
			}
		})
	}
	t.Run("nobody there", func(t *testing.T) {
		t.Parallel()
		m, err := openai.New(openai.Options{Model: "m", BaseURL: "http://127.0.0.1:1"})
		require.NoError(t, err)
		e := failure(t, wiretest.Call(t.Context(), m, wiretest.Ask("hi")))
		require.True(t, e.Retryable())
		require.NotContains(t, e.Error(), "127.0.0.1:1/chat", "no URL")
	})
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	begun := wiretest.SSE(`{"choices":[{"index":0,"delta":{"content":"Once upon"}}]}`)
	role := wiretest.SSE(`{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`)
	const short = 30 * time.Millisecond
	for name, tc := range map[string]struct {
		reply  wiretest.Reply
		limits model.Timeouts
		text   string
	}{
		"no headers":         {wiretest.Reply{Silent: true, Hang: true}, model.Timeouts{FirstToken: short}, "openai: timeout: no answer within 30ms"},
		"no first token":     {wiretest.Reply{Body: role, Hang: true}, model.Timeouts{FirstToken: short}, "openai: timeout: no answer within 30ms"},
		"silence":            {wiretest.Reply{Body: begun, Hang: true}, model.Timeouts{Idle: short}, "openai: timeout: silent for 30ms"},
		"too long in total":  {wiretest.Reply{Body: begun, Hang: true}, model.Timeouts{Total: short}, "openai: timeout: not finished within 30ms"},
		"total before token": {wiretest.Reply{Silent: true, Hang: true}, model.Timeouts{Total: short, FirstToken: -1}, "openai: timeout: not finished within 30ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := wiretest.New(t, tc.reply)
			m := newModel(t, s, func(o *openai.Options) { o.Timeouts = tc.limits })
			e := failure(t, wiretest.Call(t.Context(), m, wiretest.Ask("hi")))
			require.EqualError(t, e, tc.text)
			require.ErrorIs(t, e, model.ErrTimeout)
			require.True(t, e.Timeout())
			require.True(t, e.Retryable())
			if len(s.Requests()) > 0 { // else it took too long to get there
				<-s.Gone // the request is broken off, not only given up
			}
		})
	}
}

func TestCancellingStopsTheRequest(t *testing.T) {
	t.Parallel()
	s := wiretest.New(t, wiretest.Reply{Body: wiretest.SSE(`{"choices":[{"index":0,"delta":{"content":"Once upon"}}]}`), Hang: true})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for chunk, err := range newModel(t, s).Stream(ctx, wiretest.Ask("hi")) {
		if last = err; err == nil {
			require.Equal(t, "Once upon", chunk.Text)
			cancel()
		}
	}
	require.ErrorIs(t, last, context.Canceled)
	<-s.Gone
}

func TestAReaderThatHasEnoughStopsTheRequest(t *testing.T) {
	t.Parallel()
	s := wiretest.New(t, wiretest.Reply{Body: wiretest.SSE(`{"choices":[{"index":0,"delta":{"content":"Once upon"}}]}`), Hang: true})
	for range newModel(t, s).Stream(t.Context(), wiretest.Ask("hi")) {
		break
	}
	<-s.Gone
}

func TestTheKeyGoesToTheServerAndNowhereElse(t *testing.T) {
	t.Parallel()
	const secret = "sk-proj-0123456789abcdef"
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, []byte(secret+"\n"), 0o600))
	echoed := fmt.Sprintf(`{"error":{"message":"Incorrect API key provided: %s (sk-proj-****cdef), header token-value-1. Bearer %s","code":"%s"}}`, secret, secret, secret)
	s := wiretest.New(
		t, wiretest.Reply{Status: 401, Body: echoed}, wiretest.Reply{Body: wiretest.SSE(echoed)},
		wiretest.Reply{Status: 400, Body: secret}, wiretest.Reply{Body: "data: " + secret},
	)
	m := newModel(t, s, func(o *openai.Options) {
		o.Key = model.FileKey(file)
		o.Headers = model.Headers{"X-Token": "token-value-1"}
	})
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for range 4 {
		e := failure(t, wiretest.Call(t.Context(), m, wiretest.Ask("hi")))
		fmt.Fprintf(&log, "%v %+v %#v %s", e, e, *e, errors.Join(e, e.Unwrap()))
		logger.Info("failed", "error", e, "model", m, "info", m.Info(), "key", m.Key())
	}
	fmt.Fprintf(&log, "%v %+v %#v %s", m, m, m, m)
	for _, part := range []string{secret, "0123456789abcdef", "token-value-1", "****cdef"} {
		require.NotContains(t, log.String(), part)
	}
	require.Equal(t, "Bearer "+secret, s.Last(t).Header.Get("Authorization"))
	require.Equal(t, "token-value-1", s.Last(t).Header.Get("X-Token"))
	require.Equal(t, "/v1/chat/completions", s.Last(t).Path)
}

func TestAMissingKeyFailsTheCall(t *testing.T) {
	t.Parallel()
	s := wiretest.New(t, wiretest.Reply{})
	m := newModel(t, s, func(o *openai.Options) {
		o.Key = model.Key{Env: "NO_SUCH_KEY", Getenv: func(string) string { return "" }}
	})
	e := failure(t, wiretest.Call(t.Context(), m, wiretest.Ask("hi")))
	require.ErrorIs(t, e, model.ErrNoKey)
	require.EqualError(t, e, "openai: model: no API key: environment variable NO_SUCH_KEY is empty")
	require.False(t, e.Retryable())
	require.Empty(t, s.Requests())
}

func TestNoKeySendsNone(t *testing.T) {
	t.Parallel()
	s := wiretest.New(t, wiretest.Reply{Status: http.StatusTeapot})
	wiretest.Call(t.Context(), newModel(t, s), wiretest.Ask("hi"))
	require.Empty(t, s.Last(t).Header.Values("Authorization"))
}

func TestUnusableOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, o := range []openai.Options{
		{}, {Model: "m", BaseURL: "localhost:11434"}, {Model: "m", BaseURL: "ftp://x"}, {Model: "m", BaseURL: "http://u:secret@x"},
		{Model: "m", BaseURL: "http://x?key=secret"}, {Model: "m", BaseURL: "http://x:secret"},
	} {
		_, err := openai.New(o)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret")
	}
}
