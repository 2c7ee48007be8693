// Package server is Parley's HTTP server: the LangGraph REST and SSE API over
// the threads of package thread. It decodes, authorises, calls and encodes; no
// rule of the business lives here.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/auth/limit"
	"github.com/parley-dev/parley/server/feeds"
	"github.com/parley-dev/parley/stream"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/local"
)

// Server serves agents over HTTP.
type Server struct {
	opts       Options
	limits     Limits
	log        *slog.Logger
	version    string
	svc        *thread.Service
	hub        *stream.Hub
	runs       *feeds.Feed                   // hints of runs that started or ended
	runThreads atomic.Pointer[feeds.Threads] // finds their projects
	reviewFeed *feeds.Feed                   // hints of reviews that changed
	store      thread.Store
	ip         echo.IPExtractor
	custom     *echo.Echo      // nil without Options.Routes
	hooks      *auth.Hooks     // the deployment's, or those that keep projects apart
	identity   *identity       // nil with the deployment's hooks
	registered map[string]bool // the built-in routes by method and path
	limiter    *limit.Limiter  // nil without limits
	watch      *watch          // of streams whose holders may lose their key
	handler    http.Handler
	http       *http.Server
	bundles    bundles
	metrics    metrics
	cors       *cors
	sockets    sockets

	mcpHandler http.Handler // nil without Options.MCP
	mcpEcho    *echo.Echo   // makes contexts for calls that outlive their request

	// life ends when the server begins to shut down: streams and waits end with it.
	life      context.Context //nolint:containedctx // the server's own lifetime, not a request's
	endLife   context.CancelFunc
	startOnce sync.Once
	startErr  error
	draining  atomic.Bool // readiness says no
}

// New checks the options, opens the store and returns a server that is not yet
// serving. Shutdown releases what New opened.
func New(o Options) (*Server, error) {
	s := &Server{opts: o, limits: o.Limits.withDefaults(), log: o.Logger, version: o.Version}
	s.life, s.endLife = context.WithCancel(context.Background())
	if s.log == nil {
		s.log = slog.Default()
	}
	s.log = slog.New(agent.TracedLogs(s.log.Handler()))
	if s.version == "" {
		s.version = moduleVersion()
	}
	var err error
	if s.cors, err = newCORS(o.CORS); err != nil {
		return nil, err
	}
	if s.ip, err = ipExtractor(o.TrustedProxies); err != nil {
		return nil, err
	}
	if err := errors.Join(o.Auth.Check(), checkTraceURL(o.TraceURL)); err != nil {
		return nil, err
	}
	if err := checkAgents(o.Agents); err != nil {
		return nil, err
	}
	if o.SweepEvery == 0 {
		o.SweepEvery = 10 * time.Second
	}
	if s.store, err = openStore(o); err != nil {
		return nil, err
	}
	if err := s.secure(); err != nil {
		return nil, errors.Join(err, s.store.Close())
	}
	s.limiter, s.watch = limit.New(o.Identity.Limits, nil), newWatch()
	s.hub = stream.NewHub(stream.HubOptions{})
	s.runs = feeds.New(feeds.Options{})
	s.reviewFeed = feeds.New(feeds.Options{})
	serviceOptions := thread.Options{
		Store: s.store, Publisher: s.publisher(), Agents: o.Agents, Logger: s.log, Clock: o.Clock, Workers: o.Workers, Lease: o.Lease,
		LogRetention: o.LogRetention, SweepEvery: o.SweepEvery, ContextKeys: o.ContextKeys, OnInputWhileInterrupted: o.OnInputWhileInterrupted,
		GraphDefaults: o.GraphDefaults, DeliverLocal: s.deliverLocal, WebhookSecret: o.WebhookSecret, WebhookAllow: o.WebhookAllow,
		MayDecide: auth.DecisionRules{SelfApproval: o.Identity.SelfApproval}.MayDecide,
	}
	if err = errors.Join(o.Announce.announce(&serviceOptions), s.guardWebhooks(&serviceOptions)); err == nil {
		s.svc, err = thread.NewService(serviceOptions)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("server: %w", err), s.runs.Close(context.Background()), s.reviewFeed.Close(context.Background()), s.store.Close())
	}
	s.runThreads.Store(feeds.NewThreads(s.runs, s.projectOfThread))
	s.hub.SetSource(source{s.svc})
	s.hub.SetRelay(s.svc)
	if o.MCP != nil {
		s.mcpHandler, s.mcpEcho = s.newMCPHandler(), echo.New()
		if err := s.checkMCP(); err != nil {
			return nil, errors.Join(err, s.runs.Close(context.Background()), s.reviewFeed.Close(context.Background()), s.store.Close())
		}
	}
	s.handler = s.recover(s.cors.wrap(s.measure(answerHead(s.serveOpened(s.router())))))
	s.http = &http.Server{
		Handler: s.handler, ReadHeaderTimeout: s.limits.HeaderTime, IdleTimeout: s.limits.Idle,
		MaxHeaderBytes: s.limits.Header, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	} // no WriteTimeout: it would cut streams; they bound each write themselves (D-64)
	if o.H2C {
		s.http.Protocols = new(http.Protocols)
		s.http.Protocols.SetHTTP1(true)
		s.http.Protocols.SetUnencryptedHTTP2(true)
	}
	s.http.RegisterOnShutdown(s.stopStreams)
	return s, nil
}

