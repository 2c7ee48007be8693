package server

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// hint is what GET / answers to programs: whoever opens the address in a browser gets the app (webapp.go).
const hint = `Parley serves an HTTP API at this address, and a web app to browsers.
/app/  the app: chat with approvals, reviewers' inbox, executions, audit log
/docs  what the API offers, with its fields
/info  version and features
`

// frontJSON is the same for those who ask for JSON.
type frontJSON struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	App     string `json:"app"`
	Docs    string `json:"docs"`
	OpenAPI string `json:"openapi"`
	Info    string `json:"info"`
}

// front is GET /. It is no endpoint of the API, and a deployment may put a page there.
func front(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderVary, echo.HeaderAccept)
	if strings.Contains(c.Request().Header.Get(echo.HeaderAccept), echo.MIMEApplicationJSON) {
		return writeJSON(c, http.StatusOK, frontJSON{
			Name: "parley", Message: "An HTTP API; browsers get a web app here.", App: "/app/", Docs: "/docs", OpenAPI: "/openapi.json", Info: "/info",
		})
	}
	return c.String(http.StatusOK, hint)
}
