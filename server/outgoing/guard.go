// Package outgoing keeps what the server calls for its clients, webhooks, away from addresses inside: its own machine,
// the networks around it, the metadata services of clouds. A name says nothing of where it leads, so that what
// counts is the address that is dialled: after the name was resolved, and for each redirect.
package outgoing

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/parley-dev/parley/thread"
)

// RefusedError says which address is refused. It matches thread.ErrWebhookRefused.
type RefusedError struct{ Host string }

func (e *RefusedError) Error() string {
	return e.Host + " is inside the server's own network, where webhooks go only to what --webhook-allow names"
}

// Is makes errors.Is(err, thread.ErrWebhookRefused) true.
func (e *RefusedError) Is(target error) bool { return target == thread.ErrWebhookRefused }

// Guard decides which addresses may be called.
type Guard struct {
	allow   []allowed
	open    func(ctx context.Context) (bool, error)
	proxies map[string]bool // of the environment, by host:port
	dialer  net.Dialer
}

// Options say what a Guard lets through, beside the internet.
type Options struct {
	// Allow lists hosts inside: names, *.name for the names below one, addresses and ranges (10.1.0.0/16). Names and
	// addresses may have a port; without one all are meant. A name is allowed wherever it leads. Default: none.
	Allow []string
	// Open reports whether all addresses may be called at the moment; its errors refuse. Default: never.
	Open func(ctx context.Context) (bool, error)
}

// The limits of dialling and keeping connections.
const (
	dialTimeout = 10 * time.Second
	openTimeout = 5 * time.Second
	keepIdle    = 15 * time.Second // shortly: a connection that is there isn't checked again
)

// New returns a guard. It fails on an entry of Allow that can't be read.
func New(o Options) (*Guard, error) {
	g := &Guard{open: o.Open, proxies: map[string]bool{}, dialer: net.Dialer{Timeout: dialTimeout}}
	for _, text := range o.Allow {
		a, err := parseAllowed(text)
		if err != nil {
			return nil, fmt.Errorf("outgoing: %w", err)
		}
		g.allow = append(g.allow, a)
	}
	for _, scheme := range []string{"http", "https"} {
		req := &http.Request{URL: &url.URL{Scheme: scheme, Host: "webhook.invalid"}}
		if u, err := http.ProxyFromEnvironment(req); err == nil && u != nil {
			g.proxies[hostPort(u)] = true
		}
	}
	return g, nil
}

// Check refuses a URL of which can be told without asking anybody that it leads inside. Errors: *RefusedError; those of Options.Open.
func (g *Guard) Check(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	return g.check(ctx, u)
}

func (g *Guard) check(ctx context.Context, u *url.URL) error {
	host, port, _ := net.SplitHostPort(hostPort(u))
	addr, err := netip.ParseAddr(host)
	switch {
	case err == nil:
		return g.checkAddr(ctx, addr, port)
	case g.named(host, port):
		return nil
	}
	if name := canonical(host); name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return g.refuse(ctx, host)
	}
	return nil
}

// checkAddr refuses an address inside, unless it is allowed.
func (g *Guard) checkAddr(ctx context.Context, addr netip.Addr, port string) error {
	if !Inside(addr) {
		return nil
	}
	for _, a := range g.allow {
		if a.holds(addr, port) {
			return nil
		}
	}
	return g.refuse(ctx, addr.String())
}

// refuse refuses a host inside, unless all are allowed at the moment.
func (g *Guard) refuse(ctx context.Context, host string) error {
	if g.open != nil {
		if open, err := g.open(ctx); err != nil || open {
			return err
		}
	}
	return &RefusedError{Host: host}
}

// named reports whether a host is allowed by its name.
func (g *Guard) named(host, port string) bool {
	for _, a := range g.allow {
		if a.names(host, port) {
			return true
		}
	}
	return false
}

// Client returns a client whose every request, also those of redirects, is checked as it is made and as it dials. With a
// proxy in the environment (HTTPS_PROXY and so on) it is the proxy that resolves names, and that has to refuse what they lead to.
func (g *Guard) Client(timeout time.Duration) *http.Client {
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: g.dial, ForceAttemptHTTP2: true,
		MaxIdleConns: 100, IdleConnTimeout: keepIdle, TLSHandshakeTimeout: dialTimeout,
	}
	return &http.Client{Timeout: timeout, Transport: &checked{g, t}}
}

// dial connects to an address that is allowed: each that a name has is checked before it is called.
func (g *Guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d := g.dialer
	if !g.proxies[address] && !g.named(host, port) {
		d.ControlContext = g.control
	}
	conn, err := d.DialContext(ctx, network, address)
	var refused *RefusedError
	if errors.As(err, &refused) {
		return nil, &RefusedError{Host: host} // and not what its name leads to: who named it may not know
	}
	return conn, err
}

// control is asked with the address that a connection goes to.
func (g *Guard) control(ctx context.Context, _, address string, _ syscall.RawConn) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return err
	}
	return g.checkAddr(ctx, addr, port)
}

// checked looks at the URL of each request before it is sent.
type checked struct {
	g    *Guard
	next *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (c *checked) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := c.g.check(req.Context(), req.URL); err != nil {
		if req.Body != nil {
			err = errors.Join(err, req.Body.Close())
		}
		return nil, err
	}
	return c.next.RoundTrip(req)
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the transport.
func (c *checked) CloseIdleConnections() { c.next.CloseIdleConnections() }

// hostPort is where a URL's host is called.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		switch u.Scheme {
		case "https":
			port = "443"
		case "socks5", "socks5h":
			port = "1080"
		default:
			port = "80"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}
