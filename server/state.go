package server

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
)

// getState is GET /threads/{thread_id}/state.
func (s *Server) getState(c echo.Context) error {
	id, err := uuidParam(c, "thread_id")
	if err != nil {
		return err
	}
	return s.sendState(c, id, thread.StateQuery{Subgraphs: truthy(c.QueryParam("subgraphs"))}, queryList(c, "select"))
}

// getStateAt is GET /threads/{thread_id}/state/{checkpoint_id}.
func (s *Server) getStateAt(c echo.Context) error {
	id, err := uuidParam(c, "thread_id")
	if err != nil {
		return err
	}
	checkpoint, err := uuidParam(c, "checkpoint_id")
	if err != nil {
		return err
	}
	return s.sendState(c, id, thread.StateQuery{
		CheckpointID: checkpoint, Subgraphs: truthy(c.QueryParam("subgraphs")),
	}, queryList(c, "select"))
}

// postStateAt is POST /threads/{thread_id}/state/checkpoint.
func (s *Server) postStateAt(c echo.Context) error {
	id, err := uuidParam(c, "thread_id")
	if err != nil {
		return err
	}
	f, err := s.object(c)
	if err != nil {
		return err
	}
	q := thread.StateQuery{Subgraphs: f.boolean("subgraphs")}
	q.CheckpointID, q.CheckpointNS = checkpoint(f, "checkpoint")
	selected := f.strings("select")
	if err := f.err(); err != nil {
		return err
	}
	return s.sendState(c, id, q, selected)
}

// sendState sends the state that q addresses. A thread without checkpoints has
// an empty one; an unknown checkpoint likewise, with its address.
func (s *Server) sendState(c echo.Context, threadID string, q thread.StateQuery, selected []string) error {
	if err := s.allowThread(c, "read", threadID); err != nil {
		return err
	}
	snapshot, err := s.svc.State(c.Request().Context(), threadID, q)
	if err != nil {
		return err
	}
	out := stateJSON(threadID, snapshot, q.Subgraphs)
	if q.CheckpointID != "" && (snapshot == nil || snapshot.CheckpointID == "") {
		out = emptyState(checkpointJSON(threadID, q.CheckpointNS, q.CheckpointID, nil))
	}
	return writeJSON(c, http.StatusOK, pick(out, selected))
}

// updateState is POST /threads/{thread_id}/state.
func (s *Server) updateState(c echo.Context) error {
	id, err := uuidParam(c, "thread_id")
	if err != nil {
		return err
	}
	f, err := s.object(c)
	if err != nil {
		return err
	}
	u := thread.StateUpdate{Values: f.raw("values"), AsNode: f.str("as_node"), CheckpointID: f.uuid("checkpoint_id")}
	switch kindOf(u.Values) {
	case "", "object", "array":
	default:
		f.wrong("values", "object")
	}
	if at, ns := checkpoint(f, "checkpoint"); at != "" || ns != "" {
		u.CheckpointID, u.CheckpointNS = at, ns
	}
	if err := f.err(); err != nil {
		return err
	}
	filter, value, err := s.allow(c, "threads", "update", func(v auth.Value) {
		v["thread_id"], v["action"], v["metadata"] = encode(id), encode("state_update"), json.RawMessage("{}")
		v["values"], v["as_node"] = rawOr(u.Values, "null"), encode(nullable(u.AsNode))
	})
	if err != nil {
		return err
	}
	u.Metadata, u.Headers = metadataFrom(value, nil), configurableHeaders(c.Request().Header, s.opts.CustomHeaders)
	if user := knownUser(c); user != nil {
		u.AuthUser = encode(user)
	}
	ctx := c.Request().Context()
	if len(filter) > 0 {
		t, err := s.svc.GetThread(ctx, id)
		if err != nil {
			return err
		}
		if !filter.Matches(t.Metadata) {
			return &thread.NotFoundError{Kind: "thread", ID: id}
		}
	}
	ns, checkpointID, m, err := s.svc.UpdateState(ctx, id, u)
	if err != nil {
		return err
	}
	o := &object{}
	o.any("thread_id", id).any("checkpoint_ns", ns).any("checkpoint_id", checkpointID)
	if m != nil {
		o.any("checkpoint_map", m)
	}
	return writeJSON(c, http.StatusOK, (&object{}).raw("checkpoint", o.done()).done())
}

