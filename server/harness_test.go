package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/server"
)

// client talks to a server of its own over real HTTP.
type client struct {
	t       *testing.T
	url     string
	headers map[string]string
}

// serveTest starts a server with the test's agents in memory.
func serveTest(t *testing.T, o server.Options) *client {
	t.Helper()
	o.Ephemeral = o.Store == nil && o.DataDir == ""
	if o.Agents == nil {
		o.Agents = testAgents()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	s, err := server.New(o)
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context()))
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		require.NoError(t, s.Shutdown(ctx))
		h.Close()
	})
	return &client{t: t, url: h.URL}
}

// as returns the client with further headers.
func (c *client) as(headers map[string]string) *client {
	merged := map[string]string{}
	for k, v := range c.headers {
		merged[k] = v
	}
	for k, v := range headers {
		merged[k] = v
	}
	return &client{c.t, c.url, merged}
}

// answer is a reply that was read to its end.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   string
}

// open sends a request and returns the reply before its body was read.
func (c *client) open(ctx context.Context, method, path, body string) *http.Response {
	c.t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, in)
	require.NoError(c.t, err)
	for k, v := range c.headers {
		r.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(c.t, err)
	return res
}

func (c *client) do(method, path, body string) answer {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 20*time.Second)
	defer cancel()
	res := c.open(ctx, method, path, body)
	defer res.Body.Close() //nolint:errcheck // read to its end
	b, err := io.ReadAll(res.Body)
	require.NoError(c.t, err)
	return answer{c.t, res.StatusCode, res.Header, string(b)}
}

func (c *client) get(path string) answer { c.t.Helper(); return c.do(http.MethodGet, path, "") }
func (c *client) post(path, body string) answer {
	c.t.Helper()
	return c.do(http.MethodPost, path, body)
}
func (c *client) patch(path, body string) answer {
	c.t.Helper()
	return c.do(http.MethodPatch, path, body)
}

// ok wants status 200.
func (a answer) ok() answer { a.t.Helper(); return a.is(http.StatusOK) }

func (a answer) is(status int) answer {
	a.t.Helper()
	require.Equal(a.t, status, a.status, a.body)
	return a
}

// text wants a plain text failure.
func (a answer) text(status int, text string) {
	a.t.Helper()
	a.is(status)
	require.Equal(a.t, text, a.body)
	require.Equal(a.t, "text/plain;charset=UTF-8", a.header.Get("Content-Type"))
}

// fault wants a validation failure that names a path.
func (a answer) fault(path ...any) {
	a.t.Helper()
	a.is(http.StatusBadRequest)
	v := a.json()
	require.Equal(a.t, false, v["success"])
	var paths []any
	for _, i := range v["error"].(map[string]any)["issues"].([]any) {
		require.NotEmpty(a.t, i.(map[string]any)["message"])
		require.NotEmpty(a.t, i.(map[string]any)["code"])
		paths = append(paths, i.(map[string]any)["path"])
	}
	require.Contains(a.t, paths, any(append([]any{}, path...)))
}

// code wants one of the failures of decisions 8.
func (a answer) code(status int, code string) map[string]any {
	a.t.Helper()
	a.is(status)
	v := a.json()
	require.Equal(a.t, code, v["error"])
	require.NotEmpty(a.t, v["message"])
	return v
}

// json reads the body as an object.
func (a answer) json() map[string]any {
	a.t.Helper()
	var v map[string]any
	require.NoError(a.t, json.Unmarshal([]byte(a.body), &v), a.body)
	return v
}

// list reads the body as an array of objects.
func (a answer) list() []map[string]any {
	a.t.Helper()
	var v []map[string]any
	require.NoError(a.t, json.Unmarshal([]byte(a.body), &v), a.body)
	return v
}

// str reads a string member.
func (a answer) str(key string) string {
	a.t.Helper()
	s, ok := a.json()[key].(string)
	require.True(a.t, ok, "%s of %s", key, a.body)
	return s
}

// thread creates a thread.
func (c *client) thread() string {
	c.t.Helper()
	return c.post("/threads", "{}").ok().str("thread_id")
}

// frame is one server-sent event.
type frame struct {
	event, id, data string
}

func (f frame) json(t *testing.T) map[string]any {
	t.Helper()
	var v map[string]any
	require.NoError(t, json.Unmarshal([]byte(f.data), &v), f.data)
	return v
}

