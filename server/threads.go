package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
)

var errThreadExists = &textError{http.StatusConflict, "Thread already exists"}

// createThread is POST /threads.
func (s *Server) createThread(c echo.Context) error {
	f, err := s.object(c)
	if err != nil {
		return err
	}
	create := thread.CreateThread{
		ID: f.uuid("thread_id"), Metadata: f.metadata(),
		DoNothing:  f.enum("if_exists", "raise", "raise", "do_nothing") == "do_nothing",
		Supersteps: supersteps(f),
	}
	create.TTLMinutes, create.TTLStrategy = ttl(f)
	if err := f.err(); err != nil {
		return err
	}
	if len(create.Supersteps) > 0 && create.Metadata["graph_id"] == nil {
		id := create.ID
		if id == "" {
			id = "(new)"
		}
		return &thread.NoGraphError{ThreadID: id}
	}
	filter, value, err := s.allow(c, "threads", "create", func(v auth.Value) {
		v["thread_id"], v["metadata"] = encode(nullable(create.ID)), metadataOf(create.Metadata)
		v["if_exists"] = encode(map[bool]string{true: "do_nothing", false: "raise"}[create.DoNothing])
	})
	if err != nil {
		return err
	}
	create.Metadata = metadataFrom(value, create.Metadata)
	ctx := c.Request().Context()
	if create.ID != "" && len(filter) > 0 {
		switch old, err := s.svc.GetThread(ctx, create.ID); {
		case err == nil && !filter.Matches(old.Metadata):
			return errThreadExists
		case err != nil && !errors.Is(err, thread.ErrNotFound):
			return err
		}
	}
	t, err := s.svc.CreateThread(ctx, create)
	switch {
	case errors.Is(err, thread.ErrExists):
		return errThreadExists
	case err != nil:
		return err
	case filter.Matches(create.Metadata) && !filter.Matches(t.Metadata):
		return errThreadExists // someone else's, created since the look
	}
	return s.sendThread(c, t)
}

// sendThread sends a thread with its values.
func (s *Server) sendThread(c echo.Context, t thread.Thread) error {
	v, err := s.svc.ViewThread(c.Request().Context(), t)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, threadJSON(v))
}

// supersteps reads the history that a new thread starts with.
func supersteps(f *fields) [][]agent.Edit {
	raw := f.raw("supersteps")
	if raw == nil {
		return nil
	}
	var steps []json.RawMessage
	if kindOf(raw) != "array" || json.Unmarshal(raw, &steps) != nil {
		f.wrong("supersteps", "array")
		return nil
	}
	out := make([][]agent.Edit, 0, len(steps))
	for i, raw := range steps {
		step, ok := newFields(raw, "supersteps", i)
		if !ok {
			f.fault("supersteps", "Expected object", i)
			continue
		}
		var updates []json.RawMessage
		if kindOf(step.values["updates"]) != "array" || json.Unmarshal(step.values["updates"], &updates) != nil {
			f.fault("supersteps", "Expected array", i, "updates")
			continue
		}
		edits := make([]agent.Edit, 0, len(updates))
		for j, raw := range updates {
			u, ok := newFields(raw, "supersteps", i, "updates", j)
			if !ok {
				f.fault("supersteps", "Expected object", i, "updates", j)
				continue
			}
			u.require("as_node")
			edit := agent.Edit{Values: u.values["values"], AsNode: u.str("as_node")}
			command, err := agent.ParseCommand(u.object("command"))
			if err != nil {
				u.fault("command", err.Error())
			}
			edit.Command = command
			f.issues = append(f.issues, u.issues...)
			edits = append(edits, edit)
		}
		out = append(out, edits)
	}
	return out
}

// ttl reads {"ttl": minutes, "strategy": …}, or the minutes alone.
func ttl(f *fields) (minutes float64, strategy string) {
	raw := f.raw("ttl")
	switch kindOf(raw) {
	case "":
		return 0, ""
	case "number":
		return f.number("ttl", 0), "delete"
	case "object":
		t, _ := newFields(raw, f.at("ttl")...)
		minutes, strategy = t.number("ttl", 0), t.enum("strategy", "delete", "delete", "keep_latest")
		f.issues = append(f.issues, t.issues...)
		return minutes, strategy
	}
	f.wrong("ttl", "object")
	return 0, ""
}

