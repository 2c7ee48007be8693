// Package request makes tools of HTTP requests: an address with arguments in it, a
// method and headers. For services that have no MCP server.
package request

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/tool"
)

// Defaults of Config.
const (
	DefaultTimeout  = 30 * time.Second
	DefaultMaxBytes = 64 << 10
)

// Config describes a tool.
type Config struct {
	// Name and Description are shown to the model; required.
	Name, Description string
	// Parameters is the JSON Schema of the arguments, an object. Default: none.
	Parameters json.RawMessage
	// Method is one of GET (default), HEAD, POST, PUT, PATCH and DELETE.
	Method string
	// URL is the address; required. {name} in its path and query is an argument, escaped as
	// that place demands. Arguments that aren't in it are added to the query, or are the
	// JSON body of POST, PUT and PATCH.
	URL string
	// Headers are sent with each request, to this host only. They aren't shown in errors.
	Headers map[string]string
	// Timeout bounds the whole request. Default: DefaultTimeout.
	Timeout time.Duration
	// MaxBytes is how much of the answer is read; the model is told when there was more. Default: DefaultMaxBytes.
	MaxBytes int
	// Idempotent says that the service recognises a repeat by the header Idempotency-Key. Without
	// it, a POST or PATCH that a crash has cut off isn't sent again: a person is asked (decisions 6).
	Idempotent bool
	// Client sends the requests. Default: one that keeps to the proxy of the environment.
	Client *http.Client
}

var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// New returns the tool. Errors: a method or an address that can't be used, {name}
// in the host.
func New(c Config) (tool.Tool, error) {
	if c.Method == "" {
		c.Method = http.MethodGet
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = DefaultMaxBytes
	}
	if len(c.Parameters) == 0 {
		c.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	if !slices.Contains(methods, c.Method) {
		return nil, fmt.Errorf("request: tool %q: method %q isn't one of %s", c.Name, c.Method, strings.Join(methods, ", "))
	}
	t, err := newTemplate(c.URL)
	if err != nil {
		return nil, fmt.Errorf("request: tool %q: %w", c.Name, err)
	}
	s := &sender{Config: c, template: t, client: client(c.Client)}
	return tool.Raw(c.Name, c.Description, c.Parameters, s.call, s.options()...), nil
}

// options say what the request does to the world. GET, PUT and DELETE may be repeated (RFC 9110, 9.2.2).
func (s *sender) options() []tool.Option {
	readOnly := s.Method == http.MethodGet || s.Method == http.MethodHead
	destroys := s.Method == http.MethodDelete || s.Method == http.MethodPut
	repeatable := s.Idempotent || s.Method != http.MethodPost && s.Method != http.MethodPatch
	open := true
	a := tool.Annotations{ReadOnly: readOnly, Idempotent: repeatable, OpenWorld: &open}
	if !readOnly {
		a.Destructive = &destroys
	}
	again := tool.AtMostOnce()
	if repeatable {
		again = tool.AtLeastOnce()
	}
	return []tool.Option{tool.Annotate(a), again}
}

// client follows redirects on the same host only: the headers are meant for it.
func client(own *http.Client) *http.Client {
	c := http.Client{}
	if own != nil {
		c = *own
	}
	c.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		switch first := via[0].URL; {
		case len(via) >= 5:
			return errors.New("too many redirects")
		case next.URL.Host != first.Host || next.URL.Scheme != first.Scheme:
			return fmt.Errorf("redirected to another host, %s", next.URL.Host)
		}
		return nil
	}
	return &c
}

// sender is the tool's function.
type sender struct {
	Config
	template *template
	client   *http.Client
}

func (s *sender) call(ctx tool.CallContext, raw json.RawMessage) (any, error) {
	bounded, cancel := context.WithTimeout(ctx, s.Timeout) // the service's time, not the run's clock
	defer cancel()
	args := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, fmt.Errorf("decode arguments: %w", err)
	}
	req, err := s.request(bounded, args)
	if err != nil {
		return nil, err
	}
	if s.Method != http.MethodGet && s.Method != http.MethodHead {
		req.Header.Set("Idempotency-Key", ctx.IdempotencyKey())
	}
	res, err := s.client.Do(req)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	defer res.Body.Close() //nolint:errcheck // read as far as it is wanted
	return s.result(ctx, res)
}

// request builds the request of a call.
func (s *sender) request(ctx context.Context, args map[string]json.RawMessage) (*http.Request, error) {
	address, err := s.template.fill(args)
	if err != nil {
		return nil, err
	}
	rest := map[string]json.RawMessage{}
	for name, v := range args {
		if !s.template.takes(name) {
			rest[name] = v
		}
	}
	body := ""
	switch s.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		b, err := json.Marshal(rest)
		if err != nil {
			return nil, err
		}
		body = string(b)
	default:
		if address, err = addQuery(address, rest); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, s.Method, address, strings.NewReader(body))
	if err != nil {
		return nil, errors.New("the arguments make no address")
	}
	if body == "" {
		req.Body, req.ContentLength = http.NoBody, 0
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json, text/plain;q=0.9, */*;q=0.5")
	if p := agent.TraceParent(ctx); p != "" {
		req.Header.Set(agent.TraceHeader, p)
	}
	for name, v := range s.Headers {
		req.Header.Set(name, v)
	}
	return req, nil
}

// failure says why no answer came, without the address: it may hold a key.
func (s *sender) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %v", s.Timeout)
	}
	var u *url.Error
	if errors.As(err, &u) {
		return fmt.Errorf("%s failed: %w", s.Method, u.Err)
	}
	return err
}

// variable is an argument in an address.
var variable = regexp.MustCompile(`\{([^{}]*)\}`)