// frames parses a whole stream.
func (a answer) frames() []frame {
	a.t.Helper()
	a.ok()
	require.Equal(a.t, "text/event-stream", a.header.Get("Content-Type"))
	return parseFrames(a.t, strings.NewReader(a.body), 0)
}

// parseFrames reads events until the stream ends, or n of them.
func parseFrames(t *testing.T, in io.Reader, n int) []frame {
	t.Helper()
	var out []frame
	var f frame
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "":
			if f != (frame{}) {
				out = append(out, f)
			}
			f = frame{}
			if n > 0 && len(out) == n {
				return out
			}
		case strings.HasPrefix(line, ":"):
		case name == "event":
			f.event = value
		case name == "data":
			f.data = value
		case name == "id":
			f.id = value
		default:
			require.Fail(t, "unknown line", line)
		}
	}
	return out
}

// until waits for a condition that the server brings about.
func (c *client) until(what string, done func() bool) {
	c.t.Helper()
	require.Eventually(c.t, done, 10*time.Second, 2*time.Millisecond, what)
}

// The test's agents.

type state struct {
	Messages message.List   `json:"messages"`
	Note     string         `json:"note"`
	Answer   any            `json:"answer"`
	Log      []string       `json:"log" agent:"append"`
	Wait     float64        `json:"wait"`
	Extra    map[string]any `json:"extra"`
}

func testAgents() []agent.Agent {
	say := func(text string) func(agent.Context, state) (agent.Update, error) {
		return func(agent.Context, state) (agent.Update, error) {
			return agent.Values{"messages": []message.Message{message.NewAI(text)}, "log": []string{text}}, nil
		}
	}
	ask := func(name string, opts ...agent.InterruptOption) func(agent.Context, state) (agent.Update, error) {
		return func(ctx agent.Context, s state) (agent.Update, error) {
			got, err := agent.Interrupt[any](ctx, map[string]string{"ask": name}, opts...)
			if err != nil {
				return nil, err
			}
			return agent.Values{"answer": got, "log": []string{name}}, nil
		}
	}
	schema := agent.ResponseSchema([]byte(`{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`))
	return []agent.Agent{
		agent.NewGraph[state]("echo").Node("say", say("hello")).Edge(agent.Start, "say").Edge("say", agent.End).MustCompile(),
		agent.NewGraph[state]("ask").Node("ask", ask("ask")).Node("after", say("done")).
			Edge(agent.Start, "ask").Edge("ask", "after").Edge("after", agent.End).MustCompile(),
		agent.NewGraph[state]("checked").Node("ask", ask("checked", schema)).
			Edge(agent.Start, "ask").Edge("ask", agent.End).MustCompile(),
		agent.NewGraph[pair]("two").Node("ask_a", askPair("a")).Node("ask_b", askPair("b")).
			Edge(agent.Start, "ask_a").Edge(agent.Start, "ask_b").Edge("ask_a", agent.End).Edge("ask_b", agent.End).MustCompile(),
		agent.NewGraph[state]("slow").Node("pause", func(ctx agent.Context, s state) (agent.Update, error) {
			ctx.Write(map[string]string{"phase": "waiting"})
			if err := ctx.Sleep(time.Duration(s.Wait * float64(time.Second))); err != nil {
				return nil, err
			}
			return agent.Values{"log": []string{"waited"}}, nil
		}).Edge(agent.Start, "pause").Edge("pause", agent.End).MustCompile(),
		agent.NewGraph[state]("fail").Node("boom", func(agent.Context, state) (agent.Update, error) {
			return nil, &agent.NamedError{Name: "CustomError", Message: "Boo!"}
		}).Edge(agent.Start, "boom").Edge("boom", agent.End).MustCompile(),
		agent.NewGraph[state]("strict", agent.Strict()).Node("say", say("hello")).Edge(agent.Start, "say").Edge("say", agent.End).MustCompile(),
	}
}

// pair is the state of a graph with two questions at once.
type pair struct {
	A   any      `json:"a"`
	B   any      `json:"b"`
	Log []string `json:"log" agent:"append"`
}

func askPair(key string) func(agent.Context, pair) (agent.Update, error) {
	return func(ctx agent.Context, _ pair) (agent.Update, error) {
		got, err := agent.Interrupt[any](ctx, key)
		if err != nil {
			return nil, err
		}
		return agent.Values{key: got, "log": []string{key}}, nil
	}
}
