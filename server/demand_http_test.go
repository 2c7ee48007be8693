package server_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/stream"
)

// D-62: headers and a first comment come while nothing has happened yet, also
// through a proxy; nothing invites anybody to compress or to keep them back.
func TestFirstBytesComeBeforeTheFirstEvent(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{}).as(map[string]string{"Accept-Encoding": "gzip, br, zstd"})
	target, err := url.Parse(c.url)
	require.NoError(t, err)
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:  func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // of streams that the test leaves
	})
	t.Cleanup(proxy.Close)
	for name, c := range map[string]*client{"direct": c, "through a proxy": {t, proxy.URL, c.headers}} {
		id := c.thread()
		waiting := c.start(id, `{"assistant_id":"echo","input":{},"after_seconds":600,"multitask_strategy":"enqueue"}`)
		for _, request := range [][3]string{
			{http.MethodPost, "/threads/" + id + "/runs/stream", `{"assistant_id":"echo","input":{},"after_seconds":600,"multitask_strategy":"enqueue"}`},
			{http.MethodPost, "/runs/stream", `{"assistant_id":"echo","input":{},"after_seconds":600}`},
			{http.MethodGet, "/threads/" + id + "/runs/" + waiting + "/stream", ""},
			{http.MethodGet, "/threads/" + id + "/stream", ""},
		} {
			r := c.read(request[0], request[1], request[2])
			line, err := r.in.ReadString('\n')
			require.NoError(t, err, name)
			require.Equal(t, ": heartbeat\n", line, name)
			h := r.res.Header
			require.Equal(t, "no-cache, no-transform", h.Get("Cache-Control"))
			require.Equal(t, "no", h.Get("X-Accel-Buffering"))
			require.Empty(t, h.Get("Content-Encoding"))
			require.Empty(t, h.Get("Content-Length"))
			require.NoError(t, r.res.Body.Close())
		}
	}
}