// getHistory is GET /threads/{thread_id}/history.
func (s *Server) getHistory(c echo.Context) error {
	id, err := uuidParam(c, "thread_id")
	if err != nil {
		return err
	}
	q := thread.HistoryQuery{Before: c.QueryParam("before")}
	if q.Limit, err = queryInt(c, "limit", 10, 0, s.limits.Page); err != nil {
		return err
	}
	if q.Before != "" && q.Before[0] == '{' {
		f, _ := newFields((&object{}).raw("before", []byte(q.Before)).done())
		if f == nil {
			return invalid("Invalid checkpoint", "before")
		}
		q.Before = before(f)
		if err := f.err(); err != nil {
			return err
		}
	} else if q.Before != "" && !isUUID(q.Before) {
		return invalid("Invalid uuid", "before")
	}
	return s.sendHistory(c, id, q, queryList(c, "select"))
}

// postHistory is POST /threads/{thread_id}/history.
func (s *Server) postHistory(c echo.Context) error {
	id, err := uuidParam(c, "thread_id")
	if err != nil {
		return err
	}
	f, err := s.object(c)
	if err != nil {
		return err
	}
	q := thread.HistoryQuery{Limit: f.integer("limit", 10, 0, s.limits.Page), Metadata: f.conditions("metadata"), Before: before(f)}
	q.CheckpointID, q.CheckpointNS = checkpoint(f, "checkpoint")
	selected := f.strings("select")
	if err := f.err(); err != nil {
		return err
	}
	return s.sendHistory(c, id, q, selected)
}

func (s *Server) sendHistory(c echo.Context, threadID string, q thread.HistoryQuery, selected []string) error {
	if err := s.allowThread(c, "read", threadID); err != nil {
		return err
	}
	states, err := s.svc.History(c.Request().Context(), threadID, q)
	if err != nil {
		return err
	}
	out := make([]json.RawMessage, len(states))
	for i, st := range states {
		out[i] = pick(stateJSON(threadID, st, false), selected)
	}
	return writeJSON(c, http.StatusOK, list(out))
}

// checkpoint reads the address of a checkpoint: {checkpoint_id?, checkpoint_ns?,
// checkpoint_map?}. Without an id, the map's entry for the namespace counts.
func checkpoint(f *fields, key string) (id, ns string) {
	raw := f.object(key)
	if raw == nil {
		return "", ""
	}
	p, ok := newFields(raw, f.at(key)...)
	if !ok {
		return "", ""
	}
	// Clients join the segments of a nested namespace with NUL (spec/streaming-protocol.md 5.1).
	id, ns = p.uuid("checkpoint_id"), strings.ReplaceAll(p.str("checkpoint_ns"), "\x00", "|")
	if m := p.keyed("checkpoint_map"); id == "" && m != nil {
		at, _ := newFields(encode(m), p.at("checkpoint_map")...)
		id = at.uuid(ns)
		p.issues = append(p.issues, at.issues...)
	}
	f.issues = append(f.issues, p.issues...)
	return id, ns
}

// before reads the field before: a checkpoint id, {configurable: {checkpoint_id}} or {checkpoint_id, …}.
func before(f *fields) string {
	raw := f.raw("before")
	switch kindOf(raw) {
	case "":
		return ""
	case "string":
		return f.uuid("before")
	case "object":
		p, _ := newFields(raw, f.at("before")...)
		if inner := p.object("configurable"); inner != nil {
			p, _ = newFields(inner, p.at("configurable")...)
		}
		id := p.uuid("checkpoint_id")
		f.issues = append(f.issues, p.issues...)
		return id
	}
	f.wrong("before", "string")
	return ""
}
