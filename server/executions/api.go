// Package executions is the HTTP API of executions, under /api/v1/projects/{project_id}
// (spec/executions.md 4, 5). It decodes, calls package thread and encodes; who may use a route is decided
// before it is called.
package executions

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/apierror"
	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/stream"
	"github.com/parley-dev/parley/thread"
)

// Options are what the API needs of its server.
type Options struct {
	Service *thread.Service
	Hub     *stream.Hub
	// Agent is the agent of a workspace, "" for none; ok is false where there is no such workspace.
	Agent func(project, workspace string) (agent string, ok bool)
	// Body reads a request's body as JSON; an empty one is {}.
	Body func(c echo.Context) (json.RawMessage, error)
	// Complete adds to a run what it takes from the request that starts it: headers, user, idempotency key.
	Complete func(c echo.Context, r *thread.StartRun)
	// Writer is where long replies are written to.
	Writer func(c echo.Context) http.ResponseWriter
	// Lasting is the context of a request that waits: it ends with the request, with the user's credentials and
	// with the server. Call release behind it.
	Lasting func(ctx context.Context) (_ context.Context, release func(), err error)
	// Follow has a stream sent until its end; see stream.Stream.Serve.
	Follow func(c echo.Context, o stream.Options, open func(o stream.Options) *stream.Stream) error
	// Room asks whether the caller may have one more run under way. note must be called, with the run, or without one.
	Room func(c echo.Context, r *thread.StartRun) (note func(threadID, runID string), err error)
	// Hooks, when set, ask the deployment's own authorisers, too.
	Hooks Hooks
	// TraceLink is where a trace is looked at; "" for nowhere.
	TraceLink func(traceID string) string
	// Page is the greatest limit of a list.
	Page int
}

// Hooks are the deployment's authorisers, as the classic API asks them.
type Hooks interface {
	// Begin asks whether a run may be created on a thread, and has the run marked with what they say.
	Begin(c echo.Context, r *thread.StartRun, threadID string) error
	// Thread asks for an action on a thread: read or update. A foreign one is a *thread.NotFoundError.
	Thread(c echo.Context, action, threadID string) error
	// Search is the filter on the threads that the caller may see.
	Search(c echo.Context) (thread.Filter, error)
}

// may asks the hooks for an action on a thread. To who may not, what is on the thread isn't there.
func (a *API) may(c echo.Context, action, threadID string, missing error) error {
	if a.o.Hooks == nil {
		return nil
	}
	err := a.o.Hooks.Thread(c, action, threadID)
	if errors.Is(err, thread.ErrNotFound) {
		return missing
	}
	return err
}

// API serves the routes.
type API struct{ o Options }

// New returns the API.
func New(o Options) *API { return &API{o} }

// Route is an endpoint below /api/v1/projects/:project_id.
type Route struct {
	Method, Path string
	Handler      echo.HandlerFunc
}

// Routes lists all endpoints.
func (a *API) Routes() []Route {
	const get, post = http.MethodGet, http.MethodPost
	list := []Route{
		{post, "/workspaces/:workspace_id/invoke", a.invoke},
		{post, "/workspaces/:workspace_id/invokeStream", a.invokeStream},

		{get, "/executions", a.list},
		{post, "/executions", a.create},
		{get, "/executions/:execution_id", a.get},
		{post, "/executions/:execution_id/resume", a.resume},
		{post, "/executions/:execution_id/interrupt", a.interrupt},
		{get, "/sessions/:session_id/runs", a.sessionRuns},
	}
	for i, r := range list {
		list[i].Handler = pinned(r.Handler)
	}
	return list
}

// execution finds the execution of the path, if the caller may do this with it: read or update.
func (a *API) execution(c echo.Context, action string) (thread.Execution, error) {
	return a.find(c, c.Param("execution_id"), action)
}

func (a *API) find(c echo.Context, id, action string) (thread.Execution, error) {
	e, err := a.o.Service.Execution(c.Request().Context(), id)
	if err != nil {
		return e, err
	}
	missing := &thread.NotFoundError{Kind: "execution", ID: id}
	if e.Project != c.Param("project_id") || !sees(c, e.Project, e.Workspace) {
		return thread.Execution{}, missing
	}
	return e, a.may(c, action, e.ThreadID, missing)
}

// sees reports whether the caller sees a workspace. On a server of no users everybody does.
func sees(c echo.Context, project, workspace string) bool {
	u := auth.UserFrom(c.Request().Context())
	return u == nil || u.Kind == auth.KindAnonymous || u.Sees(project, workspace)
}

// workspace checks that there is a workspace that the caller sees, and tells its agent.
func (a *API) workspace(c echo.Context, id string) (agent string, err error) {
	project := c.Param("project_id")
	agent, ok := a.o.Agent(project, id)
	if u := auth.UserFrom(c.Request().Context()); !ok && u != nil && u.Workspace == id && u.ProjectID() == project {
		ok = true // a key knows of it
	}
	if !ok || !sees(c, project, id) {
		return "", apierror.NotFound("workspace", id)
	}
	return agent, nil
}

// ofWorkspace is the query's workspace_id, which some routes need.
func ofWorkspace(c echo.Context) (string, error) {
	id := c.QueryParam("workspace_id")
	if id == "" {
		return "", apierror.BadField(apierror.CodeMissing, "workspace_id", "The query must name the workspace: ?workspace_id=…")
	}
	return id, nil
}

// get is GET …/executions/{execution_id}.
func (a *API) get(c echo.Context) error {
	e, err := a.execution(c, "read")
	if err != nil {
		return err
	}
	return a.reply(c, http.StatusOK, e)
}

// reply answers with an execution, whole.
func (a *API) reply(c echo.Context, status int, e thread.Execution) error {
	out, err := a.whole(c.Request().Context(), e)
	if err != nil {
		return err
	}
	return a.write(c, status, out)
}
