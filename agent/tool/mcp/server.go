package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-dev/parley/agent/tool"
)

// ErrClosed is returned by what needs a server after its Close.
var ErrClosed = errors.New("mcp: closed")

// errSlowConnect is the cause of a connect that took too long.
var errSlowConnect = errors.New("no answer within the connect timeout")

// DownError says that a server can't be reached, and why.
type DownError struct {
	Server string
	Err    error
}

func (e *DownError) Error() string { return fmt.Sprintf("mcp: server %q is down: %v", e.Server, e.Err) }
func (e *DownError) Unwrap() error { return e.Err }

// Server is a connection to an MCP server, kept up over breaks. It is safe for concurrent use.
type Server struct {
	cfg      ServerConfig
	hide     redactor
	client   *sdk.Client
	progress *listeners

	life    context.Context //nolint:containedctx // from Connect to Close
	end     context.CancelFunc
	work    sync.WaitGroup
	changed chan struct{} // asks for another look at the tool list

	mu       sync.Mutex
	closed   bool
	conn     *connection // nil before the first and after a broken one
	attempt  *attempt    // the running one
	down     error       // of the last attempt; nil if it succeeded
	failures int         // attempts and connections that came to nothing, in a row
	retryAt  time.Time
	tools    []*Tool
	version  int // counts changes of tools
}

// attempt is one try to connect, which several calls may wait for.
type attempt struct {
	done chan struct{}
	conn *connection
	err  error
}

// Connect reaches a server and lists its tools. A server that is down is an
// error (*DownError), or, with OnDown Degrade, a Server without tools that is
// tried again until it is there. Other errors are those of the
// configuration, *NameCollisionError among them. ctx bounds Connect alone; Close ends what it began.
func Connect(ctx context.Context, cfg ServerConfig) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, hide: newRedactor(cfg), progress: newListeners(), changed: make(chan struct{}, 1)}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.client = newClient(s)
	_, err = s.connection(ctx)
	var down *DownError
	switch {
	case err == nil:
	case ctx.Err() == nil && errors.As(err, &down) && cfg.OnDown == Degrade:
		cfg.Logger.Warn("MCP server is down, its tools are missing until it is there", "error", err)
	default:
		return nil, errors.Join(err, s.Close())
	}
	s.work.Add(1)
	go s.keep(s.life, err != nil) //nolint:contextcheck // it outlives ctx, until Close
	return s, nil
}

// newClient makes the SDK's client of a server.
func newClient(s *Server) *sdk.Client {
	caps := &sdk.ClientCapabilities{}
	if s.cfg.Elicit {
		caps.Elicitation = &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "parley", Version: "1"}, &sdk.ClientOptions{
		Logger:                      s.cfg.Logger,
		Capabilities:                caps,
		MultiRoundTrip:              &sdk.MultiRoundTripOptions{Disabled: true}, // what a server asks waits for a person
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { s.askForList() },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { s.progress.deliver(r.Params) },
	})
	client.AddSendingMiddleware(withoutElicitation)
	return client
}

// Name is the server's name.
func (s *Server) Name() string { return s.cfg.Name }

// Config is the server's configuration, with its defaults.
func (s *Server) Config() ServerConfig { return s.cfg }

// Tools are the tools that the server offers now, in its order; none while it
// has never been reached. They work across reconnects.
func (s *Server) Tools() []tool.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]tool.Tool, len(s.tools))
	for i, t := range s.tools {
		all[i] = t
	}
	return all
}

// Down is why the server couldn't be reached when that was last tried; nil if it could.
func (s *Server) Down() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down
}

// connection returns a live connection, and makes one if there is none. After
// failures it waits first, longer with each (up to maxBackoff). Errors: *DownError, ErrClosed, the context's.
func (s *Server) connection(ctx context.Context) (*connection, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	if s.conn != nil {
		if s.conn.alive() {
			defer s.mu.Unlock()
			return s.conn, nil
		}
		s.discard()
	}
	a := s.attempt
	if a == nil || isDone(a.done) {
		a = &attempt{done: make(chan struct{})}
		s.attempt = a
		wait := time.Until(s.retryAt)
		s.work.Add(1)
		go s.try(s.life, a, wait) //nolint:contextcheck // others than ctx's owner may wait for it
	}
	s.mu.Unlock()
	select {
	case <-a.done:
		return a.conn, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// discard gives up a broken connection. s.mu is held.
func (s *Server) discard() {
	conn := s.conn
	s.conn = nil
	s.failed()
	s.work.Add(1)
	go func() {
		defer s.work.Done()
		s.cfg.Logger.Warn("MCP server lost", "error", s.hide.err(conn.explain(errors.New("connection closed"))))
		conn.close(s.cfg.Logger)
	}()
}

// drop gives up a connection that a call found unusable.
func (s *Server) drop(conn *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == conn && !s.closed {
		s.discard()
	}
}

const (
	minBackoff = 250 * time.Millisecond
	maxBackoff = 10 * time.Second
)

// failed counts a failure. The first in a row costs no wait. s.mu is held.
func (s *Server) failed() {
	s.failures++
	if s.failures == 1 {
		return
	}
	wait := maxBackoff
	if shift := s.failures - 2; shift < 6 {
		wait = min(wait, minBackoff<<shift)
	}
	s.retryAt = time.Now().Add(wait)
}

// wasThere reports whether the server was reached a few attempts ago.
func (s *Server) wasThere() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version > 0 && s.failures <= tries
}

// works notes that the server answered a call.
func (s *Server) works() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures, s.retryAt = 0, time.Time{}
}

