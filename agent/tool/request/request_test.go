package request_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/tool"
	"github.com/parley-dev/parley/agent/tool/request"
)

type conversation struct {
	Messages message.List `json:"messages"`
}

// thread is one of a graph whose only node carries out one call of the tool.
func thread(t *testing.T, c request.Config, args string) *agenttest.Thread {
	t.Helper()
	c.Name, c.Description = "ask", "Asks."
	if c.Parameters == nil {
		c.Parameters = json.RawMessage(`{"type":"object"}`)
	}
	tl, err := request.New(c)
	require.NoError(t, err)
	set, err := tool.NewSet(tl)
	require.NoError(t, err)
	return agenttest.New(agent.NewGraph[conversation]("g").
		Node("tools", func(ctx agent.Context, _ conversation) (agent.Update, error) {
			return set.Run(ctx, message.NewToolCall("c1", "ask", json.RawMessage(args)), nil)
		}).
		Edge(agent.Start, "tools").MustCompile())
}

func last(t *testing.T, th *agenttest.Thread) message.Message {
	t.Helper()
	s, err := th.State(t.Context(), "")
	require.NoError(t, err)
	m, ok := s.State.Messages()["messages"].Last()
	require.True(t, ok)
	return m
}

func run(t *testing.T, c request.Config, args string) message.Message {
	t.Helper()
	th := thread(t, c, args)
	_, err := th.Run(t.Context(), map[string]any{"messages": "go"})
	require.NoError(t, err)
	return last(t, th)
}

// echo answers with the request as text.
func echo(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s type=%q key=%v auth=%q", r.Method, r.RequestURI, body, r.Header.Get("Content-Type"), r.Header.Get("Idempotency-Key") != "", r.Header.Get("Authorization"))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestArgumentsGoWhereTheyBelong(t *testing.T) {
	t.Parallel()
	base := echo(t)
	for name, c := range map[string]struct {
		config     request.Config
		args, says string
	}{
		"path and query": {
			request.Config{URL: base + "/orders/{id}?lang={lang}&v=1"}, `{"id":"a b/c?d","lang":"x&y=z","page":2,"tags":["p","q"],"none":null}`,
			`GET /orders/a%20b%2Fc%3Fd?lang=x%26y%3Dz&v=1&page=2&tags=p&tags=q  type="" key=false auth=""`},
		"body": {
			request.Config{Method: "POST", URL: base + "/t/{id}", Headers: map[string]string{"Authorization": "Bearer s"}}, `{"id":7,"title":"<b>","n":[1]}`,
			`POST /t/7 {"n":[1],"title":"\u003cb\u003e"} type="application/json" key=true auth="Bearer s"`},
		"no arguments": {request.Config{URL: base + "/x"}, `{}`, `GET /x  type="" key=false auth=""`},
		"delete":       {request.Config{Method: "DELETE", URL: base + "/x/{id}"}, `{"id":true}`, `DELETE /x/true  type="" key=true auth=""`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := run(t, c.config, c.args)
			require.Equal(t, "success", m.Status)
			require.Equal(t, c.says, m.Text())
		})
	}
}

func TestArgumentsCantLeaveTheirPlace(t *testing.T) {
	t.Parallel()
	base := echo(t)
	for args, says := range map[string]string{
		`{"a":"..","b":"x"}`:  "can't be part of an address",
		`{"a":"","b":"x"}`:    "can't be part of an address",
		`{"b":"x"}`:           "argument a: is missing",
		`{"a":["x"],"b":"x"}`: "must be a text",
		`{"a":"x.","b":"."}`:  "",
		`{"a":".","b":"."}`:   "can't be part",
	} {
		m := run(t, request.Config{URL: base + "/{a}{b}/c"}, args)
		if says == "" {
			require.Equal(t, "error", m.Status, "a single dot as a whole argument is refused")
			continue
		}
		require.Equal(t, "error", m.Status)
		require.Contains(t, m.Text(), says)
	}
}

