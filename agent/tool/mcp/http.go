package mcp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-dev/parley/agent"
)

// httpCarrier carries the requests of one connection over HTTP: with the
// configured headers, no longer than the connection lives, and with an eye on
// what became of each.
type httpCarrier struct {
	next    http.RoundTripper
	target  *url.URL
	headers map[string]string
	max     int
	life    context.Context //nolint:containedctx // the connection's lifetime, which ends its requests

	mu    sync.Mutex
	fault error
}

// newHTTPTransport returns the SDK's transport on a carrier. own, if set, is to be
// closed with the connection.
func newHTTPTransport(life context.Context, c ServerConfig) (t *sdk.StreamableClientTransport, carrier *httpCarrier, own *http.Transport) {
	target, _ := url.Parse(c.URL) // checked by withDefaults
	carrier = &httpCarrier{target: target, headers: c.Headers, max: c.MaxMessage, life: life}
	client := &http.Client{Transport: carrier}
	if c.HTTPClient != nil {
		client.Jar, client.CheckRedirect, carrier.next = c.HTTPClient.Jar, c.HTTPClient.CheckRedirect, c.HTTPClient.Transport
	}
	if carrier.next == nil {
		own = http.DefaultTransport.(*http.Transport).Clone()
		carrier.next = own
	}
	return &sdk.StreamableClientTransport{Endpoint: c.URL, HTTPClient: client, MaxEventSize: c.MaxMessage, MaxRetries: 2}, carrier, own
}

// RoundTrip implements http.RoundTripper.
func (h *httpCarrier) RoundTrip(req *http.Request) (*http.Response, error) {
	d := deliveryOf(req.Context())
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(h.life, cancel) //nolint:contextcheck // two lifetimes end the request
	release := func() { stop(); cancel() }
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() {
		d.sent.Store(true)
	}})
	req = req.Clone(ctx)
	if req.URL.Scheme == h.target.Scheme && req.URL.Host == h.target.Host { // a redirect must not carry secrets away
		if p := agent.TraceParent(ctx); p != "" {
			req.Header.Set(agent.TraceHeader, p)
		}
		for name, value := range h.headers {
			req.Header.Set(name, value)
		}
	}
	resp, err := h.next.RoundTrip(req)
	if err != nil {
		release()
		return nil, err
	}
	d.status.Store(int64(resp.StatusCode))
	if req.Header.Get("Mcp-Session-Id") != "" {
		d.expired.Store(expired(resp))
	}
	body := &carriedBody{ReadCloser: resp.Body, release: release, carrier: h, left: h.max}
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil && strings.EqualFold(kind, "text/event-stream") {
		body.left = -1 // each event is bounded by the transport
	}
	resp.Body = body
	return resp, nil
}

// expired reports whether a server says that it doesn't know the session: with 404 by the
// protocol; with 400 and a word about it in the wild.
func expired(resp *http.Response) bool {
	if resp.StatusCode != http.StatusBadRequest {
		return resp.StatusCode == http.StatusNotFound
	}
	start, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	rest := resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), rest), rest}
	return err == nil && bytes.Contains(bytes.ToLower(start), []byte("session"))
}

func (h *httpCarrier) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fault == nil {
		h.fault = err
	}
}

// broken is the fault of the server that ended the connection; nil for another end.
func (h *httpCarrier) broken() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fault
}

// carriedBody is a response's body: bounded, and the end of its request's context.
type carriedBody struct {
	io.ReadCloser
	release func()
	carrier *httpCarrier
	left    int // -1: not bounded here
}

func (b *carriedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left < 0 {
		return n, err
	}
	if n > b.left {
		err := fmt.Errorf("%w: more than %d bytes", ErrTooLarge, b.carrier.max)
		b.carrier.fail(err)
		return b.left, err
	}
	b.left -= n
	return n, err
}

func (b *carriedBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}
