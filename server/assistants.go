package server

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
)

var errAssistantExists = &textError{http.StatusConflict, "Assistant already exists"}

// createAssistant is POST /assistants. Whether the graph exists is not checked.
func (s *Server) createAssistant(c echo.Context) error {
	f, err := s.object(c)
	if err != nil {
		return err
	}
	f.require("graph_id")
	a := thread.Assistant{
		ID: f.uuid("assistant_id"), GraphID: f.str("graph_id"), Name: "Untitled",
		Config: f.object("config"), Context: f.raw("context"), Metadata: f.metadata(),
	}
	if name, ok := f.optional("name"); ok {
		a.Name = name
	}
	if d, ok := f.optional("description"); ok {
		a.Description = &d
	}
	doNothing := f.enum("if_exists", "raise", "raise", "do_nothing") == "do_nothing"
	if err := f.err(); err != nil {
		return err
	}
	filter, value, err := s.allow(c, "assistants", "create", func(v auth.Value) {
		searchValue(f)(v)
		v["metadata"] = metadataOf(a.Metadata)
	})
	if err != nil {
		return err
	}
	a.Metadata = metadataFrom(value, a.Metadata)
	if a.ID == "" {
		a.ID = newID()
	} else if len(filter) > 0 {
		old, err := s.svc.Assistant(c.Request().Context(), a.ID)
		if err == nil && !filter.Matches(old.Metadata) {
			return errAssistantExists
		}
	}
	made, err := s.svc.CreateAssistant(c.Request().Context(), a, doNothing)
	switch {
	case errors.Is(err, thread.ErrExists):
		return errAssistantExists
	case err != nil:
		return err
	case filter.Matches(a.Metadata) && !filter.Matches(made.Metadata):
		return errAssistantExists // someone else's, created since the look
	}
	return writeJSON(c, http.StatusOK, assistantJSON(made, false))
}

// newID mints an id: a UUID whose order is that of time.
func newID() string {
	id, err := uuid.NewV7()
	if err != nil { // no randomness: nothing that follows would be safe
		panic(err)
	}
	return id.String()
}

// searchAssistants is POST /assistants/search.
func (s *Server) searchAssistants(c echo.Context) error {
	f, err := s.object(c)
	if err != nil {
		return err
	}
	q := assistantQuery(f)
	q.Limit, q.Offset = s.page(f)
	q.SortBy = f.enum("sort_by", "created_at", "assistant_id", "graph_id", "name", "created_at", "updated_at")
	q.SortAsc = f.enum("sort_order", "desc", "asc", "desc") == "asc"
	selected := f.strings("select")
	if err := f.err(); err != nil {
		return err
	}
	if q.Filter, _, err = s.allow(c, "assistants", "search", searchValue(f)); err != nil {
		return err
	}
	found, total, err := s.svc.Store().SearchAssistants(c.Request().Context(), q)
	if err != nil {
		return err
	}
	out := make([]json.RawMessage, len(found))
	for i, a := range found {
		out[i] = pick(assistantJSON(a, false), selected)
	}
	paginate(c, total, q.Offset, len(out))
	return writeJSON(c, http.StatusOK, list(out))
}

// countAssistants is POST /assistants/count.
func (s *Server) countAssistants(c echo.Context) error {
	f, err := s.object(c)
	if err != nil {
		return err
	}
	q := assistantQuery(f)
	q.Limit = 1
	if err := f.err(); err != nil {
		return err
	}
	if q.Filter, _, err = s.allow(c, "assistants", "search", searchValue(f)); err != nil {
		return err
	}
	_, total, err := s.svc.Store().SearchAssistants(c.Request().Context(), q)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, total)
}

func assistantQuery(f *fields) thread.AssistantQuery {
	return thread.AssistantQuery{GraphID: f.str("graph_id"), Name: f.str("name"), Metadata: f.conditions("metadata")}
}