func TestAnswersAreShownToTheModel(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/json":
			w.Header().Set("Content-Type", "application/problem+json; charset=utf-8")
			fmt.Fprint(w, "{ \"a\": \"<b>\",\n \"n\": 12345678901234567890 }")
		case "/bad-json":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, "{oops")
		case "/empty":
			w.WriteHeader(http.StatusNoContent)
		case "/binary":
			w.Header().Set("Content-Type", "image/png")
			w.Write([]byte{0x89, 'P', 0, 1})
		case "/large":
			fmt.Fprint(w, strings.Repeat("é", 100))
		case "/large-json":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `"`+strings.Repeat("a", 100)+`"`)
		case "/refused":
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(w, "no such order")
		case "/here":
			http.Redirect(w, r, "/empty", http.StatusFound)
		case "/away":
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		}
	}))
	t.Cleanup(s.Close)
	for path, want := range map[string]struct{ status, text string }{
		"/json":       {"success", `{"a":"<b>","n":12345678901234567890}`},
		"/bad-json":   {"success", "{oops"},
		"/empty":      {"success", "HTTP 204 No Content, without content"},
		"/binary":     {"success", "HTTP 200 OK with content that is no text (image/png)"},
		"/large":      {"success", strings.Repeat("é", 25) + "\n[cut off after 51 bytes]"},
		"/large-json": {"success", `"` + strings.Repeat("a", 50) + "\n[cut off after 51 bytes]"},
		"/refused":    {"error", "HTTP 422 Unprocessable Entity\nno such order"},
		"/here":       {"success", "HTTP 204 No Content, without content"},
		"/away":       {"error", "Error: GET failed: redirected to another host, 192.0.2.1\n Please fix your mistakes."},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			m := run(t, request.Config{URL: s.URL + path, MaxBytes: 51}, `{}`)
			require.Equal(t, want.status, m.Status)
			require.Equal(t, want.text, m.Text())
		})
	}
}

func TestASlowServiceIsNotWaitedForLonger(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(release) })
	m := run(t, request.Config{URL: s.URL + "/secret-key", Timeout: 50 * time.Millisecond}, `{}`)
	require.Equal(t, "error", m.Status)
	require.NotContains(t, m.Text(), "secret-key", "the address may hold a key")
}

func TestAServiceThatIsDownIsToldToTheModel(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	m := run(t, request.Config{URL: s.URL + "/secret-key"}, `{}`)
	require.Equal(t, "error", m.Status)
	require.Contains(t, m.Text(), "refused")
	require.NotContains(t, m.Text(), "secret-key")
}

// A request that a crash cut off is sent again only where that does no harm.
func TestRequestsThatACrashCutOff(t *testing.T) { // decisions 6
	t.Parallel()
	for name, c := range map[string]struct {
		method     string
		idempotent bool
		sent       int
	}{
		"POST":                         {"POST", false, 1},
		"POST that is told by its key": {"POST", true, 2},
		"PUT":                          {"PUT", false, 2},
		"GET":                          {"GET", false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var keys []string
			s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				keys = append(keys, r.Header.Get("Idempotency-Key"))
			}))
			t.Cleanup(s.Close)
			th := thread(t, request.Config{Method: c.method, URL: s.URL, Idempotent: c.idempotent}, `{}`)
			crashed := errors.New("the machine is gone")
			th.OnCommit = func(commit agent.Commit) error {
				for _, step := range commit.Steps {
					if step.Result != nil { // what came of it is lost
						return crashed
					}
				}
				return nil
			}
			r, err := th.Run(t.Context(), map[string]any{"messages": "go"})
			require.ErrorIs(t, err, crashed)
			require.Len(t, keys, 1)
			th.OnCommit = nil
			again, err := th.Recover(t.Context(), r.Run)
			require.NoError(t, err)
			require.Len(t, keys, c.sent)
			require.Equal(t, c.sent == 1, again.Suspended, "a person is asked")
			require.Equal(t, keys[0], keys[len(keys)-1])
		})
	}
}

func TestMistakesOfAConfiguration(t *testing.T) {
	t.Parallel()
	for says, c := range map[string]request.Config{
		"must begin with http":  {URL: "ftp://x/y"},
		"choose the host":       {URL: "https://{host}/y"},
		"isn't one of":          {URL: "https://x/y", Method: "TRACE"},
		"fragment":              {URL: "https://x/y#z"},
		"must begin with https": {URL: "https:///"},
	} {
		_, err := request.New(c)
		require.ErrorContains(t, err, strings.TrimSuffix(says, "s"), says)
	}
}

func TestAnnotationsFollowFromTheMethod(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]struct{ readOnly, destructive, idempotent bool }{
		"GET": {true, false, true}, "POST": {false, false, false}, "PUT": {false, true, true}, "DELETE": {false, true, true},
	} {
		tl, err := request.New(request.Config{Name: "x", Method: method, URL: "https://example.com"})
		require.NoError(t, err)
		a := tool.AnnotationsOf(tl)
		require.Equal(t, want.readOnly, a.ReadOnly, method)
		require.Equal(t, want.destructive, a.Destructive != nil && *a.Destructive, method)
		require.Equal(t, want.idempotent, a.Idempotent, method)
	}
}
