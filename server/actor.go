package server

import (
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
)

// requestIDHeader carries the id under which proxies know a request.
const requestIDHeader = "X-Request-Id"

// longestRequestID bounds what an audit entry takes over of it.
const longestRequestID = 128

// actor names, for the audit log, who makes a request; it comes behind authenticate.
func (s *Server) actor(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		a := thread.ActorFrom(r.Context()) // authentication may have said more
		if u := auth.UserFrom(r.Context()); a.Principal == "" && u != nil {
			a.Principal = u.Identity
			if a.Kind == "" {
				a.Kind = "user"
			}
		}
		if a.Kind == "" {
			a.Kind = "anonymous"
		}
		a.Address, a.Via = c.RealIP(), dialect(r.URL.Path)
		if id := r.Header.Get(requestIDHeader); len(id) <= longestRequestID {
			a.RequestID = id
		}
		c.SetRequest(r.WithContext(thread.WithActor(r.Context(), a)))
		return next(c)
	}
}

// dialect is the API that a path belongs to: classic, v2, executions, reviews, audit, keys or mcp.
func dialect(path string) string {
	switch {
	case path == mcpPath:
		return "mcp"
	case strings.HasPrefix(path, "/threads/") && (strings.HasSuffix(path, "/commands") || strings.HasSuffix(path, "/stream/events")):
		return "v2"
	case !strings.HasPrefix(path, "/api/v1/"):
		return "classic"
	}
	switch part := projectPart(path); part {
	case "reviews", "keys", "audit":
		return part
	}
	return "executions"
}

// projectPart is what a path below /api/v1/projects/{project} is about; "" for any other.
func projectPart(path string) string {
	parts := strings.Split(path, "/")
	if len(parts) < 6 {
		return ""
	}
	return parts[5]
}
