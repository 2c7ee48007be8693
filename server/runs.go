package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/auth/limit"
	"github.com/parley-dev/parley/thread"
)

// startRun reads a run from the request's body and starts it; threadID "" makes it stateless.
func (s *Server) startRun(c echo.Context, threadID string) (thread.Run, error) {
	started, err := s.start(c, threadID)
	return started.Run, err
}

// start is startRun for callers that want to know whether the run is a repeat.
func (s *Server) start(c echo.Context, threadID string) (thread.Started, error) {
	f, err := s.object(c)
	if err != nil {
		return thread.Started{}, err
	}
	f.require("assistant_id")
	r, err := runFields(f)
	if err != nil {
		return thread.Started{}, err
	}
	if r.Command != nil { // bodies with an input are large, and answer nothing
		if err := f.unambiguous(); err != nil {
			return thread.Started{}, err
		}
	}
	return s.admit(c, threadID, r)
}

// admit asks for permission and starts the run.
func (s *Server) admit(c echo.Context, threadID string, r thread.StartRun) (thread.Started, error) {
	r.ThreadID = threadID
	s.fromRequest(c, &r)
	if err := mayStart(auth.UserFrom(c.Request().Context()), &r); err != nil {
		return thread.Started{}, err
	}
	if err := s.mayCreateRun(c, threadID, &r); err != nil {
		return thread.Started{}, err
	}
	note, err := s.roomForRun(c, &r)
	if err != nil {
		return thread.Started{}, err
	}
	started, err := s.svc.StartRun(c.Request().Context(), r)
	if err != nil || started.Repeat {
		note(limit.Run{})
	} else {
		note(limit.Run{ThreadID: started.Run.ThreadID, RunID: started.Run.ID})
	}
	if err != nil {
		return thread.Started{}, runError(err, r.AssistantID)
	}
	return started, nil
}

// roomForRun asks whether the user may have one more run under way; note is told of it. Answers always may.
func (s *Server) roomForRun(c echo.Context, r *thread.StartRun) (note func(limit.Run), err error) {
	if r.Answers() {
		return func(limit.Run) {}, nil
	}
	return s.limiter.Start(c.Request().Context(), limitedAs(auth.UserFrom(c.Request().Context())), func(ctx context.Context, run limit.Run) bool {
		row, err := s.svc.GetRun(ctx, run.ThreadID, run.RunID)
		return errors.Is(err, thread.ErrNotFound) || err == nil && row.Status.Ended()
	})
}

// mayCreateRun asks the authorisers whether a run may be created, and has the run marked with what they say.
func (s *Server) mayCreateRun(c echo.Context, threadID string, r *thread.StartRun) error {
	filter, value, err := s.allow(c, "threads", "create_run", func(v auth.Value) {
		v["thread_id"], v["assistant_id"], v["metadata"] = encode(nullable(threadID)), encode(r.AssistantID), metadataOf(r.Metadata)
		v["multitask_strategy"], v["after_seconds"] = encode(r.MultitaskStrategy), encode(r.AfterSeconds)
		v["if_not_exists"] = encode(map[bool]string{true: "create", false: "reject"}[r.CreateThread])
		v["kwargs"] = encode(map[string]json.RawMessage{
			"input": rawOr(r.Input, "null"), "command": rawOr(r.Command, "null"),
			"config": rawOr(r.Config, "{}"), "context": rawOr(r.Context, "null"), "webhook": encode(nullable(r.Webhook)),
		})
	})
	if err != nil {
		return err
	}
	r.ThreadMetadata = added(r.Metadata, metadataFrom(value, r.Metadata), filter, auth.UserFrom(c.Request().Context()).Unruled())
	r.Metadata, r.Filter = metadataFrom(value, r.Metadata), filter
	if value != nil { // else StartRun finds out itself
		if _, err := s.runAssistant(c, r.AssistantID); err != nil {
			return err
		}
	}
	return nil
}

// added returns what an authoriser set in the metadata: it marks the thread, too, if the
// run creates one. What the request said the same is told by the filter, which wants it, and
// the marks of projects are always set.
func added(before, after thread.Metadata, filter auth.Filter, unruled bool) thread.Metadata {
	out := thread.Metadata{}
	for k, v := range after {
		old, ok := before[k]
		_, wanted := filter[k]
		if wanted || !ok || !bytes.Equal(old, v) || !unruled && (k == thread.ProjectKey || k == thread.WorkspaceKey) {
			out[k] = v
		}
	}
	return out
}

// runError words the failures of run creation.
func runError(err error, assistantID string) error {
	var missing *thread.NotFoundError
	var update *agent.InvalidUpdateError
	switch {
	case errors.As(err, &update):
		return &codeError{http.StatusUnprocessableEntity, coded{"invalid_input", update.Message}}
	case errors.Is(err, thread.ErrBusy):
		return &textError{http.StatusUnprocessableEntity, textBusyRun}
	case errors.As(err, &missing) && missing.Kind == "assistant":
		return noAssistant(assistantID)
	}
	return err
}

