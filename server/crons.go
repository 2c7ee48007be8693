package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
)

// createCron is POST /runs/crons and POST /threads/{thread_id}/runs/crons.
func (s *Server) createCron(c echo.Context) error {
	threadID := ""
	if param(c, "thread_id") != "" {
		id, err := uuidParam(c, "thread_id")
		if err != nil {
			return err
		}
		threadID = id
	}
	f, err := s.object(c)
	if err != nil {
		return err
	}
	f.require("assistant_id", "schedule")
	cron := thread.Cron{ThreadID: threadID, Enabled: true, UserID: cronUser(c), Metadata: f.metadata()}
	change := cronChange(f)
	if _, err := runFields(f); err != nil {
		return err
	}
	if err := f.err(); err != nil {
		return err
	}
	change(&cron)
	if cron.OnRunCompleted == "" {
		cron.OnRunCompleted = "delete"
	}
	cron.Payload = cronPayload(f)
	_, value, err := s.allow(c, "crons", "create", func(v auth.Value) {
		searchValue(f)(v)
		v["thread_id"], v["metadata"] = encode(nullable(threadID)), metadataOf(cron.Metadata)
	})
	if err != nil {
		return err
	}
	cron.Metadata = metadataFrom(value, cron.Metadata)
	if threadID != "" {
		if err := s.allowThread(c, "create_run", threadID); err != nil {
			return err
		}
	}
	a, err := s.runAssistant(c, f.str("assistant_id"))
	if err != nil {
		return err
	}
	cron.AssistantID = a.ID
	cron, err = s.svc.CreateCron(c.Request().Context(), cron)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, cronJSON(cron))
}

// cronFields belong to the cron itself; all others are the payload of its runs.
var cronFields = []string{"schedule", "timezone", "end_time", "enabled", "on_run_completed", "metadata", "assistant_id", "thread_id"}

// cronPayload is the body of the runs that a cron creates.
func cronPayload(f *fields) json.RawMessage {
	payload := map[string]json.RawMessage{}
	for k, v := range f.values {
		if !slices.Contains(cronFields, k) {
			payload[k] = v
		}
	}
	return encode(payload)
}

// cronChange reads the fields of a cron and returns what they change.
func cronChange(f *fields) func(*thread.Cron) {
	schedule, hasSchedule := f.optional("schedule")
	timezone, hasTimezone := f.optional("timezone")
	endText, hasEnd := f.optional("end_time")
	var end time.Time
	if hasEnd {
		t, err := time.Parse(time.RFC3339Nano, endText)
		if err != nil {
			f.fault("end_time", "Invalid datetime")
		}
		end = t.UTC()
	}
	enabled, completed := f.boolean("enabled"), f.enum("on_run_completed", "", "delete", "keep")
	return func(c *thread.Cron) {
		if hasSchedule {
			c.Schedule = schedule
		}
		if hasTimezone {
			c.Timezone = timezone
		} else if f.has("timezone") {
			c.Timezone = ""
		}
		if hasEnd || f.has("end_time") { // null clears
			c.EndTime = end
		}
		if f.raw("enabled") != nil {
			c.Enabled = enabled
		}
		if completed != "" {
			c.OnRunCompleted = completed
		}
	}
}

// searchCrons is POST /runs/crons/search.
func (s *Server) searchCrons(c echo.Context) error {
	f, err := s.object(c)
	if err != nil {
		return err
	}
	q := s.cronQuery(f)
	limit, offset := s.page(f)
	q.SortBy = f.enum("sort_by", "created_at", "cron_id", "assistant_id", "thread_id", "next_run_date", "end_time", "created_at", "updated_at")
	q.SortAsc = f.enum("sort_order", "desc", "asc", "desc") == "asc"
	if f.raw("enabled") != nil {
		enabled := f.boolean("enabled")
		q.Enabled = &enabled
	}
	selected := f.strings("select")
	if err := f.err(); err != nil {
		return err
	}
	found, err := s.findCrons(c, f, q)
	if err != nil {
		return err
	}
	total := len(found)
	found = found[min(offset, total):min(offset+limit, total)]
	out := make([]json.RawMessage, len(found))
	for i, cron := range found {
		out[i] = pick(cronJSON(cron), selected)
	}
	paginate(c, total, offset, len(out))
	return writeJSON(c, http.StatusOK, list(out))
}

