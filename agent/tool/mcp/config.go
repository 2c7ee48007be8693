package mcp

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"time"
)

// Defaults of ServerConfig.
const (
	DefaultConnectTimeout = 30 * time.Second
	DefaultTimeout        = 60 * time.Second
	DefaultMaxMessage     = 16 << 20
	DefaultMaxText        = 256 << 10
	DefaultGrace          = 2 * time.Second
)

// OnDown says what becomes of an agent whose server can't be reached at the start.
type OnDown string

// The policies of a server that is down at the start.
const (
	// Fail makes Connect return the cause. The default.
	Fail OnDown = "fail"
	// Degrade makes Connect succeed without the server's tools; the server is
	// tried again in the background, and later runs have the tools.
	Degrade OnDown = "degrade"
)

// ServerConfig says how to reach an MCP server and what to make of its tools.
type ServerConfig struct {
	// Name is the server's name in configurations: "server.tool". Letters, digits, _ and -.
	Name string

	// Command and Args start a server that speaks over its standard input and output.
	Command string
	Args    []string
	// Env is added to the child's environment. Of Parley's own environment the child gets
	// only what programs need to run (PATH, HOME, …) and what InheritEnv names: keys of
	// model providers are none of its business.
	Env        map[string]string
	InheritEnv []string
	// Dir is the child's working directory. Default: Parley's.
	Dir string

	// URL is the endpoint of a server that speaks streamable HTTP; either this or Command.
	URL string
	// Headers are sent with each request to the URL's own host, and to no other.
	Headers map[string]string
	// HTTPClient carries the requests; its Transport is used, its Timeout must be 0. Default: a client of the server's own.
	HTTPClient *http.Client

	// ConnectTimeout bounds one attempt to connect, listing the tools included. Default: DefaultConnectTimeout.
	ConnectTimeout time.Duration
	// Timeout bounds one call of a tool. Default: DefaultTimeout.
	Timeout time.Duration
	// OnDown says what happens when the server can't be reached at the start. Default: Fail.
	OnDown OnDown
	// MaxMessage is the largest message, in bytes, that is read from the server. Default: DefaultMaxMessage.
	MaxMessage int
	// MaxText is how many bytes of text one result may put before the model; more is cut, and the model told. Default: DefaultMaxText.
	MaxText int
	// Grace is how long a child may take to end once its input is closed, and again after SIGTERM. Default: DefaultGrace.
	Grace time.Duration

	// Allow lists the tools to offer, by the server's own names; empty allows all. Deny leaves tools out.
	Allow, Deny []string
	// Prefix stands before the tool's name in what the model sees: "prefix_tool". Default: Name.
	Prefix string
	// NoPrefix shows the model the bare name of the tool.
	NoPrefix bool

	// IgnoreAnnotations disregards what the server says of its tools (read-only,
	// destructive, idempotent): all are reviewed by DefaultPolicy, and none is called
	// twice. For servers that aren't trusted.
	IgnoreAnnotations bool
	// Elicit lets the server's tools ask the user: the run is suspended with an
	// interrupt of type "mcp_elicitation". Default: such requests are declined.
	Elicit bool
	// ProtocolVersion is the newest version to offer, e.g. "2025-11-25". Default: the SDK's newest.
	ProtocolVersion string

	// Logger default: slog.Default().
	Logger *slog.Logger
}

var serverName = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// withDefaults checks the configuration and fills in what is zero.
func (c ServerConfig) withDefaults() (ServerConfig, error) {
	if c.Name == "" {
		return c, errors.New("mcp: a server needs a name")
	}
	bad := func(format string, args ...any) (ServerConfig, error) {
		return c, fmt.Errorf("mcp: server %q: %w", c.Name, fmt.Errorf(format, args...))
	}
	switch {
	case !serverName.MatchString(c.Name):
		return bad("a name is made of letters, digits, _ and -")
	case (c.Command == "") == (c.URL == ""):
		return bad("needs a command or a url, and not both")
	case c.Command == "" && (len(c.Args) > 0 || len(c.Env) > 0 || len(c.InheritEnv) > 0 || c.Dir != ""):
		return bad("args, env and dir belong to a command")
	case c.URL == "" && len(c.Headers) > 0:
		return bad("headers belong to a url")
	case c.OnDown != "" && c.OnDown != Fail && c.OnDown != Degrade:
		return bad("on down: %q is neither %q nor %q", c.OnDown, Fail, Degrade)
	case c.Prefix != "" && c.NoPrefix:
		return bad("a prefix and no prefix exclude each other")
	case c.ConnectTimeout < 0 || c.Timeout < 0 || c.Grace < 0 || c.MaxMessage < 0 || c.MaxText < 0:
		return bad("timeouts and limits can't be negative")
	}
	if c.URL != "" {
		u, err := url.Parse(c.URL)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return bad("the url is no http or https address") // without the text: it may hold a secret
		}
	}
	or := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	or(&c.ConnectTimeout, DefaultConnectTimeout)
	or(&c.Timeout, DefaultTimeout)
	or(&c.Grace, DefaultGrace)
	if c.MaxMessage == 0 {
		c.MaxMessage = DefaultMaxMessage
	}
	if c.MaxText == 0 {
		c.MaxText = DefaultMaxText
	}
	if c.OnDown == "" {
		c.OnDown = Fail
	}
	if c.Prefix == "" && !c.NoPrefix {
		c.Prefix = c.Name
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Logger = c.Logger.With("mcp_server", c.Name)
	return c, nil
}
