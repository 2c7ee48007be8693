package server

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/thread"
)

// truncate is POST /internal/truncate, served only where Options.Truncate allows it.
func (s *Server) truncate(c echo.Context) error {
	f, err := s.object(c)
	if err != nil {
		return err
	}
	t := thread.Truncate{
		Runs: f.boolean("runs"), Threads: f.boolean("threads"), Assistants: f.boolean("assistants"),
		Checkpoints: f.boolean("checkpointer"), Items: f.boolean("store"),
	}
	if err := f.err(); err != nil {
		return err
	}
	store, ok := s.svc.Store().(thread.Truncater)
	if !ok {
		return errRoute
	}
	if err := store.Truncate(c.Request().Context(), t); err != nil {
		return err
	}
	return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, []byte(`{"ok":true}`))
}
