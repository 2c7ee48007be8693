package outgoing_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/parley-dev/parley/server/outgoing"
	"github.com/parley-dev/parley/thread"
)

func guard(t *testing.T, o outgoing.Options) *outgoing.Guard {
	t.Helper()
	g, err := outgoing.New(o)
	require.NoError(t, err)
	return g
}

// What a URL tells by itself is refused as the run is made.
func TestAURLThatLeadsInsideIsRefused(t *testing.T) {
	t.Parallel()
	closed := guard(t, outgoing.Options{})
	some := guard(t, outgoing.Options{Allow: []string{"localhost:8080", "10.1.0.0/16", "192.168.0.7", "[::1]:81", "*.LAN", "::ffff:172.16.0.0/108", "127.0.0.1:80"}})
	for address, want := range map[string]struct{ closed, some bool }{
		"https://example.com/x":      {true, true},
		"http://8.8.8.8:53/":         {true, true},
		"http://hooks.lan/":          {true, true}, // nobody can tell before it is resolved
		"http://localhost/":          {false, false},
		"http://LocalHost.:8080/":    {false, true},
		"http://a.localhost:8080/":   {false, false},
		"http://127.0.0.1/":          {false, true},
		"https://127.0.0.1/":         {false, false},
		"http://127.0.0.1:80/":       {false, true},
		"http://10.1.2.3:9/":         {false, true},
		"http://10.2.2.3/":           {false, false},
		"http://192.168.0.7:1/":      {false, true},
		"http://[::1]:81/":           {false, true},
		"http://[::1]/":              {false, false},
		"http://[::ffff:10.1.0.1]/":  {false, true},
		"http://172.16.1.1/":         {false, true},
		"http://169.254.169.254/":    {false, false},
		"http://[fe80::1%25eth0]/":   {false, false},
		"http://user:pw@127.0.0.1:2": {false, false},
		"http:///x":                  {false, false},
	} {
		for g, ok := range map[*outgoing.Guard]bool{closed: want.closed, some: want.some} {
			err := g.Check(address)
			if ok {
				require.NoError(t, err, address)
				continue
			}
			require.ErrorIs(t, err, thread.ErrWebhookRefused, address)
			var refused *outgoing.RefusedError
			require.ErrorAs(t, err, &refused)
		}
	}
	require.Error(t, closed.Check("http://a b/"))
}

func TestWhatCannotBeAllowed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "*.", "http://x", "x/y", "10.0.0.0/33", "10.0.0.0/8:80", "a b", "*", "a:b", "user@host"} {
		_, err := outgoing.New(outgoing.Options{Allow: []string{text}})
		require.Error(t, err, text)
	}
}

// receiver counts what reaches it.
type receiver struct {
	*httptest.Server
	got atomic.Int32
}

// receive starts one; to, when given, is where it redirects to.
func receive(t *testing.T, to func() string) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.got.Add(1)
		if to != nil {
			http.Redirect(w, req, to(), http.StatusTemporaryRedirect)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// at is the receiver's address under another name.
func (r *receiver) at(host string) string {
	u, _ := url.Parse(r.URL)
	return "http://" + net.JoinHostPort(host, u.Port()) + "/hook"
}

// names is a DNS server that answers every question for an address by 127.0.0.1.
func names(t *testing.T) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	t.Cleanup(func() { require.NoError(t, conn.Close()); <-done })
	go func() {
		defer close(done)
		for b := make([]byte, 1500); ; {
			n, from, err := conn.ReadFrom(b)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(b[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			reply := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true}, Questions: m.Questions}
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				reply.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
				}}
			}
			if packed, err := reply.Pack(); err == nil {
				_, _ = conn.WriteTo(packed, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func post(t *testing.T, c *http.Client, address string) error {
	t.Helper()
	res, err := c.Post(address, "application/json", strings.NewReader("{}")) //nolint:noctx // the client has a timeout
	if err == nil {
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusOK, res.StatusCode)
	}
	return err
}

// A name may lead elsewhere each time it is asked for: what is dialled counts.
func TestANameThatLeadsInsideIsRefusedAsItIsDialled(t *testing.T) {
	t.Parallel()
	inner := receive(t, nil)
	g := guard(t, outgoing.Options{Allow: []string{"friend.test"}})
	outgoing.Resolve(g, names(t))
	c := g.Client(time.Minute)
	t.Cleanup(c.CloseIdleConnections)
	require.NoError(t, g.Check(inner.at("rebound.test")), "it can't be told yet")
	err := post(t, c, inner.at("rebound.test"))
	require.ErrorIs(t, err, thread.ErrWebhookRefused)
	require.NotContains(t, err.Error(), "127.0.0.1", "names of the inside aren't looked up for clients")
	require.ErrorIs(t, post(t, c, inner.URL), thread.ErrWebhookRefused)
	require.Zero(t, inner.got.Load())
	require.NoError(t, post(t, c, inner.at("friend.test")))
	require.EqualValues(t, 1, inner.got.Load())
}

// A receiver that is allowed can't send the server on to one that isn't.
func TestARedirectThatLeadsInsideIsRefused(t *testing.T) {
	t.Parallel()
	inner := receive(t, nil)
	for name, to := range map[string]string{"by its address": inner.URL, "by its name": inner.at("rebound.test"), "localhost": inner.at("localhost")} {
		lure := receive(t, func() string { return to })
		g := guard(t, outgoing.Options{Allow: []string{"friend.test"}})
		outgoing.Resolve(g, names(t))
		c := g.Client(time.Minute)
		require.ErrorIs(t, post(t, c, lure.at("friend.test")), thread.ErrWebhookRefused, name)
		require.EqualValues(t, 1, lure.got.Load(), name)
		c.CloseIdleConnections()
	}
	require.Zero(t, inner.got.Load())
}

// While all callers are on the machine, its addresses are no secret to them.
func TestAnOpenGuardLetsAllThrough(t *testing.T) {
	t.Parallel()
	inner := receive(t, nil)
	var open atomic.Bool
	var away atomic.Bool
	g := guard(t, outgoing.Options{Open: func(context.Context) (bool, error) {
		if away.Load() {
			return false, errors.New("the store is away")
		}
		return open.Load(), nil
	}})
	c := g.Client(time.Minute)
	t.Cleanup(c.CloseIdleConnections)
	require.ErrorIs(t, post(t, c, inner.URL), thread.ErrWebhookRefused)
	open.Store(true)
	require.NoError(t, g.Check(inner.URL))
	require.NoError(t, post(t, c, inner.URL))
	away.Store(true)
	err := post(t, c, inner.URL)
	require.ErrorContains(t, err, "the store is away")
	require.NotErrorIs(t, err, thread.ErrWebhookRefused, "it is tried again")
}
