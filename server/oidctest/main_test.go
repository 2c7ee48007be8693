package oidctest

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/server/auth/oidc"
	"github.com/parley-dev/parley/server/auth/token"
	"github.com/parley-dev/parley/thread/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a condition may take on a loaded machine.
const patience = time.Minute

// provider starts the identity provider for servers at these addresses; env are further settings of provider.mjs.
func provider(t *testing.T, apps string, env ...string) (issuer string, stop func()) {
	t.Helper()
	_, err := os.Stat(filepath.FromSlash("node_modules/oidc-provider/package.json"))
	if _, missing := exec.LookPath("node"); err != nil || missing != nil {
		if os.Getenv("PARLEY_OIDC") == "required" {
			t.Fatal("oidc-provider isn't installed")
		}
		t.Skip("npm's oidc-provider isn't installed: run make test-oidc (needs Node.js 20 or newer with npm)")
	}
	cmd := exec.Command("node", "provider.mjs")
	cmd.Env = append(append(os.Environ(), "APPS="+apps), env...)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			_ = in.Close()
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(stop)
	var said struct{ Issuer string }
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(line), &said))
	return said.Issuer, stop
}

// app is a server to sign in to, under one name, with one process behind it or several.
type app struct {
	t      *testing.T
	url    string
	issuer string
	stop   func() // of the provider
}

// serve starts the provider and the server's processes; change adapts their options.
func serve(t *testing.T, clientID string, processes int, change func(*server.Options), env ...string) *app {
	t.Helper()
	front, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	a := &app{t: t, url: "http://localhost:" + port(front)}
	a.issuer, a.stop = provider(t, a.url, env...)
	store, err := local.Open(t.Context(), local.Options{Ephemeral: true})
	require.NoError(t, err)
	var behind []*url.URL
	for n := range processes {
		o := server.Options{
			Store: store, Logger: slog.New(slog.DiscardHandler), Announce: server.Announce{PublicURL: a.url},
			Identity: server.Identity{
				Tokens: &token.Options{Issuer: a.issuer}, OIDC: &oidc.Options{ClientID: clientID, Name: "the tests' provider"},
			},
		}
		if n > 0 {
			o.Store = lent{store}
		}
		if clientID == "confidential" || clientID == "posting" {
			o.Identity.OIDC.ClientSecret = "a secret of the tests"
		}
		if change != nil {
			change(&o)
		}
		behind = append(behind, run(t, o))
	}
	var turn atomic.Int64
	proxy := &http.Server{ReadHeaderTimeout: patience, Handler: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(behind[int(turn.Add(1))%len(behind)])
		r.Out.Host = r.In.Host
		r.Out.Header["X-Forwarded-Proto"] = r.In.Header["X-Forwarded-Proto"]
	}, Transport: &http.Transport{DisableKeepAlives: true}}}
	go func() { _ = proxy.Serve(front) }()
	t.Cleanup(func() { require.NoError(t, proxy.Close()) })
	return a
}

// run serves one process.
func run(t *testing.T, o server.Options) *url.URL {
	t.Helper()
	s, err := server.New(o)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, s.Shutdown(ctx))
		require.NoError(t, <-done)
	})
	return &url.URL{Scheme: "http", Host: l.Addr().String()}
}

// lent is a store that another server closes.
type lent struct{ *local.Store }

func (lent) Close() error { return nil }

func port(l net.Listener) string {
	_, p, _ := net.SplitHostPort(l.Addr().String())
	return p
}

// browser follows no redirects by itself, and keeps cookies.
type browser struct {
	*app
	http *http.Client
}

