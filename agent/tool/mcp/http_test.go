package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/tool/mcp"
)

// remote is an MCP server over HTTP that can be taken away and brought back.
type remote struct {
	t       *testing.T
	addr    string
	http    *http.Server
	server  *sdk.Server
	done    chan struct{}
	calls   atomic.Int64
	slow    chan struct{} // closed to let "slow" go on
	began   chan struct{} // a value for each call of "slow"
	headers func(http.Header)
}

func newRemote(t *testing.T, opts *sdk.StreamableHTTPOptions) *remote {
	r := &remote{t: t, slow: make(chan struct{}), began: make(chan struct{}, 10)}
	r.start(opts)
	t.Cleanup(r.stop)
	return r
}

func (r *remote) start(opts *sdk.StreamableHTTPOptions) {
	addr := r.addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", addr)
	require.NoError(r.t, err)
	r.addr = l.Addr().String()
	server := sdk.NewServer(&sdk.Implementation{Name: "remote", Version: "1"}, nil)
	r.server = server
	r.t.Cleanup(func() {
		for session := range server.Sessions() {
			_ = session.Close()
		}
	})
	sdk.AddTool(server, &sdk.Tool{Name: "count"}, func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, any, error) {
		return text("%d", r.calls.Add(1)), nil, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "big"}, func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, any, error) {
		return text("%s", strings.Repeat("x", 2<<20)), nil, nil
	})
	wait := func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, any, error) {
		r.calls.Add(1)
		r.began <- struct{}{}
		<-r.slow
		return text("slept"), nil, nil
	}
	sdk.AddTool(server, &sdk.Tool{Name: "slow"}, wait)
	sdk.AddTool(server, &sdk.Tool{Name: "slow_reading", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, wait)
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, opts)
	r.http = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if r.headers != nil {
			r.headers(req.Header)
		}
		handler.ServeHTTP(w, req)
	})}
	r.done = make(chan struct{})
	go func() { defer close(r.done); _ = r.http.Serve(l) }()
}

// stop cuts all connections, as a kill would.
func (r *remote) stop() {
	_ = r.http.Close()
	<-r.done
}

// sessions is how many sessions the server knows.
func (r *remote) sessions() int { return len(slices.Collect(r.server.Sessions())) }

func (r *remote) config() mcp.ServerConfig {
	return mcp.ServerConfig{Name: "net", URL: "http://" + r.addr, Timeout: time.Minute, Logger: discard()}
}

// Both protocols: with sessions, and without.
var transports = map[string]*sdk.StreamableHTTPOptions{
	"stateful": nil, "stateless": {Stateless: true}, "json": {Stateless: true, JSONResponse: true},
}

func TestAServerOverHTTPThatIsRestarted(t *testing.T) {
	t.Parallel()
	for name, opts := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t, opts)
			s := connect(t, r.config())
			require.Equal(t, "1", call(t, s, "net_count", `{}`).Text())
			r.stop()
			m := call(t, s, "net_count", `{}`)
			require.Equal(t, "error", m.Status)
			require.Regexp(t, "was not called|isn't known whether", m.Text(), "by when the end of the connection was seen")
			r.start(opts) // knows nothing of the session
			require.Equal(t, "2", call(t, s, "net_count", `{}`).Text())
		})
	}
}

// The server has forgotten the session, but is there: 404.
func TestASessionThatExpiredIsMadeAgain(t *testing.T) {
	t.Parallel()
	r := newRemote(t, nil)
	s := connect(t, r.config())
	for i := range 3 {
		require.Equal(t, fmt.Sprint(i+1), call(t, s, "net_count", `{}`).Text())
		for session := range r.server.Sessions() {
			require.NoError(t, session.Close())
		}
		require.Eventually(t, func() bool { return r.sessions() == 0 }, patience, 10*time.Millisecond)
	}
}

