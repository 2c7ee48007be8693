package server_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/server/auth"
)

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	allow := func(context.Context, *auth.Event) (auth.Filter, error) { return nil, nil }
	for name, o := range map[string]server.Options{
		"credentials for all":   {CORS: server.CORS{AllowCredentials: true}},
		"bad proxy range":       {TrustedProxies: []string{"10.0.0.0"}},
		"misspelt authoriser":   {Auth: &auth.Hooks{On: map[string]auth.Authorizer{"thread": allow}}},
		"two agents, one name":  {Agents: append(testAgents(), testAgents()[0])},
		"an agent with no name": {Agents: []agent.Agent{agent.Factory{}}},
		"a graph with a fault":  {Agents: []agent.Agent{agent.NewGraph[struct{}]("faulty").Edge(agent.Start, "nowhere")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.Ephemeral = true
			_, err := server.New(o)
			require.Error(t, err)
		})
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{Limits: server.Limits{Body: 1000, Depth: 5, Page: 20}})
	c.post("/threads", `{"metadata":{"x":"`+strings.Repeat("a", 1000)+`"}}`).text(http.StatusRequestEntityTooLarge, "Request body too large")
	c.post("/threads", `{"metadata":[[[[[[]]]]]]}`).fault()
	c.post("/threads/search", `{"limit":21}`).fault("limit")
	c.post("/threads", `{"metadata":{"x":"a"}}`).ok()
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	c.get("/ok").ok()
	c.get("/nowhere").is(http.StatusNotFound)
	c.post("/threads/"+c.thread()+"/runs/wait", `{"assistant_id":"echo","input":{}}`).ok()
	page := c.get("/metrics").ok().body
	require.Contains(t, page, `parley_http_requests_total{method="GET",status="200"} 1`)
	require.Contains(t, page, `parley_http_requests_total{method="GET",status="404"} 1`)
	require.Contains(t, page, `parley_http_request_seconds_count{method="POST"} 1`, "a wait is no latency")
	require.Contains(t, page, "parley_http_streams 0")
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(page))
	require.NoError(t, err)
	require.Contains(t, families, "go_goroutines")
	h := families["parley_http_request_seconds"].GetMetric()[0].GetHistogram()
	require.Len(t, h.GetBucket(), 12)
	require.Equal(t, h.GetSampleCount(), h.GetBucket()[11].GetCumulativeCount())
}

// syncBuffer is a buffer for several goroutines.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// running is a server on a port of its own.
func running(t *testing.T, o server.Options) (*server.Server, *client, chan error) {
	t.Helper()
	if o.Agents == nil {
		o.Agents = testAgents()
	}
	o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	s, err := server.New(o)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	return s, &client{t: t, url: "http://" + l.Addr().String()}, served
}

func TestShutdownCutsStreamsAndKeepsRuns(t *testing.T) { // design 3.12, decisions 11
	t.Parallel()
	dir := t.TempDir()
	s, c, served := running(t, server.Options{DataDir: dir})
	id := c.thread()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	body := `{"assistant_id":"slow","input":{"wait":1.5,"note":"kept"},"on_disconnect":"cancel"}`
	stream := c.open(ctx, http.MethodPost, "/threads/"+id+"/runs/stream", body)
	wait := c.open(ctx, http.MethodGet, stream.Header.Get("Content-Location")+"/join", "")
	c.until("running", func() bool { return c.get("/threads/" + id + "/runs").ok().list()[0]["status"] == "running" })

	grace, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer stop()
	require.NoError(t, s.Shutdown(grace))
	require.NoError(t, <-served)
	for _, res := range []*http.Response{stream, wait} {
		_, err := io.ReadAll(res.Body)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "no clean end: the client must come again")
		require.NoError(t, res.Body.Close())
	}

	s, c, served = running(t, server.Options{DataDir: dir})
	v := c.get(stream.Header.Get("Content-Location") + "/join").ok().json()
	require.Equal(t, []any{"waited"}, v["log"], "the run went on: a shutdown is no disconnect")
	require.Equal(t, "kept", v["note"])
	require.NoError(t, s.Shutdown(t.Context()))
	require.NoError(t, <-served)
}

func TestShutdownBeforeServe(t *testing.T) {
	t.Parallel()
	s, err := server.New(server.Options{Agents: testAgents(), Ephemeral: true})
	require.NoError(t, err)
	require.NoError(t, s.Shutdown(t.Context()))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.Error(t, s.Serve(l))
}