func noAssistant(id string) error {
	return &textError{http.StatusNotFound, `No assistant found for "` + id +
		`". Make sure the assistant ID is for a valid assistant or a valid graph ID.`}
}

// runAssistant checks that the user may run an assistant: a system assistant
// belongs to everyone, any other one must be readable.
func (s *Server) runAssistant(c echo.Context, idOrGraph string) (thread.Assistant, error) {
	a, err := s.svc.Assistant(c.Request().Context(), idOrGraph)
	if err != nil {
		return a, runError(err, idOrGraph)
	}
	if isSystem(a) {
		return a, nil
	}
	filter, _, err := s.allow(c, "assistants", "read", func(v auth.Value) { v["assistant_id"] = encode(a.ID) })
	if err != nil {
		return a, err
	}
	if !filter.Matches(a.Metadata) {
		return a, noAssistant(idOrGraph)
	}
	return a, nil
}

// isSystem reports whether an assistant is one of those that the server itself makes, for each agent.
func isSystem(a thread.Assistant) bool { return string(a.Metadata["created_by"]) == `"system"` }

// locate sets Content-Location, from which clients learn the run's id; nothing may follow it.
func locate(c echo.Context, r thread.Run) {
	c.Response().Header().Set("Content-Location", runPath(r))
}

// runPath is the run's path: /threads/{t}/runs/{r}, or /runs/{r} for a stateless one.
func runPath(r thread.Run) string {
	if r.Kwargs.Temporary {
		return "/runs/" + r.ID
	}
	return "/threads/" + r.ThreadID + "/runs/" + r.ID
}

// createRun is POST /threads/{thread_id}/runs.
func (s *Server) createRun(c echo.Context) error {
	id, err := uuidParam(c, "thread_id")
	if err != nil {
		return err
	}
	run, err := s.startRun(c, id)
	if err != nil {
		return err
	}
	locate(c, run)
	return writeJSON(c, http.StatusOK, runJSON(run))
}

// listRuns is GET /threads/{thread_id}/runs.
func (s *Server) listRuns(c echo.Context) error {
	id, err := uuidParam(c, "thread_id")
	if err != nil {
		return err
	}
	q := thread.RunQuery{Status: thread.RunStatus(c.QueryParam("status"))}
	if q.Limit, err = queryInt(c, "limit", 10, 0, s.limits.Page); err != nil {
		return err
	}
	if q.Offset, err = queryInt(c, "offset", 0, 0, 1<<31-1); err != nil {
		return err
	}
	if err := s.allowThread(c, "read", id); err != nil {
		return err
	}
	if _, err := s.svc.GetThread(c.Request().Context(), id); err != nil {
		return err
	}
	known := []thread.RunStatus{"", thread.RunPending, thread.RunRunning, thread.RunSuccess, thread.RunError, thread.RunInterrupted, thread.RunTimeout}
	if q.Limit == 0 || !slices.Contains(known, q.Status) {
		return writeJSON(c, http.StatusOK, []string{})
	}
	runs, err := s.svc.ListRuns(c.Request().Context(), id, q)
	if err != nil {
		return err
	}
	selected := queryList(c, "select")
	out := make([]json.RawMessage, len(runs))
	for i, r := range runs {
		out[i] = pick(runJSON(r), selected)
	}
	return writeJSON(c, http.StatusOK, list(out))
}

// run reads the run of the path, if the user may do this with its thread.
func (s *Server) run(c echo.Context, action string) (thread.Run, error) {
	threadID, runID, err := threadRun(c)
	if err != nil {
		return thread.Run{}, err
	}
	if err := s.allowThread(c, action, threadID); err != nil {
		return thread.Run{}, err
	}
	run, err := s.svc.GetRun(c.Request().Context(), threadID, runID)
	if errors.Is(err, thread.ErrNotFound) {
		return thread.Run{}, errRunNotFound
	}
	return run, err
}

// getRun is GET /threads/{thread_id}/runs/{run_id}.
func (s *Server) getRun(c echo.Context) error {
	run, err := s.run(c, "read")
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, runJSON(run))
}

// deleteRun is DELETE /threads/{thread_id}/runs/{run_id}.
func (s *Server) deleteRun(c echo.Context) error {
	run, err := s.run(c, "delete")
	if err != nil {
		return err
	}
	err = s.svc.DeleteRun(c.Request().Context(), run.ThreadID, run.ID)
	switch {
	case errors.Is(err, thread.ErrNotFound):
		return errRunNotFound
	case err != nil:
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
