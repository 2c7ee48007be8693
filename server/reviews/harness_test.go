package reviews_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
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
	dir, err := os.MkdirTemp("", "parley-reviews")
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
	people  map[string]*client
}

// on runs a test with one server on the embedded store, and with two on one Redis.
func on(t *testing.T, test func(t *testing.T, w *world), change ...func(*server.Options)) {
	t.Helper()
	t.Run("local", func(t *testing.T) {
		t.Parallel()
		test(t, single(t, change...))
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

// single is one server on an embedded store in memory.
func single(t *testing.T, change ...func(*server.Options)) *world {
	t.Helper()
	w := empty(t)
	w.start(server.Options{Ephemeral: true}, change)
	return w
}

// withoutPolicies serves agents without review policies only, so that the audit log begins empty.
func withoutPolicies(o *server.Options) {
	o.Agents = slices.DeleteFunc(o.Agents, func(a agent.Agent) bool {
		g, err := a.Graph(context.Background(), agent.Config{})
		return err == nil && len(g.ReviewRules()) > 0
	})
}

func empty(t *testing.T) *world {
	t.Helper()
	return &world{t: t, effects: &effects{done: map[string]int{}}, people: map[string]*client{}}
}

// start adds a server.
func (w *world) start(o server.Options, change []func(*server.Options)) {
	w.t.Helper()
	o.Agents, o.Logger = w.agents(), slog.New(slog.NewTextHandler(io.Discard, nil))
	o.WebhookInside = []string{"127.0.0.1"}
	for _, f := range change {
		f(&o)
	}
	s, err := server.New(o)
	require.NoError(w.t, err)
	require.NoError(w.t, s.Start(w.t.Context()))
	h := httptest.NewServer(s.Handler())
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		require.NoError(w.t, s.Shutdown(ctx))
		h.Close()
	})
	w.urls, w.servers = append(w.urls, h.URL), append(w.servers, s)
}

func (w *world) store() thread.ReviewStore { return w.servers[0].Service().ReviewStore() }

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

// staff are an operator, an owner and two reviewers.
func (w *world) staff() (op, owner, ann, bob *client) {
	w.t.Helper()
	return w.person("op", auth.RoleOperator), w.person("owner", auth.RoleOwner), w.person("ann", auth.RoleReviewer), w.person("bob", auth.RoleReviewer)
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
	require.Contains(a.t, o, "parameters")
	require.NotEmpty(a.t, o["reason"])
	return o
}

// field wants a failure that names a field.
func (a answer) field(status int, name string) object {
	a.t.Helper()
	o := a.is(status).json()
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

// suspend starts the agent on a new thread and returns the thread and its open reviews.
func (c *client) suspend(agent, message string) (threadID string, ids []string) {
	c.t.Helper()
	threadID = c.do(http.MethodPost, "/threads", "{}").ok().text("thread_id")
	body, err := json.Marshal(map[string]any{"assistant_id": agent, "input": map[string]any{"messages": []any{
		map[string]string{"type": "human", "content": message},
	}}})
	require.NoError(c.t, err)
	c.do(http.MethodPost, "/threads/"+threadID+"/runs/wait", string(body)).is(http.StatusOK)
	list, err := c.w.servers[c.server].Service().ThreadReviews(c.t.Context(), threadID)
	require.NoError(c.t, err)
	for _, r := range list {
		if r.Status.Open() {
			ids = append(ids, r.ID)
		}
	}
	require.NotEmpty(c.t, ids)
	return threadID, ids
}

// question suspends an agent that asks once, and returns the review.
func (c *client) question(agent, message string) (threadID, reviewID string) {
	c.t.Helper()
	threadID, ids := c.suspend(agent, message)
	require.Len(c.t, ids, 1)
	return threadID, ids[0]
}

// idle waits until nothing runs on the thread, and returns its state's values.
func (c *client) idle(threadID string) object {
	c.t.Helper()
	c.until("the thread is idle", func() bool { return c.do(http.MethodGet, "/threads/"+threadID, "").ok()["status"] == "idle" })
	return c.do(http.MethodGet, "/threads/"+threadID+"/state", "").ok().at("values")
}

func (c *client) until(what string, done func() bool) {
	c.t.Helper()
	require.Eventually(c.t, done, 90*time.Second, 5*time.Millisecond, what)
}