// countCrons is POST /runs/crons/count.
func (s *Server) countCrons(c echo.Context) error {
	f, err := s.object(c)
	if err != nil {
		return err
	}
	q := s.cronQuery(f)
	if err := f.err(); err != nil {
		return err
	}
	found, err := s.findCrons(c, f, q)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, len(found))
}

func (s *Server) cronQuery(f *fields) thread.CronQuery {
	return thread.CronQuery{AssistantID: f.str("assistant_id"), ThreadID: f.uuid("thread_id"), Metadata: f.conditions("metadata")}
}

// findCrons lists all matching crons that the user may see. An assistant may be named by its graph id.
func (s *Server) findCrons(c echo.Context, f *fields, q thread.CronQuery) ([]thread.Cron, error) {
	filter, _, err := s.allow(c, "crons", "search", searchValue(f))
	if err != nil {
		return nil, err
	}
	ctx := c.Request().Context()
	if q.AssistantID != "" && !isUUID(q.AssistantID) {
		a, err := s.svc.Assistant(ctx, q.AssistantID)
		if errors.Is(err, thread.ErrNotFound) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
		q.AssistantID = a.ID
	}
	found, _, err := s.svc.Store().SearchCrons(ctx, q)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(cr thread.Cron) bool { return !filter.Matches(cr.Metadata) }), nil
}

// patchCron is PATCH /runs/crons/{cron_id}.
func (s *Server) patchCron(c echo.Context) error {
	f, err := s.object(c)
	if err != nil {
		return err
	}
	change := cronChange(f)
	metadata := f.metadata()
	if _, err := runFields(f); err != nil {
		return err
	}
	if err := f.err(); err != nil {
		return err
	}
	cron, value, err := s.ownCron(c, "update", searchValue(f))
	if err != nil {
		return err
	}
	metadata = metadataFrom(value, metadata)
	if id := f.str("assistant_id"); id != "" {
		a, err := s.runAssistant(c, id)
		if err != nil {
			return err
		}
		old := change
		change = func(cr *thread.Cron) { old(cr); cr.AssistantID = a.ID }
	}
	cron, err = s.svc.PatchCron(c.Request().Context(), cron.ID, func(cr *thread.Cron) {
		change(cr)
		if metadata != nil && cr.Metadata == nil {
			cr.Metadata = thread.Metadata{}
		}
		for k, v := range metadata {
			cr.Metadata[k] = v
		}
		payload := map[string]json.RawMessage{}
		if old, ok := newFields(cr.Payload); ok {
			payload = old.values
		}
		if changed, ok := newFields(cronPayload(f)); ok {
			for k, v := range changed.values {
				payload[k] = v
			}
		}
		cr.Payload = encode(payload)
	})
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, cronJSON(cron))
}

// deleteCron is DELETE /runs/crons/{cron_id}.
func (s *Server) deleteCron(c echo.Context) error {
	cron, _, err := s.ownCron(c, "delete", nil)
	if err != nil {
		return err
	}
	if err := s.svc.DeleteCron(c.Request().Context(), cron.ID); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// ownCron reads the cron of the path, if the user may do this with it, and
// returns what the authorisers made of the value that fill describes.
func (s *Server) ownCron(c echo.Context, action string, fill func(v auth.Value)) (thread.Cron, auth.Value, error) {
	id, err := uuidParam(c, "cron_id")
	if err != nil {
		return thread.Cron{}, nil, err
	}
	filter, value, err := s.allow(c, "crons", action, func(v auth.Value) {
		if fill != nil {
			fill(v)
		}
		v["cron_id"] = encode(id)
	})
	if err != nil {
		return thread.Cron{}, nil, err
	}
	cron, err := s.svc.GetCron(c.Request().Context(), id)
	if errors.Is(err, thread.ErrNotFound) || err == nil && !filter.Matches(cron.Metadata) {
		return thread.Cron{}, nil, &thread.NotFoundError{Kind: "cron", ID: id}
	}
	return cron, value, err
}
