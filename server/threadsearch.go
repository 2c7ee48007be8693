package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
)

// searchThreads is POST /threads/search.
func (s *Server) searchThreads(c echo.Context) error {
	f, err := s.object(c)
	if err != nil {
		return err
	}
	q, values := threadQuery(f)
	q.IDs = f.ids("ids")
	q.Limit, q.Offset = s.page(f)
	q.SortBy = f.enum("sort_by", "created_at", "thread_id", "status", "created_at", "updated_at", "state_updated_at")
	q.SortAsc = f.enum("sort_order", "desc", "asc", "desc") == "asc"
	selected, extract := f.strings("select"), extractions(f)
	if err := f.err(); err != nil {
		return err
	}
	if q.Filter, _, err = s.allow(c, "threads", "search", searchValue(f)); err != nil {
		return err
	}
	found, total, err := s.svc.SearchThreads(c.Request().Context(), q, values)
	if err != nil {
		return err
	}
	out := make([]json.RawMessage, len(found))
	for i, t := range found {
		view := thread.ThreadView{Thread: t}
		if wantsValues(selected) || len(extract) > 0 {
			if view, err = s.svc.ViewThread(c.Request().Context(), t); err != nil {
				return err
			}
		}
		o := threadObject(view)
		if len(selected) > 0 {
			o.any("state_updated_at", timeOrNull(t.StateUpdatedAt)).raw("error", t.Error)
		}
		if len(extract) > 0 {
			o.raw("extracted", extract.from(view.Values, metadataOf(t.Metadata)))
		}
		out[i] = pick(o.done(), selected)
	}
	paginate(c, total, q.Offset, len(out))
	return writeJSON(c, http.StatusOK, list(out))
}

// wantsValues reports whether a selection needs a thread's state.
func wantsValues(selected []string) bool {
	for _, s := range selected {
		if s == "values" || s == "interrupts" || strings.HasPrefix(s, "values.") {
			return true
		}
	}
	return len(selected) == 0
}

// countThreads is POST /threads/count.
func (s *Server) countThreads(c echo.Context) error {
	f, err := s.object(c)
	if err != nil {
		return err
	}
	q, values := threadQuery(f)
	if err := f.err(); err != nil {
		return err
	}
	q.CountOnly = true
	if q.Filter, _, err = s.allow(c, "threads", "search", searchValue(f)); err != nil {
		return err
	}
	_, total, err := s.svc.SearchThreads(c.Request().Context(), q, values)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, total)
}

// threadQuery reads what search and count have in common.
func threadQuery(f *fields) (thread.ThreadQuery, thread.Metadata) {
	status := f.enum("status", "", "idle", "busy", "interrupted", "error")
	return thread.ThreadQuery{Metadata: f.conditions("metadata"), Status: thread.Status(status)}, f.conditions("values")
}

// pruneThreads is POST /threads/prune.
func (s *Server) pruneThreads(c echo.Context) error {
	f, err := s.object(c)
	if err != nil {
		return err
	}
	f.require("thread_ids")
	ids := f.ids("thread_ids")
	strategy := f.enum("strategy", "delete", "delete", "keep_latest")
	if err := f.err(); err != nil {
		return err
	}
	own := ids[:0]
	for _, id := range ids {
		switch err := s.allowThread(c, "delete", id); {
		case err == nil:
			own = append(own, id)
		case !errors.Is(err, thread.ErrNotFound):
			return err
		}
	}
	n, err := s.svc.PruneThreads(c.Request().Context(), own, strategy)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, map[string]int{"pruned_count": n})
}

// page reads limit and offset of a search.
func (s *Server) page(f *fields) (limit, offset int) {
	return f.integer("limit", 10, 1, s.limits.Page), f.integer("offset", 0, 0, 1<<31-1)
}

// paginate tells how many rows there are and where the next page starts (spec/rest-api.md 1.8).
func paginate(c echo.Context, total, offset, rows int) {
	h := c.Response().Header()
	h.Set("X-Pagination-Total", strconv.Itoa(total))
	if next := offset + rows; rows > 0 && next < total {
		h.Set("X-Pagination-Next", strconv.Itoa(next))
	}
}

// searchValue describes a search to the authorisers: its fields as they came.
func searchValue(f *fields) func(v auth.Value) {
	return func(v auth.Value) {
		for k, raw := range f.values {
			v[k] = raw
		}
	}
}
