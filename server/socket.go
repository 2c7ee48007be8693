package server

import (
	"strings"

	"github.com/labstack/echo/v4"
)

// openSocket is GET /threads/{thread_id}/stream/events (spec/streaming-protocol.md 1.5).
func (s *Server) openSocket(c echo.Context) error {
	if !strings.EqualFold(c.Request().Header.Get("Upgrade"), "websocket") {
		return errRoute
	}
	return errRoute
}
