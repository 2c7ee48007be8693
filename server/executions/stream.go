package executions

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/apierror"
	"github.com/parley-dev/parley/stream"
	chunks "github.com/parley-dev/parley/stream/execution"
	"github.com/parley-dev/parley/thread"
)

// lastEventID says, in the id of a chunk, what a client of a stream has had.
const lastEventID = "Last-Event-ID"

// invokeStream is POST …/workspaces/{workspace_id}/invokeStream. With a Last-Event-ID it begins nothing: it goes on with
// the execution that the id is of.
func (a *API) invokeStream(c echo.Context) error {
	if id := c.Request().Header.Get(lastEventID); id != "" {
		return a.goOn(c, id)
	}
	session, project := c.Request().Header.Get(sessionHeader), c.Param("project_id")
	id := ""
	if session == "" {
		session = uuid.NewString()
		c.Request().Header.Set(sessionHeader, session)
		id = thread.SessionThread(project, session)
	} else {
		var err error
		var none *thread.InvalidInputError
		if id, err = a.o.Service.SessionThread(c.Request().Context(), project, session); err != nil && !errors.As(err, &none) { // which begin says, too
			return err
		}
	}
	defer a.o.Hub.Watch(id)() // before the run begins: its events need no read of the log
	e, repeat, err := a.begin(c, c.Param("workspace_id"))
	if err != nil {
		return err
	}
	return a.follow(c, e, e.Runs[0], stream.Options{FromStart: !repeat})
}

// goOn sends what follows a chunk.
func (a *API) goOn(c echo.Context, id string) error {
	runID, _, ok := chunks.ParseID(id)
	if !ok {
		return apierror.BadField(apierror.CodeInvalid, lastEventID, "The id isn't one of a chunk.")
	}
	workspace := c.Param("workspace_id")
	if _, err := a.workspace(c, workspace); err != nil {
		return err
	}
	if _, err := a.o.Body(c); err != nil { // a client that leaves is noticed only once its body was read
		return err
	}
	ctx := c.Request().Context()
	run, err := a.o.Service.FindRun(ctx, runID)
	if errors.Is(err, thread.ErrNotFound) {
		return apierror.NotFound("execution", runID)
	}
	if err != nil {
		return err
	}
	e, err := a.find(c, run.ExecutionID, "read")
	if err != nil {
		return err
	}
	if e.Workspace != workspace {
		return apierror.NotFound("execution", runID)
	}
	return a.follow(c, e, run, stream.Options{LastEventID: id})
}

// follow sends the chunks of an execution, from one of its runs on.
func (a *API) follow(c echo.Context, e thread.Execution, run thread.Run, o stream.Options) error {
	if e.SessionID != "" {
		c.Response().Header().Set(sessionHeader, e.SessionID)
	}
	return a.o.Follow(c, o, func(o stream.Options) *stream.Stream { return a.o.Hub.OpenExecution(&run, o, a.nextRun) })
}

// nextRun is a stream.NextRun.
func (a *API) nextRun(ctx context.Context, after *thread.Run) (next *thread.Run, over bool, err error) {
	e, err := a.o.Service.Execution(ctx, after.ExecutionID)
	if errors.Is(err, thread.ErrNotFound) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	for i := range e.Runs {
		if e.Runs[i].ID == after.ID && i+1 < len(e.Runs) {
			return &e.Runs[i+1], false, nil
		}
	}
	return nil, e.Status.Ended(), nil
}
