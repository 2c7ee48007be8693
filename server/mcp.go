package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MCP says how agents are offered to hosts of the Model Context Protocol: each is a
// tool that takes a message. The endpoint is POST /mcp, streamable HTTP without
// sessions, so that any process can answer any request.
type MCP struct {
	// Agents are the names of the agents to offer. Default: all.
	Agents []string
	// WithoutResume leaves out the tool that answers interrupts: a model that calls
	// agents can't decide what a person is to decide then.
	WithoutResume bool
}

// mcpPath is where MCP is served.
const mcpPath = "/mcp"

// mcpServerKey is the context key of the server that a request is for.
type mcpServerKey struct{}

// newMCPHandler makes the handler of the protocol. Each request brings its server, which
// knows who asks.
func (s *Server) newMCPHandler() http.Handler {
	server := func(r *http.Request) *mcp.Server {
		server, _ := r.Context().Value(mcpServerKey{}).(*mcp.Server)
		return server
	}
	return mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true,
		MaxRequestBodyBytes: s.limits.Body,
		Logger:              slog.New(quieter{s.log.Handler()}),
		// A proxy on this machine comes from a local address with a foreign host; who has to say who they
		// are can't be tricked by a name that points here.
		DisableLocalhostProtection: len(s.opts.TrustedProxies) > 0 || s.opts.Auth != nil,
	})
}

// serveMCP is POST /mcp.
func (s *Server) serveMCP(c echo.Context) error {
	body, err := s.readBody(c)
	if err != nil {
		return err
	}
	r := c.Request()
	server, err := s.mcpServer(r)
	if err != nil { // New has seen none: agents were replaced, or make their graphs as they run
		s.log.Warn("agents left out of MCP", "error", err)
	}
	r = r.WithContext(context.WithValue(r.Context(), mcpServerKey{}, server))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	s.mcpHandler.ServeHTTP(c.Response(), r)
	return nil
}

// noMCPStream is GET and DELETE /mcp: there are no sessions, and no streams of their own.
func (s *Server) noMCPStream(c echo.Context) error {
	c.Response().Header().Set("Allow", http.MethodPost)
	return &textError{http.StatusMethodNotAllowed, "Method Not Allowed"}
}

// mcpServer is the MCP server for one who asks: r says who. The error tells of agents that
// are left out.
func (s *Server) mcpServer(r *http.Request) (*mcp.Server, error) {
	server := mcp.NewServer(&mcp.Implementation{Name: "parley", Title: "Parley", Version: s.version}, &mcp.ServerOptions{
		Instructions: mcpInstructions, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}, Logger: slog.New(quieter{s.log.Handler()}),
	})
	names := map[string]string{}
	if !s.opts.MCP.WithoutResume {
		names[resumeTool] = resumeTool
		server.AddTool(newResumeTool(), s.guarded(r, "", s.callResume))
	}
	var problems []error
	for _, agent := range s.svc.Graphs() {
		if !s.offersMCP(agent) {
			continue
		}
		t, err := s.agentTool(r, agent)
		if err != nil {
			problems = append(problems, fmt.Errorf("server: MCP: agent %q: %w", agent, err))
			continue
		}
		if other, ok := names[t.Name]; ok {
			problems = append(problems, fmt.Errorf("server: MCP: %q and %q would both be the tool %q", other, agent, t.Name))
			continue
		}
		names[t.Name] = agent
		server.AddTool(t, s.guarded(r, agent, s.callAgent))
	}
	return server, errors.Join(problems...)
}

const mcpInstructions = "Each tool but resume is an agent. Send it a message; the result has the thread_id with which the conversation goes on. " +
	"A result with status \"interrupted\" waits for a person: show them what is asked, and answer with resume as they decide."

// offersMCP reports whether an agent is a tool.
func (s *Server) offersMCP(agent string) bool {
	if len(s.opts.MCP.Agents) == 0 {
		return true
	}
	for _, name := range s.opts.MCP.Agents {
		if name == agent {
			return true
		}
	}
	return false
}

// checkMCP refuses options by which no tool, or the wrong one, would be called.
func (s *Server) checkMCP() error {
	known := map[string]bool{}
	for _, name := range s.svc.Graphs() {
		known[name] = true
	}
	for _, name := range s.opts.MCP.Agents {
		if !known[name] {
			return fmt.Errorf("server: Options.MCP: there is no agent %q", name)
		}
	}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, mcpPath, nil)
	if err != nil {
		return err
	}
	_, err = s.mcpServer(r)
	return err
}

// mcpCall is one call of a tool.
type mcpCall struct {
	// echo.Context carries who asks, as for every other route. It is the call's own: the
	// request's may serve the next request before the call ends.
	echo  echo.Context
	agent string // that is called; "" for resume
	req   *mcp.CallToolRequest
}

func (c *mcpCall) ctx() context.Context { return c.echo.Request().Context() }

// guarded makes a handler of a tool: errors are results that the model can read, and a
// panic ends the call alone, as it does for other routes.
func (s *Server) guarded(r *http.Request, agent string, call func(*mcpCall) (*mcp.CallToolResult, error)) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (res *mcp.CallToolResult, err error) {
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("MCP call panicked", "panic", p)
				res, err = failedResult("Internal Server Error"), nil
			}
		}()
		own := r.Clone(context.WithoutCancel(r.Context()))
		ctx, cancel := context.WithCancel(callContext{ctx, own.Context()})
		defer cancel()
		res, err = call(&mcpCall{s.mcpEcho.NewContext(own.WithContext(ctx), nil), agent, req})
		if err == nil {
			return res, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		reply := replyOf(err)
		if reply.status >= http.StatusInternalServerError && !errors.Is(err, errShuttingDown) {
			s.log.Error("MCP call failed", "agent", agent, "error", err)
		}
		if reply.json != nil {
			return failedResult(string(encode(reply.json))), nil
		}
		return failedResult(reply.text), nil
	}
}

// callContext is a context that ends with the call and knows what the request knows.
type callContext struct {
	context.Context
	values context.Context //nolint:containedctx // values alone
}

// Value implements context.Context.
func (j callContext) Value(key any) any {
	if v := j.Context.Value(key); v != nil {
		return v
	}
	return j.values.Value(key)
}

// quieter logs what the SDK says at debug level: it calls faults of clients errors.
type quieter struct{ slog.Handler }

// Enabled implements slog.Handler.
func (q quieter) Enabled(ctx context.Context, _ slog.Level) bool {
	return q.Handler.Enabled(ctx, slog.LevelDebug)
}

// Handle implements slog.Handler.
func (q quieter) Handle(ctx context.Context, r slog.Record) error {
	r.Level = slog.LevelDebug
	return q.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (q quieter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quieter{q.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (q quieter) WithGroup(name string) slog.Handler { return quieter{q.Handler.WithGroup(name)} }
