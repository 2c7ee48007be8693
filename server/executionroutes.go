package server

import (
	"context"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/executions"
	"github.com/parley-dev/parley/stream"
	"github.com/parley-dev/parley/thread"
)

// executionRoutes are the routes of executions.API.
func (s *Server) executionRoutes() []route {
	api := executions.New(executions.Options{
		Service: s.svc, Hub: s.hub, Agent: s.workspaceAgent, Body: s.readBody, Complete: s.fromRequest, Writer: direct, Lasting: s.awaited,
		Page: s.limits.Page,
		Follow: func(c echo.Context, o stream.Options, open func(o stream.Options) *stream.Stream) error {
			return s.serveStream(c, o, func(o stream.Options) serveFunc { return open(o).Serve })
		},
	})
	var list []route
	for _, r := range api.Routes() {
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