// getThread is GET /threads/{thread_id}.
func (s *Server) getThread(c echo.Context) error {
	id, err := uuidParam(c, "thread_id")
	if err != nil {
		return err
	}
	if err := s.allowThread(c, "read", id); err != nil {
		return err
	}
	t, err := s.svc.GetThread(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return s.sendThread(c, t)
}

// patchThread is PATCH /threads/{thread_id}.
func (s *Server) patchThread(c echo.Context) error {
	id, err := uuidParam(c, "thread_id")
	if err != nil {
		return err
	}
	f, err := s.object(c)
	if err != nil {
		return err
	}
	patch := thread.ThreadPatch{Metadata: f.metadata()}
	minutes, strategy := ttl(f)
	if err := f.err(); err != nil {
		return err
	}
	if strategy != "" {
		var expires time.Time // 0 minutes: never, as at creation
		if minutes > 0 {
			expires = now().Add(minutesOf(minutes))
		}
		patch.ExpiresAt, patch.TTLStrategy = &expires, &strategy
	}
	t, err := s.patch(c, id, patch)
	switch {
	case err != nil:
		return err
	case strings.Contains(c.Request().Header.Get("Prefer"), "return=minimal"):
		return c.NoContent(http.StatusNoContent)
	}
	return s.sendThread(c, t)
}

// patchState is PATCH /threads/{thread_id}/state: metadata for the thread, as
// clients of old say it (spec/rest-api.md 2.2).
func (s *Server) patchState(c echo.Context) error {
	id, err := uuidParam(c, "thread_id")
	if err != nil {
		return err
	}
	f, err := s.object(c)
	if err != nil {
		return err
	}
	metadata := f.metadata()
	if err := f.err(); err != nil {
		return err
	}
	if _, err := s.patch(c, id, thread.ThreadPatch{Metadata: metadata}); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// patch changes a thread that the user may change.
func (s *Server) patch(c echo.Context, id string, patch thread.ThreadPatch) (thread.Thread, error) {
	filter, value, err := s.allow(c, "threads", "update", func(v auth.Value) {
		v["thread_id"], v["metadata"], v["action"] = encode(id), metadataOf(patch.Metadata), encode("patch")
	})
	if err != nil {
		return thread.Thread{}, err
	}
	patch.Metadata = metadataFrom(value, patch.Metadata)
	missing := &textError{http.StatusNotFound, "Thread not found"}
	ctx := c.Request().Context()
	if len(filter) > 0 {
		switch t, err := s.svc.GetThread(ctx, id); {
		case errors.Is(err, thread.ErrNotFound) || err == nil && !filter.Matches(t.Metadata):
			return thread.Thread{}, missing
		case err != nil:
			return thread.Thread{}, err
		}
	}
	t, err := s.svc.PatchThread(ctx, id, patch)
	if errors.Is(err, thread.ErrNotFound) {
		err = missing
	}
	return t, err
}

// deleteThread is DELETE /threads/{thread_id}.
func (s *Server) deleteThread(c echo.Context) error {
	id, err := uuidParam(c, "thread_id")
	if err != nil {
		return err
	}
	if err := s.allowThread(c, "delete", id); err != nil {
		return err
	}
	if err := s.svc.DeleteThread(c.Request().Context(), id); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// copyThread is POST /threads/{thread_id}/copy. A foreign or unknown thread is a 409 here (decisions 20).
func (s *Server) copyThread(c echo.Context) error {
	id, err := uuidParam(c, "thread_id")
	if err != nil {
		return err
	}
	missing := &textError{http.StatusConflict, "Thread not found"}
	if err := s.allowThread(c, "read", id); errors.Is(err, thread.ErrNotFound) {
		return missing
	} else if err != nil {
		return err
	}
	_, value, err := s.allow(c, "threads", "create", func(v auth.Value) {
		v["thread_id"], v["metadata"] = encode(id), json.RawMessage("{}")
	})
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	t, err := s.svc.CopyThread(ctx, id)
	if errors.Is(err, thread.ErrNotFound) {
		return missing
	} else if err != nil {
		return err
	}
	if m := metadataFrom(value, nil); len(m) > 0 { // the copy is the caller's own
		if t, err = s.svc.PatchThread(ctx, t.ID, thread.ThreadPatch{Metadata: m}); err != nil {
			return err
		}
	}
	return s.sendThread(c, t)
}
