package executions_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/auth/keys"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/redis"
	"github.com/parley-dev/parley/thread/redis/redistest"
)

// shared is the Redis of the package's tests; nil where redis-server isn't installed.
var shared *redistest.Server

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "parley-executions")
	if err == nil {
		if shared, err = redistest.New(dir); err != nil {
			println("without Redis:", err.Error(), "(install redis-server, Debian: apt-get install redis-server)")
		}
	}
	code := m.Run()
	if shared != nil {
		shared.Stop()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// world is one or several servers on one store.
type world struct {
	t       *testing.T
	effects *effects
	urls    []string
	servers []*server.Server
	stops   []func() // each stops a server
}

// on runs a test with one server on the embedded store, and with two on one Redis.
func on(t *testing.T, test func(t *testing.T, w *world), change ...func(*server.Options)) {
	t.Helper()
	t.Run("local", func(t *testing.T) {
		t.Parallel()
		test(t, local(t, change...))
	})
	t.Run("two on Redis", func(t *testing.T) {
		t.Parallel()
		if shared == nil {
			t.Skip("install redis-server (Debian: apt-get install redis-server)")
		}
		prefix := "test:" + uuid.NewString()[:8] + ":"
		w := empty(t)
		for range 2 {
			w.start(server.Options{Redis: redis.Options{URL: shared.URL(), Prefix: prefix}}, change)
		}
		test(t, w)
	})
}

// local is one server on an embedded store in memory.
func local(t *testing.T, change ...func(*server.Options)) *world {
	t.Helper()
	w := empty(t)
	w.start(server.Options{Ephemeral: true}, change)
	return w
}

func empty(t *testing.T) *world {
	t.Helper()
	return &world{t: t, effects: newEffects()}
}

// start adds a server.
func (w *world) start(o server.Options, change []func(*server.Options)) {
	w.t.Helper()
	o.Agents, o.Logger = w.agents(), slog.New(slog.NewTextHandler(io.Discard, nil))
	for _, f := range change {
		f(&o)
	}
	s, err := server.New(o)
	require.NoError(w.t, err)
	require.NoError(w.t, s.Start(w.t.Context()))
	h := httptest.NewServer(s.Handler())
	stop := sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		require.NoError(w.t, s.Shutdown(ctx))
		h.Close()
	})
	w.t.Cleanup(stop)
	w.urls, w.servers, w.stops = append(w.urls, h.URL), append(w.servers, s), append(w.stops, stop)
}

func (w *world) store() thread.ReviewStore { return w.servers[0].Service().ReviewStore() }

// anybody is a caller without a key.
func (w *world) anybody() *client {
	return &client{w: w, t: w.t, base: "/api/v1/projects/default"}
}

// person is somebody with a key of the default project.
func (w *world) person(name string, roles ...string) *client {
	return w.holder(keys.Request{Name: name, Roles: roles})
}

// holder is who holds a key.
func (w *world) holder(r keys.Request) *client {
	w.t.Helper()
	_, text, err := keys.Create(w.t.Context(), w.store(), r)
	require.NoError(w.t, err)
	project := r.Project
	if project == "" {
		project = thread.DefaultProject
	}
	return &client{w: w, t: w.t, key: text, name: r.Name, base: "/api/v1/projects/" + project}
}

// staff are an operator, and two reviewers.
func (w *world) staff() (op, ann, bob *client) {
	w.t.Helper()
	return w.person("op", auth.RoleOperator), w.person("ann", auth.RoleReviewer), w.person("bob", auth.RoleReviewer)
}

// client is a caller.
type client struct {
	w               *world
	t               *testing.T
	key, name, base string
	header          http.Header
	server          int // which one it talks to
}

// at talks to another server.
func (c *client) at(server int) *client {
	other := *c
	other.server = server % len(c.w.urls)
	return &other
}

// with sends a header.
func (c *client) with(name, value string) *client {
	other := *c
	other.header = c.header.Clone()
	if other.header == nil {
		other.header = http.Header{}
	}
	other.header.Set(name, value)
	return &other
}

// answer is a reply that was read to its end.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   string
}

func (c *client) open(ctx context.Context, method, path, body string) *http.Response {
	c.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, c.w.urls[c.server]+path, strings.NewReader(body))
	require.NoError(c.t, err)
	for k, v := range c.header {
		r.Header[k] = v
	}
	if c.key != "" {
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(c.t, err)
	return res
}

// do sends a request to any path.
func (c *client) do(method, path, body string) answer {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	res := c.open(ctx, method, path, body)
	b, err := io.ReadAll(res.Body)
	require.NoError(c.t, err)
	require.NoError(c.t, res.Body.Close())
	return answer{c.t, res.StatusCode, res.Header, string(b)}
}

