package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/feeds"
	"github.com/parley-dev/parley/stream"
	"github.com/parley-dev/parley/thread"
)

// followRuns is GET /feeds/runs: the hints of the caller's own project. Who may search threads may know that one has
// changed: hints have no content that a filter could narrow.
func (s *Server) followRuns(c echo.Context) error {
	if _, _, err := s.allow(c, "threads", "search", nil); err != nil {
		return err
	}
	project := auth.UserFrom(c.Request().Context()).ProjectID()
	s.runs.Create(project)
	return s.serveStream(c, stream.Options{}, func(stream.Options) serveFunc {
		return func(w http.ResponseWriter, r *http.Request) error { return s.runs.Serve(w, r, project) }
	})
}

// projectOfThread finds whose hints a change of a thread belongs to.
func (s *Server) projectOfThread(ctx context.Context, threadID string) (string, error) {
	t, err := s.store.GetThread(ctx, threadID)
	if errors.Is(err, thread.ErrNotFound) {
		return "", feeds.ErrProject
	}
	project, _ := thread.ScopeOf(t.Metadata)
	return project, err
}
