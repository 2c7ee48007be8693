// Package wire carries one call of a provider over HTTP: it is the HTTP client
// below the provider's SDK, keeps the timeouts, and makes a model.Error of
// whatever goes wrong.
package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/model"
)

// Config is what the calls of a model have in common.
type Config struct {
	// Provider names the errors.
	Provider string
	// Client sends the requests; nil stands for NewClient().
	Client *http.Client
	// Timeouts of an attempt.
	Timeouts model.Timeouts
	// Headers are added to each request.
	Headers model.Headers
}

// NewClient returns a client with connections of its own. Redirects are answers
// to it, not orders: they would carry the key to another server.
func NewClient() *http.Client {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return &http.Client{CheckRedirect: stay}
	}
	transport = transport.Clone()
	transport.MaxIdleConnsPerHost = 32
	return &http.Client{Transport: transport, CheckRedirect: stay}
}

func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Call is one attempt. It is the HTTP client of the provider's SDK (Do), for one
// request. Its methods and the body's are to be called from one goroutine.
type Call struct {
	provider string
	client   *http.Client
	headers  model.Headers
	limits   model.Timeouts
	hide     *redactor

	parent context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc

	connect, first, total *time.Timer
	idle                  *time.Timer
	started               bool

	sent     bool // a request left
	answered bool // with a status that means success
}

// Begin starts the clock of an attempt, and returns the context for the SDK,
// which ends with the call or a timeout. The caller must End it. The secrets are
// kept out of all errors.
func Begin(ctx context.Context, c Config, secrets ...string) (context.Context, *Call) {
	client := c.Client
	if client == nil {
		client = NewClient()
	}
	for _, v := range c.Headers {
		secrets = append(secrets, v)
	}
	call := &Call{
		provider: c.Provider, client: client, headers: c.Headers, limits: c.Timeouts.WithDefaults(),
		hide: newRedactor(secrets), parent: ctx,
	}
	call.ctx, call.cancel = context.WithCancelCause(ctx)
	call.first = call.limit(call.limits.FirstToken, "no answer within %s")
	call.total = call.limit(call.limits.Total, "not finished within %s")
	return call.ctx, call
}

// limit cancels the call after d, unless the timer is stopped. 0 is no limit.
func (c *Call) limit(d time.Duration, text string) *time.Timer {
	if d == 0 {
		return nil
	}
	return time.AfterFunc(d, func() {
		c.cancel(&model.Error{Provider: c.provider, Message: "timeout: " + fmt.Sprintf(text, d), Err: model.ErrTimeout})
	})
}

func stop(t *time.Timer) {
	if t != nil {
		t.Stop()
	}
}

// Do sends the request. An answer that isn't 200 comes back as a *model.Error.
func (c *Call) Do(req *http.Request) (*http.Response, error) {
	c.sent = true
	for name, value := range c.headers {
		req.Header.Set(name, value)
	}
	if p := agent.TraceParent(req.Context()); p != "" {
		req.Header.Set(agent.TraceHeader, p)
	}
	c.connect = c.limit(c.limits.Connect, "no connection within %s")
	defer stop(c.connect)
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { stop(c.connect) }}
	resp, err := c.client.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close() //nolint:errcheck // the answer was an error already
		return nil, c.refused(resp)
	}
	c.answered = true
	resp.Body = &body{rc: resp.Body, call: c}
	return resp, nil
}

// Started notes that the answer began: from now on the idle limit holds.
func (c *Call) Started() {
	if !c.started {
		c.started = true
		stop(c.first)
	}
}

// End frees what the call holds, and breaks off a request that is still running.
func (c *Call) End() {
	stop(c.first)
	stop(c.total)
	stop(c.idle)
	c.cancel(context.Canceled)
}

// Fail makes of an error what the caller of the model gets: the context's error
// when it ended, a *model.Error for anything else.
func (c *Call) Fail(err error) error {
	if c.parent.Err() != nil {
		return c.parent.Err()
	}
	var known *model.Error
	if cause := context.Cause(c.ctx); errors.As(cause, &known) {
		return known
	}
	if errors.As(err, &known) {
		known.Provider = c.provider
		known.Message, known.Code = c.hide.in(known.Message), c.hide.in(known.Code)
		return known
	}
	e := &model.Error{Provider: c.provider}
	switch {
	case !c.sent: // the SDK or we refused to send it
		e.Message, e.Err, e.Again = c.hide.in(err.Error()), err, new(bool)
	case c.answered:
		e.Message, e.Err = c.hide.in("broken stream: "+plain(err).Error()), fmt.Errorf("%w: %w", model.ErrBrokenStream, plain(err))
	default:
		e.Message, e.Err = c.hide.in("no answer: "+plain(err).Error()), plain(err)
		if hopeless(err) {
			e.Again = new(bool)
		}
	}
	return e
}

// Broken is the error for an answer that makes no sense or ends too soon.
func Broken(format string, args ...any) *model.Error {
	return &model.Error{Message: "broken stream: " + fmt.Sprintf(format, args...), Err: model.ErrBrokenStream}
}
