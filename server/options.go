package server

import (
	"io/fs"
	"log/slog"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/redis"
)

// Defaults of Options.
const (
	DefaultAddr    = "127.0.0.1:2024"
	DefaultDataDir = "./.parley"

	DefaultShutdownGrace = 5 * time.Second
)

// Options configure a Server. The zero value serves no agent on
// 127.0.0.1:2024 with its data in ./.parley.
type Options struct {
	// Agents are the graphs that runs can be created for; their names must differ.
	Agents []agent.Agent

	// Store keeps the data. Default: an embedded store in DataDir. The server closes it.
	Store thread.Store
	// DataDir is the embedded store's directory. Default: DefaultDataDir.
	DataDir string
	// Ephemeral keeps everything in memory instead.
	Ephemeral bool
	// Redis keeps everything in Redis instead, if its URL or Client is set: any number of
	// servers may then serve the same threads. Its Logger is the server's.
	Redis redis.Options

	// Addr is where ListenAndServe and Main listen. Default: DefaultAddr; Main then takes
	// the next free port if it is taken.
	Addr string
	// H2C accepts HTTP/2 without TLS, too, from proxies that speak it to their
	// servers. Over HTTP/1.1 browsers open six connections to a server and no
	// more, and each stream takes one: with more than a few streams per page put a
	// proxy in front that offers HTTP/2 over TLS. Default: HTTP/1.1 alone.
	H2C bool
	// CORS says which origins may call; default: every origin, without credentials.
	CORS CORS
	// TrustedProxies are the address ranges (CIDR) whose X-Forwarded-For is
	// believed. Default: none, the peer's address is the client's.
	TrustedProxies []string
	// Limits bound requests.
	Limits Limits

	// Auth decides who may do what. Nil: Identity does.
	Auth *auth.Hooks
	// Identity says how callers say who they are, without Auth.
	Identity Identity
	// Projects are those that have workspaces or agents of their own, by project and workspace id. Default: each
	// project has one workspace, default, of the first agent; keys know of further ones.
	Projects map[string]Project
	// CustomHeaders are prefixes of request headers that agent.Header gives the agent, without the prefix, and
	// that are never stored. Default: X-Parley-Custom- and X-Mdb-Agent-Engine-Custom-.
	CustomHeaders []string
	// Routes registers routes of the deployment. They are consulted before the
	// built-in ones, and middleware added with Use wraps those, too.
	Routes func(e *echo.Echo)
	// PublicRoutes serves the routes of Routes without asking Auth. Default: they are asked like all others.
	PublicRoutes bool
	// Middleware wraps every route; the first is the outermost.
	Middleware []echo.MiddlewareFunc
	// MCP offers the agents to hosts of the Model Context Protocol, at /mcp. Default: off.
	MCP *MCP
	// UI are user interface bundles by name, served under /ui/{name}.
	UI map[string]UI

	// GraphDefaults give the system assistants their config and context, by graph id.
	GraphDefaults map[string]thread.GraphDefault
	// Workers is how many runs execute at once. Default: 64.
	Workers int
	// Lease is how long a run stays with a worker that gives no sign of life. Default: 10 s.
	Lease time.Duration
	// LogRetention is how long the log of a finished execution can be replayed. Default: 24 h.
	LogRetention time.Duration
	// Clock tells the time where it isn't the store's to tell. Default: the system's.
	Clock agent.Clock
	// SweepEvery is the pause between two rounds of retention, which removes
	// threads whose time to live is over and logs that are kept no longer. Default: 10 s.
	SweepEvery time.Duration
	// OnInputWhileInterrupted is what new input does to a pending question:
	// "restart" (default) drops it, "error" refuses the input (decisions 13).
	OnInputWhileInterrupted string
	// WebhookSecret signs webhooks; "" sends them unsigned.
	WebhookSecret string
	// WebhookAllow, when set, is asked about the URL of each webhook when its run
	// or cron is made, and about each redirect; an error refuses it, with its
	// text. Paths of the server's own routes are always allowed. Default: every
	// address is, but for what WebhookInside says.
	WebhookAllow func(url string) error
	// WebhookInside lists hosts inside that webhooks of clients may go to: names, *.name, addresses, each with a port or
	// for all, and ranges such as 10.1.0.0/16. All other addresses of this machine, of private networks and of
	// metadata services are refused, when the run or cron is made as far as its URL tells, and when the
	// webhook is sent by what its name has led to. Addresses of Announce aren't asked about. Default: none; while nobody has to say
	// who they are, and only callers on this machine are served, all.
	WebhookInside []string
	// TraceURL is where a distributed trace is looked at, with {trace_id} in the place of its id: executions link
	// there. Default: no links.
	TraceURL string
	// ContextKeys encrypt what invocations bring as sealed_context (docs/executions.md): the first key encrypts, all
	// decrypt; the same for all replicas. Default: none, sealed_context is refused.
	ContextKeys *thread.Keyring
	// Announce says who is told of reviews. Default: nobody.
	Announce Announce

	// ShutdownGrace is how long Main lets running supersteps finish after a
	// signal; then other workers, or the next start, take their runs over. Default: 5 s.
	ShutdownGrace time.Duration
	// DrainDelay is how long Main goes on serving after a signal while readiness
	// (/readyz) says no, so that load balancers look elsewhere first. Default: 0.
	DrainDelay time.Duration
	// NoEventIDs leaves out ids and the Location header of streams, so that clients don't reconnect (decisions 11).
	NoEventIDs bool
	// NoFailureText leaves the error out of the thread protocol's "failed"
	// events, whose clients then show a text of their own (decisions 11).
	NoFailureText bool
	// Truncate serves POST /internal/truncate, which empties the store. For tests only.
	Truncate bool

	// Version is shown by /info. Default: the module's version.
	Version string
	// Logger default: slog.Default().
	Logger *slog.Logger

	// Sets are named collections of agents among which the command line's
	// --agents chooses; only Main looks at them. Default: none, Agents are served.
	Sets []Set
}