// The statuses that servers and what stands before them answer with.
func TestWhatStatusesMeanForACall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		says   string
	}{
		"404 is the end of the session":        {404, "", "^2$"},
		"so is 400 with a word about it":       {400, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`, "^2$"},
		"another 400 is a refusal":             {400, "what?", "was not called: the server answered 400 Bad Request"},
		"so is 403":                            {403, "", "was not called: the server answered 403 Forbidden"},
		"after 502 nobody knows":               {502, "", "502 Bad Gateway; it isn't known whether"},
		"an error of the protocol is its word": {400, `{"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"no such page"}}`, "net.count: no such page"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t, nil)
			var once atomic.Bool
			target, err := url.Parse("http://" + r.addr)
			require.NoError(t, err)
			proxy := httputil.NewSingleHostReverseProxy(target)
			proxy.FlushInterval = -1
			front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				body, _ := io.ReadAll(req.Body)
				if strings.Contains(string(body), `"tools/call"`) && r.calls.Load() == 1 && once.CompareAndSwap(false, true) {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(c.status)
					fmt.Fprint(w, c.body)
					return
				}
				req.Body = io.NopCloser(strings.NewReader(string(body)))
				proxy.ServeHTTP(w, req)
			}))
			t.Cleanup(func() { front.CloseClientConnections(); front.Close() })
			cfg := r.config()
			cfg.URL = front.URL
			s := connect(t, cfg)
			require.Equal(t, "1", call(t, s, "net_count", `{}`).Text())
			require.Regexp(t, c.says, call(t, s, "net_count", `{}`).Text())
		})
	}
}

func TestAServerOverHTTPThatDiesInMidCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		calls int64
		says  string
	}{
		"net_slow": {1, "isn't known whether the call took effect"}, "net_slow_reading": {2, "slept"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t, nil)
			s := connect(t, r.config())
			said := make(chan string, 1)
			th := thread(t, s.Tools(), name, `{}`)
			go func() {
				_, _ = th.Run(t.Context(), map[string]any{"messages": "go"})
				said <- last(t, th).Text()
			}()
			<-r.began
			r.stop()
			r.start(nil)
			close(r.slow)
			require.Contains(t, <-said, c.says)
			require.Equal(t, c.calls, r.calls.Load())
		})
	}
}

func TestHeadersGoToTheServerAlone(t *testing.T) {
	t.Parallel()
	var foreign atomic.Value
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		foreign.Store(r.Header.Clone())
	}))
	t.Cleanup(elsewhere.Close)
	var redirect atomic.Bool
	var own atomic.Value
	r := newRemote(t, nil)
	target := "http://" + r.addr
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		own.Store(req.Header.Clone())
		if redirect.Load() {
			http.Redirect(w, req, elsewhere.URL, http.StatusTemporaryRedirect)
			return
		}
		body, _ := io.ReadAll(req.Body)
		fwd, _ := http.NewRequestWithContext(req.Context(), req.Method, target, strings.NewReader(string(body)))
		fwd.Header = req.Header
		resp, err := http.DefaultTransport.RoundTrip(fwd)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		for k, v := range resp.Header {
			w.Header()[k] = v
		}
		w.WriteHeader(resp.StatusCode)
		w.(http.Flusher).Flush()
		_, _ = io.Copy(w, resp.Body)
	}))
	t.Cleanup(front.Close)
	log, out := logs()
	s := connect(t, mcp.ServerConfig{
		Name: "net", URL: front.URL + "/mcp?key=query-secret", Headers: map[string]string{"Authorization": "Bearer token-secret"}, Logger: log,
	})
	require.Equal(t, "1", call(t, s, "net_count", `{}`).Text())
	require.Equal(t, "Bearer token-secret", own.Load().(http.Header).Get("Authorization"))
	redirect.Store(true)
	m := call(t, s, "net_count", `{}`)
	require.Equal(t, "error", m.Status)
	require.NotNil(t, foreign.Load(), "the redirect was followed")
	require.Empty(t, foreign.Load().(http.Header).Get("Authorization"))
	front.CloseClientConnections()
	redirect.Store(false)
	r.stop()
	m2 := call(t, s, "net_count", `{}`)
	require.Equal(t, "error", m2.Status)
	require.NotContains(t, m.Text()+m2.Text()+out.String(), "secret")
}

func TestSecretsInTheAddressAreNoPartOfErrors(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	log, out := logs()
	_, err = mcp.Connect(t.Context(), mcp.ServerConfig{
		Name: "net", URL: "http://ann:pass-secret@" + addr + "/?token=query-secret", Logger: log,
	})
	require.ErrorContains(t, err, `server "net" is down`)
	require.ErrorContains(t, err, "connection refused")
	require.NotContains(t, err.Error()+out.String(), "secret")
}

func TestHugeResultsOverHTTP(t *testing.T) {
	t.Parallel()
	for name, opts := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t, opts)
			cfg := r.config()
			cfg.MaxMessage = 1 << 20
			cfg.Timeout = 20 * time.Second
			s := connect(t, cfg)
			m := call(t, s, "net_big", `{}`)
			require.Equal(t, "error", m.Status)
			require.Regexp(t, "message too large|exceeded 1048576 bytes", m.Text())
			require.Contains(t, m.Text(), "isn't known whether the call took effect")
			require.Equal(t, "1", call(t, s, "net_count", `{}`).Text())
		})
	}
}

func TestAnHTTPServerThatNeverAnswers(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(web.Close)
	t.Cleanup(func() { close(stop) })
	_, err := mcp.Connect(t.Context(), mcp.ServerConfig{Name: "net", URL: web.URL, ConnectTimeout: 200 * time.Millisecond, Logger: discard()})
	require.ErrorContains(t, err, "no answer within the connect timeout")
}

func TestSomethingElseThanAnMCPServer(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]http.HandlerFunc{
		"web page":     func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"nothing":      http.NotFound,
		"unauthorized": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		"json": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"hello":"world"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := httptest.NewServer(h)
			t.Cleanup(web.Close)
			_, err := mcp.Connect(t.Context(), mcp.ServerConfig{Name: "net", URL: web.URL, ConnectTimeout: 20 * time.Second, Logger: discard()})
			require.ErrorContains(t, err, `server "net" is down`)
			require.NotContains(t, err.Error(), "timeout")
		})
	}
}

// A form that a tool asks for becomes an interrupt; its answer goes on with the same call.
func TestAToolAsksTheUser(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	server := sdk.NewServer(&sdk.Implementation{Name: "asking", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "book", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		calls.Add(1)
		answer, ok := r.Params.InputResponses["seat"].(*sdk.ElicitResult)
		if !ok {
			return &sdk.CallToolResult{RequestState: "state-1", InputRequests: sdk.InputRequestMap{"seat": &sdk.ElicitParams{
				Message:         "Which seat?",
				RequestedSchema: map[string]any{"type": "object", "required": []string{"seat"}, "properties": map[string]any{"seat": map[string]any{"type": "string"}}},
			}}}, nil
		}
		return text("%s %s %v", r.Params.RequestState, answer.Action, answer.Content["seat"]), nil
	})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(web.Close)

	declined := connect(t, mcp.ServerConfig{Name: "ask", URL: web.URL, Logger: discard()})
	m := call(t, declined, "ask_book", `{}`)
	require.Equal(t, "error", m.Status)
	require.Contains(t, m.Text(), "wants to ask the user")

	s := connect(t, mcp.ServerConfig{Name: "ask", URL: web.URL, Elicit: true, Logger: discard()})
	before := calls.Load()
	th := thread(t, s.Tools(), "ask_book", `{}`)
	res, err := th.Run(t.Context(), map[string]any{"messages": "go"})
	require.NoError(t, err)
	require.True(t, res.Suspended)
	require.JSONEq(t, `{"type":"mcp_elicitation","server":"ask","tool":"book","message":"Which seat?",
		"requestedSchema":{"type":"object","required":["seat"],"properties":{"seat":{"type":"string"}}}}`, string(th.Pending()[0].Value))
	_, err = th.Resume(t.Context(), map[string]any{"action": "accept", "content": map[string]any{"seat": 7}})
	var refused *agent.ResumeError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, agent.InvalidAnswer, refused.Code, "the form's schema holds")
	require.Len(t, th.Pending(), 1)
	_, err = th.Resume(t.Context(), map[string]any{"action": "accept", "content": map[string]any{"seat": "12A"}})
	require.NoError(t, err)
	require.Equal(t, "state-1 accept 12A", last(t, th).Text())
	require.Equal(t, before+2, calls.Load(), "the first exchange isn't repeated")
}