// try connects once, after a wait.
func (s *Server) try(life context.Context, a *attempt, wait time.Duration) {
	defer s.work.Done()
	defer close(a.done)
	conn, tools, err := s.reach(life, wait)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		a.err = ErrClosed
		if err == nil {
			conn.close(s.cfg.Logger)
		}
	case err != nil:
		a.err, s.down = err, err
		s.failed()
	default:
		a.conn, s.conn, s.down = conn, conn, nil
		s.setTools(tools)
	}
}

// reach waits, connects and lists the tools.
func (s *Server) reach(life context.Context, wait time.Duration) (*connection, []*Tool, error) {
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-life.Done():
			return nil, nil, ErrClosed
		}
	}
	ctx, cancel := context.WithTimeoutCause(life, s.cfg.ConnectTimeout, errSlowConnect)
	defer cancel()
	conn, err := dial(ctx, life, s.cfg, s.hide, s.client)
	if err != nil {
		return nil, nil, s.hide.err(&DownError{s.cfg.Name, err})
	}
	tools, err := s.list(ctx, conn)
	var collision *NameCollisionError
	switch {
	case err == nil:
		return conn, tools, nil
	case !errors.As(err, &collision):
		err = s.hide.err(&DownError{s.cfg.Name, conn.explain(fmt.Errorf("list tools: %w", err))})
	}
	conn.close(s.cfg.Logger)
	return nil, nil, err
}

// list reads the tool list, all pages of it.
func (s *Server) list(ctx context.Context, conn *connection) ([]*Tool, error) {
	var tools []*Tool
	seen := map[string]bool{}
	for cursor := ""; ; {
		page, err := conn.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, err
		}
		for _, t := range page.Tools {
			if t == nil || !s.cfg.offers(t.Name) {
				continue
			}
			made, err := newTool(s, t) //nolint:contextcheck // calls get contexts of their own
			if err != nil {            // one bad tool must not take the others away
				s.cfg.Logger.Warn("MCP tool left out", "tool", t.Name, "error", err)
				continue
			}
			tools = append(tools, made)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
		if seen[cursor] {
			return nil, fmt.Errorf("page %q of the tool list leads back to itself", cursor)
		}
		seen[cursor] = true
	}
	return tools, checkNames(tools)
}

// setTools replaces the tools. s.mu is held.
func (s *Server) setTools(tools []*Tool) {
	same := func(a, b *Tool) bool { return a.same(b) }
	if s.tools != nil && slices.EqualFunc(s.tools, tools, same) {
		return
	}
	s.tools = tools
	s.version++
}

// askForList asks keep for another look at the tool list.
func (s *Server) askForList() {
	select {
	case s.changed <- struct{}{}:
	default: // asked already
	}
}

// keep reads the tool list when it has changed, and, of a server that was
// down at the start, tries until it is there.
func (s *Server) keep(life context.Context, down bool) {
	defer s.work.Done()
	for down {
		_, err := s.connection(life)
		if down = err != nil; down && life.Err() != nil {
			return
		}
		if down {
			s.cfg.Logger.Debug("MCP server still down", "error", err)
		} else {
			s.cfg.Logger.Info("MCP server is there", "tools", len(s.Tools()))
		}
	}
	for {
		select {
		case <-life.Done():
			return
		case <-s.changed:
			s.refresh(life)
		}
	}
}

// refresh reads the tool list again; a list that can't be used changes nothing.
func (s *Server) refresh(life context.Context) {
	s.mu.Lock()
	conn := s.conn
	s.mu.Unlock()
	if conn == nil || !conn.alive() {
		return // the next connection lists anyway
	}
	ctx, cancel := context.WithTimeoutCause(life, s.cfg.ConnectTimeout, errSlowConnect)
	defer cancel()
	tools, err := s.list(ctx, conn)
	if err != nil {
		if life.Err() == nil {
			s.cfg.Logger.Warn("tool list not read again, the old one stays", "error", s.hide.err(err))
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setTools(tools)
}

// Close ends the connection, and the server's process if it has one; calls in
// flight fail. It returns when nothing is left running.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		s.work.Wait()
		return nil
	}
	s.closed = true
	conn := s.conn
	s.conn = nil
	s.mu.Unlock()
	s.end()
	if conn != nil {
		conn.close(s.cfg.Logger)
	}
	s.work.Wait()
	return nil
}

func isDone(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// snapshot is the tools as they are, and whether the server was ever reached.
func (s *Server) snapshot() (tools []*Tool, reached bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tools), s.version > 0
}