// Project is a project with its workspaces by id; the workspace default is there in any case.
type Project struct{ Workspaces map[string]Workspace }

// Workspace is a part of a project.
type Workspace struct {
	// Agent is the name of an agent, or the id of an assistant, that invocations without another are for.
	// Default: in the workspace default the server's first agent, else none.
	Agent string
}

// Set is a named collection of agents with all they need around them.
type Set struct {
	Name string
	// Options returns what the set adds; called when the set is chosen.
	Options func() Options
	// Hidden keeps the set out of --help and of messages.
	Hidden bool
}

// Limits bound requests.
type Limits struct {
	// Body is the largest request body in bytes. Default: 32 MiB.
	Body int64
	// Header is the largest size of a request's headers in bytes. Default: 64 KiB.
	Header int
	// HeaderTime is how long a client may take to send its headers. Default: 5 s.
	HeaderTime time.Duration
	// BodyTime is how long a client may take to send its body. Default: 60 s.
	BodyTime time.Duration
	// Idle is how long an unused connection is kept. Default: 120 s.
	Idle time.Duration
	// Depth is how deep JSON may be nested. Default: 512.
	Depth int
	// Page is the greatest limit of a listing. Default: 1000.
	Page int
}

// withDefaults fills in what is zero.
func (l Limits) withDefaults() Limits {
	if l.Body == 0 {
		l.Body = 32 << 20
	}
	if l.Header == 0 {
		l.Header = 64 << 10
	}
	if l.HeaderTime == 0 {
		l.HeaderTime = 5 * time.Second
	}
	if l.BodyTime == 0 {
		l.BodyTime = time.Minute
	}
	if l.Idle == 0 {
		l.Idle = 2 * time.Minute
	}
	if l.Depth == 0 {
		l.Depth = 512
	}
	if l.Page == 0 {
		l.Page = 1000
	}
	return l
}

// UI is a bundle of user interface components in plain JavaScript or TypeScript
// with JSX. Entry's default export maps component names to React components. It
// is built on first use.
type UI struct {
	// Files hold the sources; imports between them are relative.
	Files fs.FS
	// Entry is the file to start from.
	Entry string
	// Build turns the sources into files by name: entrypoint.js and, if there
	// is any, entrypoint.css.
	Build func(name string, ui UI) (map[string][]byte, error)
}
