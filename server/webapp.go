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
		default:
			return next(c)
		}
		return nil
	}
}

// wantsPage tells a browser's address bar from programs, which get a hint in plain text.
func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }
