package server_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	apikeys "github.com/parley-dev/parley/server/auth/keys"
)

// The caller without a key is somebody on this machine, and nobody who only seems to be.
func TestAnonymousCallersAreOnThisMachine(t *testing.T) {
	t.Parallel()
	serve := func(o server.Options) *server.Server {
		o.Agents, o.Ephemeral, o.Logger = testAgents(), true, slog.New(slog.DiscardHandler)
		s, err := server.New(o)
		require.NoError(t, err)
		require.NoError(t, s.Start(t.Context()))
		t.Cleanup(func() { require.NoError(t, s.Shutdown(context.Background())) })
		return s
	}
	plain := serve(server.Options{})
	insecure := serve(server.Options{Identity: server.Identity{InsecureAnonymous: true}})
	named := serve(server.Options{CORS: server.CORS{AllowOrigins: []string{"https://app.example"}}})
	pattern := serve(server.Options{CORS: server.CORS{AllowOriginRegex: `https://.*\.app\.example`}})
	for name, tt := range map[string]struct {
		s      *server.Server
		peer   string // default: 127.0.0.1:1
		host   string // default: localhost:2024
		header http.Header
		want   int
	}{
		"here":                        {want: 200},
		"here, IPv6":                  {peer: "[::1]:1", host: "[::1]:2024", want: 200},
		"here, by address":            {host: "127.0.0.1:2024", want: 200},
		"here, below localhost":       {host: "app.localhost", want: 200},
		"elsewhere":                   {peer: "192.0.2.1:1", want: 401},
		"no address":                  {peer: "@", want: 401},
		"a name that points here":     {host: "evil.example:2024", want: 401}, // DNS rebinding
		"an address that points here": {host: "192.0.2.7:2024", want: 401},
		"localhost in a name":         {host: "localhost.evil.example", want: 401},
		"own page":                    {header: http.Header{"Origin": {"http://localhost:5173"}}, want: 200},
		"own page, by address":        {header: http.Header{"Origin": {"http://127.0.0.1:5173"}}, want: 200},
		"page of another site":        {header: http.Header{"Origin": {"https://evil.example"}}, want: 403},
		"page of no site":             {header: http.Header{"Origin": {"null"}}, want: 403},
		"page that is allowed":        {s: named, header: http.Header{"Origin": {"https://app.example"}}, want: 200},
		"page like one":               {s: named, header: http.Header{"Origin": {"https://app.example.evil.example"}}, want: 403},
		"page by a pattern":           {s: pattern, header: http.Header{"Origin": {"https://a.app.example"}}, want: 200},
		"page beside the pattern":     {s: pattern, header: http.Header{"Origin": {"https://a.app.example.evil.example"}}, want: 403},
		"proxy for this machine":      {header: http.Header{"X-Forwarded-For": {"127.0.0.1"}}, want: 200},
		"proxy for others":            {header: http.Header{"X-Forwarded-For": {"192.0.2.1"}}, want: 401},
		"proxies for others":          {header: http.Header{"X-Forwarded-For": {"192.0.2.1, 127.0.0.1"}}, want: 401},
		"proxy for others, by nginx":  {header: http.Header{"X-Real-Ip": {"192.0.2.1"}}, want: 401},
		"proxy for who knows":         {header: http.Header{"X-Forwarded-For": {"unknown"}}, want: 401},
		"proxy of the standard":       {header: http.Header{"Forwarded": {"for=192.0.2.1"}}, want: 401},
		"insecure":                    {s: insecure, peer: "192.0.2.1:1", host: "evil.example", header: http.Header{"Origin": {"https://evil.example"}}, want: 200},
		"somebody else's key":         {header: http.Header{"X-Api-Key": {"lsv2_sk_1"}, "Authorization": {"Bearer x"}}, want: 200},
	} {
		s := tt.s
		if s == nil {
			s = plain
		}
		r := httptest.NewRequest(http.MethodPost, "/threads", strings.NewReader("{}"))
		r.RemoteAddr, r.Host = "127.0.0.1:1", "localhost:2024"
		if tt.peer != "" {
			r.RemoteAddr = tt.peer
		}
		if tt.host != "" {
			r.Host = tt.host
		}
		for k, v := range tt.header {
			r.Header[k] = v
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		require.Equal(t, tt.want, w.Code, "%s: %s", name, w.Body)
	}
}

func TestTheFirstKeyEndsAnonymity(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	require.Equal(t, "anonymous", c.get("/api/v1/session").ok().str("kind"))
	thread := c.thread()
	made := c.post("/api/v1/projects/default/keys", `{"name":"ada","roles":["owner"]}`).is(http.StatusCreated)
	c.get("/threads/" + thread).is(http.StatusUnauthorized)
	ada := c.as(bearer(made.str("key")))
	ada.get("/threads/" + thread).ok() // what nobody's project was made in is the default one's
	require.Equal(t, "key", ada.get("/api/v1/session").ok().str("kind"))
	ada.do(http.MethodDelete, "/api/v1/projects/default/keys/"+made.str("id"), "").ok()
	c.get("/threads/" + thread).is(http.StatusUnauthorized)
}

func TestServingOthersNeedsAKey(t *testing.T) {
	t.Parallel()
	listen := func(o server.Options, address string) error {
		o.Ephemeral, o.Logger = true, slog.New(slog.NewTextHandler(io.Discard, nil))
		s, err := server.New(o)
		require.NoError(t, err)
		l, err := net.Listen("tcp", address)
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() { done <- s.Serve(l) }()
		res, err := http.Get("http://" + net.JoinHostPort("127.0.0.1", port(l)) + "/livez") //nolint:noctx // a test
		if err == nil {
			require.NoError(t, res.Body.Close())
		}
		require.NoError(t, s.Shutdown(context.Background()))
		return <-done
	}
	_, key := apikeys.New()
	require.NoError(t, listen(server.Options{}, "127.0.0.1:0"))
	require.ErrorContains(t, listen(server.Options{}, ":0"), "--insecure-anonymous")
	require.NoError(t, listen(server.Options{Identity: server.Identity{InsecureAnonymous: true}}, ":0"))
	require.NoError(t, listen(server.Options{Identity: server.Identity{BootstrapKey: key}}, ":0"))
	require.NoError(t, listen(server.Options{Auth: tenants()}, ":0"))
	_, err := server.New(server.Options{Ephemeral: true, Identity: server.Identity{BootstrapKey: "change-me"}})
	require.ErrorIs(t, err, apikeys.ErrFormat)
	require.NotContains(t, err.Error(), "change-me")
}

func port(l net.Listener) string {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