// getAssistant is GET /assistants/{assistant_id}.
func (s *Server) getAssistant(c echo.Context) error {
	a, err := s.assistant(c, "read", param(c, "assistant_id"))
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, assistantJSON(a, false))
}

// patchAssistant is PATCH /assistants/{assistant_id}; each one makes a new version.
func (s *Server) patchAssistant(c echo.Context) error {
	f, err := s.object(c)
	if err != nil {
		return err
	}
	p := thread.AssistantPatch{Config: f.object("config"), Context: f.raw("context"), Metadata: f.metadata()}
	for key, field := range map[string]**string{"graph_id": &p.GraphID, "name": &p.Name, "description": &p.Description} {
		if v, ok := f.optional(key); ok {
			*field = &v
		}
	}
	if err := f.err(); err != nil {
		return err
	}
	id := param(c, "assistant_id")
	filter, value, err := s.allow(c, "assistants", "update", func(v auth.Value) {
		searchValue(f)(v)
		v["assistant_id"], v["metadata"] = encode(id), metadataOf(p.Metadata)
	})
	if err != nil {
		return err
	}
	a, err := s.ownAssistant(c, filter, id)
	if err != nil {
		return err
	}
	p.Metadata = metadataFrom(value, p.Metadata)
	if a, err = s.svc.PatchAssistant(c.Request().Context(), a.ID, p); err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, assistantJSON(a, false))
}

// ownAssistant resolves an assistant that matches the filter.
func (s *Server) ownAssistant(c echo.Context, filter auth.Filter, idOrGraph string) (thread.Assistant, error) {
	a, err := s.svc.Assistant(c.Request().Context(), idOrGraph)
	if err == nil && !filter.Matches(a.Metadata) {
		err = &thread.NotFoundError{Kind: "assistant", ID: idOrGraph}
	}
	return a, err
}

// deleteAssistant is DELETE /assistants/{assistant_id}.
func (s *Server) deleteAssistant(c echo.Context) error {
	a, err := s.assistant(c, "delete", param(c, "assistant_id"))
	if err != nil {
		return err
	}
	if err := s.svc.DeleteAssistant(c.Request().Context(), a.ID, truthy(c.QueryParam("delete_threads"))); err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, []string{a.ID})
}

// assistantVersions is POST /assistants/{assistant_id}/versions.
func (s *Server) assistantVersions(c echo.Context) error {
	f, err := s.object(c)
	if err != nil {
		return err
	}
	limit, offset := s.page(f)
	metadata := f.conditions("metadata")
	if err := f.err(); err != nil {
		return err
	}
	id := param(c, "assistant_id")
	missing := &textError{http.StatusNotFound, `Assistant "` + id + `" not found.`}
	a, err := s.assistant(c, "read", id)
	if errors.Is(err, thread.ErrNotFound) {
		return missing
	} else if err != nil {
		return err
	}
	versions, err := s.svc.Store().AssistantVersions(c.Request().Context(), a.ID, metadata, limit, offset)
	switch {
	case err != nil && !errors.Is(err, thread.ErrNotFound):
		return err
	case len(versions) == 0:
		return missing
	}
	out := make([]json.RawMessage, len(versions))
	for i, v := range versions {
		out[i] = assistantJSON(v, true)
	}
	return writeJSON(c, http.StatusOK, list(out))
}

// setLatestVersion is POST /assistants/{assistant_id}/latest.
func (s *Server) setLatestVersion(c echo.Context) error {
	f, err := s.object(c)
	if err != nil {
		return err
	}
	f.require("version")
	version := f.integer("version", 0, 1, 1<<31-1)
	if err := f.err(); err != nil {
		return err
	}
	a, err := s.assistant(c, "update", param(c, "assistant_id"))
	if err != nil {
		return err
	}
	if a, err = s.svc.SetAssistantVersion(c.Request().Context(), a.ID, version); err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, assistantJSON(a, false))
}
