package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/agent/model"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		header map[string]string
		want   time.Duration
	}{
		"none":                {nil, 0},
		"seconds":             {map[string]string{"Retry-After": "7"}, 7 * time.Second},
		"fractions":           {map[string]string{"Retry-After": " 1.5 "}, 1500 * time.Millisecond},
		"milliseconds first":  {map[string]string{"Retry-After": "7", "Retry-After-Ms": "250"}, 250 * time.Millisecond},
		"a date":              {map[string]string{"Retry-After": "Mon, 30 Nov 2026 12:00:09 GMT"}, 9 * time.Second},
		"a date, their clock": {map[string]string{"Retry-After": "Mon, 30 Nov 2026 10:00:09 GMT", "Date": "Mon, 30 Nov 2026 10:00:00 GMT"}, 9 * time.Second},
		"a date in the past":  {map[string]string{"Retry-After": "Mon, 30 Nov 2026 11:00:00 GMT"}, 0},
		"negative":            {map[string]string{"Retry-After": "-3"}, 0},
		"not a number":        {map[string]string{"Retry-After": "NaN"}, 0},
		"rubbish":             {map[string]string{"Retry-After": "soon"}, 0},
		"beyond all reason":   {map[string]string{"Retry-After": "1e300"}, 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{}
			for k, v := range tc.header {
				h.Set(k, v)
			}
			require.Equal(t, tc.want, retryAfter(h, now))
		})
	}
}

func TestTextsOfProvidersHideSecrets(t *testing.T) {
	t.Parallel()
	r := newRedactor([]string{"0123456789", "true", ""})
	for text, want := range map[string]string{
		"key 0123456789!":                        "key [hidden]!",
		"it is true":                             "it is true",
		"provided: sk-proj-abcdefgh.":            "provided: [hidden]",
		"provided: abcd********wxyz.":            "provided: [hidden].",
		"Authorization: Bearer eyJhbGciOi.x.y z": "Authorization: [hidden] z",
		"AIzaSyA1234567890abcdefghijklmn bad":    "[hidden] bad",
		"risk-free, ask-me":                      "risk-free, ask-me",
		"**bold**":                               "**bold**",
	} {
		require.Equal(t, want, r.in(text))
	}
}

// Whatever a provider sends as an error, it is read without a crash, and bounded.
func TestParseErrorReadsAnything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]string{`"x"`, `7`, `null`, `{}`, `[]`, `["a","b"]`, `{"message":"m"}`, `{"code":503}`, `[{"retryDelay":"3s"}]`, `"sk-secret-key"`, `{`})
		var b strings.Builder
		for range rapid.IntRange(0, 4).Draw(t, "keys") {
			fmt.Fprintf(&b, `,"%s":%s`, rapid.SampledFrom([]string{"error", "message", "type", "code", "status", "details", "detail", "request_id"}).Draw(t, "key"), value.Draw(t, "value"))
		}
		text := "{" + strings.TrimPrefix(b.String(), ",") + "}"
		if rapid.Bool().Draw(t, "raw") {
			text = rapid.String().Draw(t, "text") + text
		}
		e := InStream([]byte(text))
		require.NotEmpty(t, e.Message+e.Code)
		require.True(t, e.Status == 0 || e.Status >= 400 && e.Status < 600)
		require.LessOrEqual(t, len(e.Message), maxMessage+100)
	})
	require.Len(t, []rune(ParseError([]byte(strings.Repeat("ä", 5000))).Message), maxMessage/2+1)
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	require.NoError(t, CheckURL("http://localhost:11434/v1"))
	require.NoError(t, CheckURL("https://x/"))
	for _, bad := range []string{"", "x", "localhost:1", "/v1", "ftp://x", "http://", "http://u:secret@x", "http://x?secret", "http://x#secret", "http://x:secret", "http://\x7fsecret"} {
		err := CheckURL(bad)
		require.Error(t, err, bad)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestFailuresBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	_, call := Begin(t.Context(), Config{Provider: "p"}, "the-secret")
	defer call.End()
	var e *model.Error
	require.ErrorAs(t, call.Fail(errors.New("won't send the-secret")), &e)
	require.EqualError(t, e, "p: won't send [hidden]")
	require.False(t, e.Retryable(), "nothing was sent, and nothing will be")

	call.sent = true
	require.ErrorAs(t, call.Fail(&url.Error{Op: "Post", URL: "http://x?key=the-secret", Err: io.EOF}), &e)
	require.EqualError(t, e, "p: no answer: EOF")
	require.True(t, e.Retryable())
	require.ErrorIs(t, e, io.EOF)

	require.ErrorAs(t, call.Fail(&url.Error{Op: "Post", URL: "http://x", Err: &tls.CertificateVerificationError{Err: errors.New("expired")}}), &e)
	require.False(t, e.Retryable(), "a bad certificate stays bad")
}

func TestTheCallersContextGoesFirst(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	inner, call := Begin(ctx, Config{})
	defer call.End()
	cancel()
	require.Equal(t, context.Canceled, call.Fail(errors.New("x")))
	<-inner.Done()
}

func TestConnectTimeout(t *testing.T) {
	t.Parallel()
	block := roundTripper(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done() // never gets a connection
		return nil, r.Context().Err()
	})
	ctx, call := Begin(t.Context(), Config{Provider: "p", Client: &http.Client{Transport: block}, Timeouts: model.Timeouts{Connect: time.Millisecond}})
	defer call.End()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://x", nil)
	require.NoError(t, err)
	_, err = call.Do(req) //nolint:bodyclose // an error
	require.Error(t, err)
	require.EqualError(t, call.Fail(err), "p: timeout: no connection within 1ms")
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRedirectsDontCarryTheKeyAway(t *testing.T) {
	t.Parallel()
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("followed") }))
	t.Cleanup(thief.Close)
	s := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	t.Cleanup(s.Close)
	ctx, call := Begin(t.Context(), Config{Provider: "p"})
	defer call.End()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader("{}"))
	require.NoError(t, err)
	_, err = call.Do(req) //nolint:bodyclose // an error
	require.ErrorContains(t, err, "redirects")
}
