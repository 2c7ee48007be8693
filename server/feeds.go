package server

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/feeds"
	"github.com/parley-dev/parley/stream"
)

// followRuns is GET /feeds/runs. Who may search threads may know that one has
// changed: hints have no content that a filter could narrow.
func (s *Server) followRuns(c echo.Context) error {
	if _, _, err := s.allow(c, "threads", "search", nil); err != nil {
		return err
	}
	return s.serveStream(c, stream.Options{}, func(stream.Options) serveFunc {
		return func(w http.ResponseWriter, r *http.Request) error { return s.runs.Serve(w, r, feeds.DefaultProject) }
	})
}