// get and post send requests to paths of the caller's project.
func (c *client) get(path string) answer { c.t.Helper(); return c.do(http.MethodGet, c.base+path, "") }
func (c *client) post(path, body string) answer {
	c.t.Helper()
	return c.do(http.MethodPost, c.base+path, body)
}

func (a answer) is(status int) answer {
	a.t.Helper()
	require.Equal(a.t, status, a.status, a.body)
	return a
}

func (a answer) ok() object { a.t.Helper(); return a.is(http.StatusOK).json() }

// code wants a failure in the form of spec/executions.md 5.
func (a answer) code(status int, code string) object {
	a.t.Helper()
	o := a.is(status).json()
	require.Equal(a.t, code, o["errorCode"], a.body)
	require.NotEmpty(a.t, o["detail"])
	require.EqualValues(a.t, status, o["error"])
	require.IsType(a.t, []any{}, o["parameters"])
	require.Equal(a.t, http.StatusText(status), o["reason"])
	return o
}

// field wants a bad request that names a field.
func (a answer) field(code, name string) object {
	a.t.Helper()
	o := a.code(http.StatusBadRequest, code)
	var names []string
	for _, f := range o.at("badRequestDetail").list("fields") {
		require.NotEmpty(a.t, f["description"])
		names = append(names, f.text("field"))
	}
	require.Contains(a.t, names, name, a.body)
	return o
}

// object is a JSON object.
type object map[string]any

func (a answer) json() object {
	a.t.Helper()
	var o object
	require.NoError(a.t, json.Unmarshal([]byte(a.body), &o), a.body)
	return o
}

func (o object) text(key string) string { s, _ := o[key].(string); return s }
func (o object) at(key string) object   { m, _ := o[key].(map[string]any); return m }
func (o object) list(key string) []object {
	var out []object
	all, _ := o[key].([]any)
	for _, e := range all {
		m, _ := e.(map[string]any)
		out = append(out, m)
	}
	return out
}

func (o object) texts(key string) []string {
	var out []string
	all, _ := o[key].([]any)
	for _, e := range all {
		s, _ := e.(string)
		out = append(out, s)
	}
	return out
}

const (
	invokePath = "/workspaces/default/invoke"
	streamPath = "/workspaces/default/invokeStream"
)

// say is the body of an invocation.
func say(agent, message string) string {
	b, err := json.Marshal(map[string]string{"agent": agent, "message": message})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// invoke invokes an agent and wants that to end, or to be suspended, well.
func (c *client) invoke(agent, message string) object {
	c.t.Helper()
	return c.post(invokePath, say(agent, message)).ok()
}

// suspend invokes an agent that asks, and returns the execution's id.
func (c *client) suspend(agent, message string) string {
	c.t.Helper()
	o := c.invoke(agent, message)
	require.Equal(c.t, "suspended", o["status"], o)
	return o.text("execution_id")
}

// execution reads one.
func (c *client) execution(id string) object { c.t.Helper(); return c.get("/executions/" + id).ok() }

// resume decides.
func (c *client) resume(id, body string) answer {
	c.t.Helper()
	return c.post("/executions/"+id+"/resume?workspace_id=default", body)
}

// becomes waits for a status, and returns the execution.
func (c *client) becomes(id, status string) (o object) {
	c.t.Helper()
	c.until("the execution is "+status, func() bool { o = c.execution(id); return o["status"] == status })
	return o
}

func (c *client) until(what string, done func() bool) {
	c.t.Helper()
	require.Eventually(c.t, done, 90*time.Second, 5*time.Millisecond, what)
}

// chunk is an event of a stream, with its id under "id".
type chunk = object

// chunks reads a stream to its end, or n of its events.
func chunks(t *testing.T, in io.Reader, n int) []chunk {
	t.Helper()
	var out []chunk
	var c chunk
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "":
			if c != nil {
				out = append(out, c)
			}
			if c = nil; n > 0 && len(out) == n {
				return out
			}
		case strings.HasPrefix(line, ":"):
		case name == "data":
			require.NoError(t, json.Unmarshal([]byte(value), &c), value)
		case name == "id":
			c["id"] = value
		default:
			require.Fail(t, "unknown line", line)
		}
	}
	require.NoError(t, lines.Err())
	return out
}

// stream reads a whole stream.
func (c *client) stream(body string) []chunk {
	c.t.Helper()
	a := c.post(streamPath, body).is(http.StatusOK)
	require.Equal(c.t, "text/event-stream", a.header.Get("Content-Type"))
	return chunks(c.t, strings.NewReader(a.body), 0)
}

func types(list []chunk) (out []string) {
	for _, c := range list {
		out = append(out, c.text("chunk_type"))
	}
	return out
}

// said is what the text chunks say.
func said(list []chunk) string {
	var b strings.Builder
	for _, c := range list {
		if c.text("chunk_type") == "text" {
			b.WriteString(c.text("content"))
		}
	}
	return b.String()
}