// checkAgents refuses agents without a name, names that occur twice, and graphs
// that don't compile: their faults would show with the first run only.
func checkAgents(agents []agent.Agent) error {
	seen := map[string]bool{}
	for _, a := range agents {
		switch name := a.Name(); {
		case name == "":
			return errors.New("server: an agent has no name")
		case seen[name]:
			return fmt.Errorf("server: two agents are named %q", name)
		default:
			seen[name] = true
		}
		if b, ok := a.(interface{ Compile() (*agent.Graph, error) }); ok {
			if _, err := b.Compile(); err != nil {
				return fmt.Errorf("server: %w", err)
			}
		}
	}
	return nil
}

// openStore opens the store that the options ask for.
func openStore(o Options) (thread.Store, error) {
	if o.Store != nil {
		return o.Store, nil
	}
	if o.redis() {
		return openRedis(o)
	}
	dir := o.DataDir
	if dir == "" {
		dir = DefaultDataDir
	}
	store, err := local.Open(context.Background(), local.Options{Dir: dir, Ephemeral: o.Ephemeral, Logger: o.Logger})
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	return store, nil
}

// ipExtractor finds a client's address. X-Forwarded-For counts only from trusted proxies.
func ipExtractor(proxies []string) (echo.IPExtractor, error) {
	if len(proxies) == 0 {
		return echo.ExtractIPDirect(), nil
	}
	trust := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, p := range proxies {
		_, network, err := net.ParseCIDR(p)
		if err != nil {
			return nil, fmt.Errorf("server: TrustedProxies: %w", err)
		}
		trust = append(trust, echo.TrustIPRange(network))
	}
	return echo.ExtractIPFromXFFHeader(trust...), nil
}

// Handler returns the server's handler, for servers of one's own; call Start before its first request.
func (s *Server) Handler() http.Handler { return s.handler }

// Service is the durable truth behind the server, for routes of the deployment.
func (s *Server) Service() *thread.Service { return s.svc }

// Start brings up the workers. Serve does it, too; starting twice is harmless.
func (s *Server) Start(ctx context.Context) error {
	s.startOnce.Do(func() {
		if s.startErr = s.svc.Start(ctx); s.startErr == nil {
			s.watch.start(s.life, s.identity)
		}
	})
	return s.startErr
}

// Serve answers requests on l until Shutdown; it returns nil then.
func (s *Server) Serve(l net.Listener) error {
	if err := errors.Join(s.mayListen(l.Addr()), s.Start(context.Background())); err != nil {
		return errors.Join(err, l.Close())
	}
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ListenAndServe is Serve on Options.Addr.
func (s *Server) ListenAndServe() error {
	addr := s.opts.Addr
	if addr == "" {
		addr = DefaultAddr
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return s.Serve(l)
}

// Shutdown ends the server: no new connections, open streams are cut (clients
// then reconnect elsewhere), running supersteps may finish until ctx ends, and
// the store is closed.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stopStreams()
	err := s.http.Shutdown(ctx)
	if err != nil { // handlers that didn't end in time
		err = errors.Join(err, s.http.Close())
	}
	err = errors.Join(err, s.sockets.close(ctx))
	if s.started() {
		err = errors.Join(err, s.svc.Stop(ctx))
	}
	s.watch.wait()
	return errors.Join(err, s.runs.Close(ctx), s.reviewFeed.Close(ctx), s.store.Close())
}

// started reports whether Start was called, and keeps it from happening later.
func (s *Server) started() bool {
	started := true
	s.startOnce.Do(func() { started, s.startErr = false, errShuttingDown })
	return started && s.startErr == nil
}

// stopStreams ends all streams and waits.
func (s *Server) stopStreams() {
	s.endLife()
	s.hub.Close()
	s.runs.Stop()
	s.reviewFeed.Stop()
}

func (s *Server) isStopping() bool { return s.life.Err() != nil }

// untilShutdown returns a context that ends with ctx or with the server.
func (s *Server) untilShutdown(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// source lets the hub read what is stored.
type source struct{ svc *thread.Service }

func (r source) ReadLog(ctx context.Context, threadID string, after int64, limit int) ([]thread.Entry, error) {
	return r.svc.Store().ReadLog(ctx, threadID, after, limit)
}

func (r source) ReadRunLog(ctx context.Context, threadID, runID string, after int64, limit int) ([]thread.Entry, error) {
	return r.svc.Store().ReadRunLog(ctx, threadID, runID, after, limit)
}

func (r source) LogStart(ctx context.Context, threadID string) (int64, error) {
	return r.svc.Store().LogStart(ctx, threadID)
}

func (r source) LogEnd(ctx context.Context, threadID string) (pos, seq int64, err error) {
	return r.svc.Store().LogEnd(ctx, threadID)
}

func (r source) Inflight(ctx context.Context, threadID string) ([]thread.Run, error) {
	return r.svc.Store().Inflight(ctx, threadID)
}

func (r source) NewestRun(ctx context.Context, threadID string) (thread.Run, error) {
	return r.svc.Store().NewestRun(ctx, threadID)
}

func (r source) Heads(ctx context.Context, threadID string) ([]thread.Head, error) {
	return r.svc.Heads(ctx, threadID)
}

func (r source) GetRun(ctx context.Context, threadID, runID string) (thread.Run, error) {
	return r.svc.GetRun(ctx, threadID, runID)
}

func (r source) Materialize(ctx context.Context, threadID, ns, checkpointID string) (*agent.State, error) {
	return r.svc.Materialize(ctx, threadID, ns, checkpointID)
}
