package executions

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/apierror"
	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
)

// statuses are those that a list can be filtered by.
var statuses = []thread.ExecutionStatus{
	"", thread.ExecutionPending, thread.ExecutionRunning, thread.ExecutionSuspended, thread.ExecutionResuming, thread.ExecutionCompleted, thread.ExecutionError,
}

// list is GET …/executions.
func (a *API) list(c echo.Context) error {
	f := thread.ExecutionFilter{
		Project: c.Param("project_id"), Workspace: c.QueryParam("workspace_id"), Session: c.QueryParam("session_id"),
		Status: thread.ExecutionStatus(c.QueryParam("status")), Cursor: c.QueryParam("cursor"),
	}
	if !slices.Contains(statuses, f.Status) {
		e := apierror.BadField(apierror.CodeInvalid, "status", "There is no status "+strconv.Quote(string(f.Status))+".")
		for _, s := range statuses[1:] {
			e.Parameters = append(e.Parameters, string(s))
		}
		return e
	}
	if v := c.QueryParam("limit"); v != "" {
		var err error
		if f.Limit, err = strconv.Atoi(v); err != nil || f.Limit < 1 || f.Limit > a.o.Page {
			return apierror.BadField(apierror.CodeInvalid, "limit", "The limit must be a whole number from 1 to "+strconv.Itoa(a.o.Page)+".")
		}
	}
	if f.Workspace != "" {
		if _, err := a.workspace(c, f.Workspace); err != nil {
			return err
		}
	}
	if u := auth.UserFrom(c.Request().Context()); u != nil && u.Workspace != "" {
		f.Workspace = u.Workspace
	}
	if err := a.keep(c, &f); err != nil {
		return err
	}
	found, next, err := a.o.Service.Executions(c.Request().Context(), f)
	if err != nil {
		return err
	}
	out := struct {
		Executions []execution `json:"executions"`
		Next       *string     `json:"next_cursor"`
	}{Executions: make([]execution, len(found))}
	if next != "" {
		out.Next = &next
	}
	for i, e := range found {
		out.Executions[i] = a.brief(e)
	}
	return a.write(c, http.StatusOK, out)
}

// keep has the list leave out what the hooks hide.
func (a *API) keep(c echo.Context, f *thread.ExecutionFilter) error {
	if a.o.Hooks == nil {
		return nil
	}
	visible, err := a.o.Hooks.Search(c)
	if err != nil || len(visible) == 0 {
		return err
	}
	f.Keep = func(ctx context.Context, e thread.Execution) (bool, error) {
		t, err := a.o.Service.GetThread(ctx, e.ThreadID)
		if errors.Is(err, thread.ErrNotFound) {
			return false, nil
		}
		return err == nil && visible.Matches(t.Metadata), err
	}
	return nil
}
