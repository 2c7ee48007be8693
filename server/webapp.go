package server

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/web"
)

// webApp serves the browser app: its files and pages below /app/ and /reviews, and GET / for
// browsers. It stands before authentication: the app itself asks who one is. A deployment's
// own routes win.
func (s *Server) webApp(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if r.Method != http.MethodGet && r.Method != http.MethodHead || s.isCustom(c) {
			return next(c)
		}
		switch at := r.URL.Path; {
		case strings.HasPrefix(at, web.Base):
			web.Files(c.Response(), r)
		case at+"/" == web.Base, at == "/reviews", strings.HasPrefix(at, "/reviews/"), at == "/" && wantsPage(r):
			web.Page(c.Response(), r)
		case wantsPage(r) && pageOf(r) != "":
			c.Response().Header().Set(echo.HeaderVary, echo.HeaderAccept)
			return c.Redirect(http.StatusFound, pageOf(r))
		default:
			return next(c)
		}
		return nil
	}
}

// plainPages are the addresses that people type for the app's pages. No route of the API begins so: those of
// threads, runs, assistants and /docs stay the API's for everybody, browsers too.
var plainPages = map[string]string{
	"chat": "/app/chat", "executions": "/app/executions", "audit": "/app/audit", "keys": "/app/access", "access": "/app/access",
}

// pageOf is the app's address for a plain one, with what stands behind it; "" for all others.
func pageOf(r *http.Request) string {
	name, rest, deeper := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	to := plainPages[name]
	if to == "" {
		return ""
	}
	if deeper && rest != "" {
		to += "/" + rest
	}
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	return to
}

// wantsPage tells a browser's address bar from programs: those that want anything get what the API has there.
func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }
