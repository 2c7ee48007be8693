package replicatest

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
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/thread/redis"
	"github.com/parley-dev/parley/thread/redis/redistest"
)

// shared is the Redis of the package's tests.
var shared *redistest.Server

func TestMain(m *testing.M) {
	if url := os.Getenv(childRedis); url != "" {
		println("replica:", beReplica(url, os.Getenv(childPrefix)).Error())
		os.Exit(3)
	}
	dir, err := os.MkdirTemp("", "parley-replicas")
	if err == nil {
		shared, err = redistest.New(dir)
	}
	if err != nil {
		println("skipped:", err.Error(), "(install redis-server, Debian: apt-get install redis-server)")
		os.Exit(0)
	}
	code := m.Run()
	shared.Stop()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// replica is one of several servers.
type replica struct {
	t   testing.TB
	url string
	s   *server.Server
}

// options are those of a server whose data is in the given part of the shared Redis.
func options(prefix string) server.Options {
	return server.Options{
		Agents: agents(), Redis: redis.Options{URL: shared.URL(), Prefix: prefix},
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// newPrefix is a part of the shared Redis that no other test uses.
func newPrefix() string { return "test:" + uuid.NewString()[:8] + ":" }

// replicas starts n servers that share their data.
func replicas(t testing.TB, n int, change ...func(i int, o *server.Options)) []*replica {
	t.Helper()
	prefix := newPrefix()
	list := make([]*replica, n)
	for i := range list {
		o := options(prefix)
		for _, f := range change {
			f(i, &o)
		}
		list[i] = start(t, o)
	}
	return list
}

func start(t testing.TB, o server.Options) *replica {
	t.Helper()
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
	return &replica{t: t, url: h.URL, s: s}
}

// do sends a request and reads the JSON reply.
func (r *replica) do(method, path, body string) (status int, reply map[string]any) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 60*time.Second)
	defer cancel()
	res := r.open(ctx, method, path, body)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(r.t, err)
	_ = json.Unmarshal(b, &reply) // lists and texts aren't looked at
	return res.StatusCode, reply
}

func (r *replica) open(ctx context.Context, method, path, body string) *http.Response {
	r.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, r.url+path, strings.NewReader(body))
	require.NoError(r.t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(r.t, err)
	return res
}

func (r *replica) ok(method, path, body string) map[string]any {
	r.t.Helper()
	status, reply := r.do(method, path, body)
	require.Less(r.t, status, 300, "%s %s: %v", method, path, reply)
	return reply
}

func (r *replica) thread() string {
	r.t.Helper()
	return r.ok(http.MethodPost, "/threads", "{}")["thread_id"].(string)
}

// start creates a background run.
func (r *replica) start(threadID, body string) string {
	r.t.Helper()
	return r.ok(http.MethodPost, "/threads/"+threadID+"/runs", body)["run_id"].(string)
}

func (r *replica) status(threadID, runID string) string {
	r.t.Helper()
	status, _ := r.ok(http.MethodGet, "/threads/"+threadID+"/runs/"+runID, "")["status"].(string)
	return status
}

// frame is one server-sent event.
type frame struct{ event, id, data string }

// reading is a stream under way.
type reading struct {
	t      testing.TB
	res    *http.Response
	frames chan frame
	end    context.CancelFunc
}

// read opens a stream.
func (r *replica) read(method, path, body string) *reading {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	rd := &reading{t: r.t, res: r.open(ctx, method, path, body), frames: make(chan frame, 1024), end: cancel}
	require.Equal(r.t, http.StatusOK, rd.res.StatusCode)
	go rd.run()
	r.t.Cleanup(func() { cancel(); _ = rd.res.Body.Close() })
	return rd
}

func (rd *reading) run() {
	defer close(rd.frames)
	lines := bufio.NewScanner(rd.res.Body)
	lines.Buffer(nil, 1<<20)
	var f frame
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case lines.Text() == "":
			if f != (frame{}) {
				rd.frames <- f
			}
			f = frame{}
		case name == "event":
			f.event = value
		case name == "data":
			f.data = value
		case name == "id":
			f.id = value
		}
	}
}

// next waits for a frame whose event and data hold the texts.
func (rd *reading) next(event, text string) frame {
	rd.t.Helper()
	deadline := time.After(60 * time.Second)
	for {
		select {
		case f, ok := <-rd.frames:
			require.True(rd.t, ok, "the stream has ended before %s %s", event, text)
			if f.event == event && strings.Contains(f.data, text) {
				return f
			}
		case <-deadline:
			require.Fail(rd.t, "no frame", "%s %s", event, text)
		}
	}
}

// rest reads the stream to its end.
func (rd *reading) rest() (list []frame) {
	rd.t.Helper()
	deadline := time.After(60 * time.Second)
	for {
		select {
		case f, ok := <-rd.frames:
			if !ok {
				return list
			}
			list = append(list, f)
		case <-deadline:
			require.Fail(rd.t, "the stream does not end")
		}
	}
}

func (r *replica) until(what string, done func() bool) {
	r.t.Helper()
	require.Eventually(r.t, done, 60*time.Second, 5*time.Millisecond, what)
}

// state is that of the test's graphs.
type state struct {
	Note   string   `json:"note"`
	Answer any      `json:"answer"`
	Log    []string `json:"log" agent:"append"`
	Wait   float64  `json:"wait"`
	Count  int      `json:"count"`
}

func agents() []agent.Agent {
	note := func(text string) func(agent.Context, state) (agent.Update, error) {
		return func(agent.Context, state) (agent.Update, error) { return agent.Values{"log": []string{text}}, nil }
	}
	ask := func(ctx agent.Context, _ state) (agent.Update, error) {
		got, err := agent.Interrupt[any](ctx, map[string]string{"ask": "ok?"})
		if err != nil {
			return nil, err
		}
		return agent.Values{"answer": got, "log": []string{"answered"}}, nil
	}
	pause := func(ctx agent.Context, s state) (agent.Update, error) {
		ctx.Write(map[string]string{"phase": "waiting"})
		if err := ctx.Sleep(time.Duration(s.Wait * float64(time.Second))); err != nil {
			return nil, err
		}
		return agent.Values{"log": []string{"waited"}}, nil
	}
	tick := func(ctx agent.Context, s state) (agent.Update, error) {
		for i := range s.Count {
			ctx.Write(map[string]int{"tick": i})
			if err := ctx.Sleep(time.Millisecond); err != nil {
				return nil, err
			}
		}
		return agent.Values{"log": []string{"ticked"}}, nil
	}
	return []agent.Agent{
		agent.NewGraph[state]("ask").Node("ask", ask).Node("after", note("done")).
			Edge(agent.Start, "ask").Edge("ask", "after").Edge("after", agent.End).MustCompile(),
		agent.NewGraph[state]("slow").Node("first", note("first")).Node("pause", pause).
			Edge(agent.Start, "first").Edge("first", "pause").Edge("pause", agent.End).MustCompile(),
		agent.NewGraph[state]("ticks").Node("tick", tick).Edge(agent.Start, "tick").Edge("tick", agent.End).MustCompile(),
	}
}

// log is what the graph on the thread has noted.
func (r *replica) log(threadID string) []any {
	r.t.Helper()
	values, _ := r.ok(http.MethodGet, "/threads/"+threadID+"/state", "")["values"].(map[string]any)
	list, _ := values["log"].([]any)
	return list
}

// serving is a server that the test shuts down itself.
func serving(t *testing.T, s *server.Server) *replica {
	t.Helper()
	h := httptest.NewServer(s.Handler())
	t.Cleanup(h.Close)
	return &replica{t: t, url: h.URL, s: s}
}

// expired is a context whose time is over.
func expired(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}
