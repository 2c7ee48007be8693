package server

import (
	"context"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/auth/limit"
	"github.com/parley-dev/parley/server/executions"
	"github.com/parley-dev/parley/stream"
	"github.com/parley-dev/parley/thread"
)

// executionRoutes are the routes of executions.API.
func (s *Server) executionRoutes() []route {
	o := executions.Options{
		Service: s.svc, Hub: s.hub, Agent: s.workspaceAgent, Body: s.readBody, Complete: s.fromRequest, Writer: direct, Lasting: s.awaited, TraceLink: s.traceLink,
		Page: s.limits.Page, Room: func(c echo.Context, r *thread.StartRun) (func(threadID, runID string), error) {
			note, err := s.roomForRun(c, r)
			return func(threadID, runID string) { note(limit.Run{ThreadID: threadID, RunID: runID}) }, err
		},
		Follow: func(c echo.Context, o stream.Options, open func(o stream.Options) *stream.Stream) error {
			return s.serveStream(c, o, func(o stream.Options) serveFunc { return open(o).Serve })
		},
	}
	if s.opts.Auth != nil {
		o.Hooks = executionHooks{s}
	}
	var list []route
	for _, r := range executions.New(o).Routes() {
		list = append(list, route{r.Method, projects + r.Path, r.Handler})
	}
	return list
}

// workspaceAgent is the agent of a workspace; ok is false where the options know of no such workspace.
func (s *Server) workspaceAgent(project, workspace string) (name string, ok bool) {
	w, ok := s.opts.Projects[project].Workspaces[workspace]
	if w.Agent != "" {
		return w.Agent, true
	}
	if workspace != thread.DefaultWorkspace {
		return "", ok
	}
	if names := s.svc.Graphs(); len(names) > 0 {
		name = names[0]
	}
	return name, true
}

// awaited is the context of a request that waits for something to happen: it ends with the request, the user's
// credentials, or the server.
func (s *Server) awaited(ctx context.Context) (context.Context, func(), error) {
	ctx, release, err := s.lasting(ctx)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := s.untilShutdown(ctx)
	return ctx, func() {
		cancel()
		if release != nil {
			release()
		}
	}, nil
}

// executionHooks ask the deployment's authorisers as the classic API does.
type executionHooks struct{ s *Server }

func (h executionHooks) Begin(c echo.Context, r *thread.StartRun, threadID string) error {
	return h.s.mayCreateRun(c, threadID, r)
}

func (h executionHooks) Thread(c echo.Context, action, threadID string) error {
	return h.s.allowThread(c, action, threadID)
}

func (h executionHooks) Search(c echo.Context) (thread.Filter, error) {
	f, _, err := h.s.allow(c, "threads", "search", nil)
	return f, err
}
