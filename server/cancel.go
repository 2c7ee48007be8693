package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/thread"
)

// cancelAction reads the query's action.
func cancelAction(c echo.Context) (string, error) {
	switch a := c.QueryParam("action"); a {
	case "":
		return "interrupt", nil
	case "interrupt", "rollback":
		return a, nil
	default:
		return "", &validationError{[]issue{{
			Code: "invalid_enum_value", Received: a, Path: []any{"action"},
			Message: "Invalid enum value. Expected 'interrupt' | 'rollback', received '" + a + "'",
		}}}
	}
}

// cancelRun is POST /threads/{thread_id}/runs/{run_id}/cancel.
func (s *Server) cancelRun(c echo.Context) error {
	action, err := cancelAction(c)
	if err != nil {
		return err
	}
	run, err := s.run(c, "update")
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	switch err := s.svc.CancelRun(ctx, run.ThreadID, run.ID, action); {
	case errors.Is(err, thread.ErrNotFound):
		return errRunNotFound
	case err != nil:
		return err
	}
	if !truthy(c.QueryParam("wait")) {
		return c.NoContent(http.StatusAccepted)
	}
	if _, err := s.awaitRun(ctx, run); err != nil && !errors.Is(err, thread.ErrNotFound) { // rolled back: gone
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// awaitRun waits for the end of a run, of the request or of the server.
func (s *Server) awaitRun(ctx context.Context, run thread.Run) (thread.Run, error) {
	ctx, cancel := s.untilShutdown(ctx)
	defer cancel()
	ended, err := s.svc.WaitRun(ctx, run.ThreadID, run.ID)
	if err != nil && s.isStopping() {
		return ended, errShuttingDown
	}
	return ended, err
}

// cancelRuns is POST /runs/cancel: the named runs of a thread, or all with a status.
func (s *Server) cancelRuns(c echo.Context) error {
	action, err := cancelAction(c)
	if err != nil {
		return err
	}
	f, err := s.object(c)
	if err != nil {
		return err
	}
	threadID, runIDs := f.uuid("thread_id"), f.ids("run_ids")
	status := f.enum("status", "", "pending", "running", "all")
	switch {
	case status == "" && len(runIDs) == 0:
		f.fault("run_ids", "Either status or thread_id and run_ids are required")
	case len(runIDs) > 0 && threadID == "":
		f.fault("thread_id", "Required with run_ids")
	}
	if err := f.err(); err != nil {
		return err
	}
	targets, err := s.cancelTargets(c, threadID, runIDs, status)
	if err != nil {
		return err
	}
	for _, r := range targets {
		if err := s.svc.CancelRun(c.Request().Context(), r.ThreadID, r.ID, action); err != nil && !errors.Is(err, thread.ErrNotFound) {
			return err
		}
	}
	return c.NoContent(http.StatusNoContent)
}

// cancelTargets lists the runs that a bulk cancel means.
func (s *Server) cancelTargets(c echo.Context, threadID string, runIDs []string, status string) ([]thread.Run, error) {
	ctx := c.Request().Context()
	var threads []string
	if threadID != "" {
		if err := s.allowThread(c, "update", threadID); err != nil {
			return nil, err
		}
		threads = []string{threadID}
	} else {
		filter, _, err := s.allow(c, "threads", "update", nil)
		if err != nil {
			return nil, err
		}
		busy, _, err := s.svc.SearchThreads(ctx, thread.ThreadQuery{Status: thread.Busy, Filter: filter}, nil)
		if err != nil {
			return nil, err
		}
		for _, t := range busy {
			threads = append(threads, t.ID)
		}
	}
	var targets []thread.Run
	for _, id := range runIDs {
		run, err := s.svc.GetRun(ctx, threadID, id)
		if errors.Is(err, thread.ErrNotFound) {
			return nil, errRunNotFound
		} else if err != nil {
			return nil, err
		}
		targets = append(targets, run)
	}
	if status == "" {
		return targets, nil
	}
	for _, id := range threads {
		inflight, err := s.svc.Store().Inflight(ctx, id)
		if err != nil {
			return nil, err
		}
		for _, r := range inflight {
			if status == "all" || string(r.Status) == status {
				targets = append(targets, r)
			}
		}
	}
	return targets, nil
}

// disconnectGrace bounds the cancel that follows a client's leave.
const disconnectGrace = 10 * time.Second

// abandon cancels a run whose client left and had asked for that (on_disconnect,
// cancel_on_disconnect). A shutdown of the server is no leave of the client.
func (s *Server) abandon(r *http.Request, run thread.Run) {
	if s.isStopping() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), disconnectGrace)
	defer cancel()
	if err := s.svc.CancelRun(ctx, run.ThreadID, run.ID, "interrupt"); err != nil && !errors.Is(err, thread.ErrNotFound) {
		s.log.Warn("run not cancelled after its client left", "run_id", run.ID, "error", err)
	}
}