// D-08, D-61: a stream in which nothing happens says so every five seconds, so
// that proxies keep it and clients can tell a dead peer from a silent one.
func TestSilentStreamKeepsBeating(t *testing.T) {
	t.Parallel()
	require.Equal(t, 5*time.Second, stream.DefaultHeartbeat)
	c := serveTest(t, server.Options{})
	id := c.thread()
	r := c.read(http.MethodGet, "/threads/"+id+"/stream", "")
	last := time.Now()
	for i := range 3 {
		line, err := r.in.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, ": heartbeat\n", line, "one line end only: an empty line would make it an event")
		if i > 0 {
			require.Less(t, time.Since(last), 8*time.Second)
		}
		last = time.Now()
	}
	c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"echo","input":{}}`).ok()
	require.Equal(t, "metadata", r.frames(1)[0].event, "heartbeats stand between events")
}

// D-63: Connection: keep-alive is a header of HTTP/1.1 and forbidden in HTTP/2.
func TestConnectionHeaderIsForHTTP1Only(t *testing.T) {
	t.Parallel()
	s, err := server.New(server.Options{Agents: testAgents(), Ephemeral: true, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, s.Shutdown(context.Background())) })
	for major, want := range map[int]string{1: "keep-alive", 2: "", 3: ""} {
		for _, request := range [][3]string{
			{http.MethodPost, "/runs/stream", `{"assistant_id":"echo","input":{}}`},
			{http.MethodGet, "/threads/" + missingID + "/stream", ""},
			{http.MethodGet, "/runs/" + missingID + "/stream", ""},
		} {
			r := httptest.NewRequest(request[0], request[1], strings.NewReader(request[2]))
			r.ProtoMajor, r.ProtoMinor = major, 0
			r.RemoteAddr, r.Host = "127.0.0.1:1", "localhost"
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			require.Equal(t, http.StatusOK, w.Code)
			require.Equal(t, want, w.Header().Get("Connection"), "HTTP/%d %s", major, request[1])
		}
	}
}

// D-64: no timeout of the server's cuts a stream. Ours has none, and the one of a
// server around our handler is moved on with every write.
func TestWriteTimeoutOfTheServerCutsNoStream(t *testing.T) {
	t.Parallel()
	l := newLab()
	s, err := server.New(server.Options{Agents: []agent.Agent{l.held()}, Ephemeral: true, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	own := s.HTTPServer()
	require.Zero(t, own.WriteTimeout)
	require.Zero(t, own.ReadTimeout, "it would cut requests that stream")
	require.Positive(t, own.ReadHeaderTimeout)
	require.Positive(t, own.IdleTimeout)

	require.NoError(t, s.Start(t.Context()))
	around := httptest.NewUnstartedServer(s.Handler())
	around.Config.WriteTimeout = 500 * time.Millisecond // what a busy machine needs to begin a reply
	around.Start()
	t.Cleanup(func() {
		l.gate("held").open()
		require.NoError(t, s.Shutdown(context.Background()))
		around.Close()
	})
	c := &client{t: t, url: around.URL}
	id := c.thread()
	started := time.Now()
	r := c.read(http.MethodPost, "/threads/"+id+"/runs/stream", `{"assistant_id":"held","input":{},"stream_mode":["values","custom"]}`)
	wait := c.open(t.Context(), http.MethodGet, r.res.Header.Get("Content-Location")+"/join", "")
	result := bufio.NewReader(wait.Body)
	for range 2 { // line feeds, one a second
		b, err := result.ReadByte()
		require.NoError(t, err)
		require.Equal(t, byte('\n'), b)
	}
	require.Greater(t, time.Since(started), time.Second, "far beyond the timeout")
	l.gate("held").open()
	frames := r.rest()
	require.Equal(t, []any{"before", "waited"}, frames[len(frames)-1].json(t)["log"])
	rest, err := io.ReadAll(result)
	require.NoError(t, err)
	require.Contains(t, string(rest), `"waited"`)
	require.NoError(t, wait.Body.Close())
}

// D-66: over HTTP/2, with TLS or without, any number of streams and other
// requests share one connection; a shutdown aborts them there, too (D-01).
func TestManyStreamsShareOneHTTP2Connection(t *testing.T) {
	t.Parallel()
	plain := func(t *testing.T, s *server.Server) (string, *http.Transport) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		served := make(chan error, 1)
		go func() { served <- s.Serve(l) }()
		t.Cleanup(func() { require.NoError(t, <-served) })
		var p http.Protocols
		p.SetUnencryptedHTTP2(true)
		return "http://" + l.Addr().String(), &http.Transport{Protocols: &p}
	}
	encrypted := func(t *testing.T, s *server.Server) (string, *http.Transport) {
		require.NoError(t, s.Start(t.Context()))
		h := httptest.NewUnstartedServer(s.Handler())
		h.EnableHTTP2 = true
		h.StartTLS()
		t.Cleanup(h.Close)
		return h.URL, h.Client().Transport.(*http.Transport)
	}
	for name, serve := range map[string]func(*testing.T, *server.Server) (string, *http.Transport){"h2c": plain, "TLS": encrypted} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := server.New(server.Options{Agents: testAgents(), Ephemeral: true, H2C: true, Logger: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			base, transport := serve(t, s)
			defer transport.CloseIdleConnections()
			var mu sync.Mutex
			connections := map[string]bool{}
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
				mu.Lock()
				defer mu.Unlock()
				connections[i.Conn.LocalAddr().String()] = true
			}})
			send := func(method, path, body string) *http.Response {
				r, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(body))
				require.NoError(t, err)
				res, err := (&http.Client{Transport: transport}).Do(r)
				require.NoError(t, err)
				require.Equal(t, 2, res.ProtoMajor)
				require.Equal(t, http.StatusOK, res.StatusCode)
				return res
			}
			var streams []*reading
			for range 20 {
				res := send(http.MethodPost, "/runs/stream", `{"assistant_id":"slow","input":{"wait":600},"stream_mode":"custom"}`)
				r := newReading(t, res)
				require.Equal(t, []string{"metadata", "custom"}, events(r.frames(2)))
				streams = append(streams, r)
			}
			res := send(http.MethodPost, "/runs/wait", `{"assistant_id":"echo","input":{}}`)
			_, err = io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Len(t, connections, 1)

			grace, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer stop()
			_ = s.Shutdown(grace) // the runs don't end in this time
			for _, r := range streams {
				_, err := r.drain()
				require.Error(t, err)
				require.NotErrorIs(t, err, io.EOF, "no clean end")
				_ = r.res.Body.Close()
			}
		})
	}
}