func (a *app) browser() *browser {
	jar, err := cookiejar.New(nil)
	require.NoError(a.t, err)
	transport := &http.Transport{}
	a.t.Cleanup(transport.CloseIdleConnections)
	return &browser{a, &http.Client{Jar: jar, Timeout: patience, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// reply is what came back.
type reply struct {
	status  int
	address *url.URL // that was asked
	next    string   // where to
	body    string
	cookies []*http.Cookie
}

func (b *browser) do(method, address string, form url.Values, headers ...string) reply {
	b.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, address, body)
	require.NoError(b.t, err)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := b.http.Do(r)
	require.NoError(b.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(b.t, err)
	out := reply{status: res.StatusCode, address: r.URL, body: string(text), cookies: res.Cookies()}
	if next, err := res.Location(); err == nil {
		out.next = next.String()
	}
	return out
}

// page asks as pages of the server do.
func (b *browser) page(method, path string) reply {
	b.t.Helper()
	return b.do(method, b.url+path, nil, "Sec-Fetch-Site", "same-origin")
}

// follow goes where redirects lead, while they lead to the provider.
func (b *browser) follow(r reply) reply {
	b.t.Helper()
	for strings.HasPrefix(r.next, b.issuer+"/") {
		r = b.do(http.MethodGet, r.next, nil)
	}
	return r
}

var (
	formAction = regexp.MustCompile(`<form[^>]*action="([^"]+)"`)
	cancelLink = regexp.MustCompile(`<a href="([^"]+/abort)"`)
	hidden     = regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)"`)
)

// submit fills in the form of a page of the provider.
func (b *browser) submit(r reply, fields ...string) reply {
	b.t.Helper()
	action := formAction.FindStringSubmatch(r.body)
	require.NotNil(b.t, action, "%d %s %s: %s", r.status, r.address, r.next, r.body)
	form := url.Values{}
	for _, input := range hidden.FindAllStringSubmatch(r.body, -1) {
		form.Set(input[1], input[2])
	}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	at, err := r.address.Parse(action[1])
	require.NoError(b.t, err)
	return b.follow(b.do(http.MethodPost, at.String(), form))
}

// start begins to sign in: the provider's first page.
func (b *browser) start(back string) reply {
	b.t.Helper()
	r := b.do(http.MethodGet, b.url+"/api/v1/session/oidc/start?return="+url.QueryEscape(back), nil)
	require.Equal(b.t, http.StatusSeeOther, r.status, r.body)
	return b.follow(r)
}

// answer is the address of the callback to which the provider sends somebody who signs in there.
func (b *browser) answer(name, back string) string {
	b.t.Helper()
	r := b.start(back)
	for range 3 { // login, consent
		if strings.HasPrefix(r.next, b.url+"/") {
			return r.next
		}
		r = b.submit(r, "login", name, "password", "x")
	}
	require.Failf(b.t, "not sent back", "%d %s: %s", r.status, r.address, r.body)
	return ""
}

// signIn signs somebody in, and returns where the browser is then.
func (b *browser) signIn(name, back string) string {
	b.t.Helper()
	r := b.do(http.MethodGet, b.answer(name, back), nil)
	require.Equal(b.t, http.StatusSeeOther, r.status, r.body)
	return strings.TrimPrefix(r.next, b.url)
}

// me is who the server takes the browser for; nil for nobody.
func (b *browser) me() map[string]any {
	b.t.Helper()
	r := b.page(http.MethodGet, "/api/v1/session")
	if r.status == http.StatusUnauthorized {
		return nil
	}
	require.Equal(b.t, http.StatusOK, r.status, r.body)
	var m map[string]any
	require.NoError(b.t, json.Unmarshal([]byte(r.body), &m))
	return m
}

// cookie is the value of a cookie that the browser holds for the server.
func (b *browser) cookie(name string) string {
	b.t.Helper()
	for _, c := range b.http.Jar.Cookies(must(url.Parse(b.url))) {
		if c.Name == name {
			return c.Value
		}
	}
	require.Failf(b.t, "no such cookie", name)
	return ""
}

// put has the browser hold another value, or with "" none.
func (b *browser) put(name, value string) {
	b.t.Helper()
	c := &http.Cookie{Name: name, Value: value, Path: "/"}
	if value == "" {
		c.MaxAge = -1
	}
	b.http.Jar.SetCookies(must(url.Parse(b.url)), []*http.Cookie{c})
}
