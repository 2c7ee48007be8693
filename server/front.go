package server

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// hint is what GET / answers: whoever opens the address in a browser looks for a page.
const hint = `Parley serves an HTTP API at this address.
/docs  what it offers, with its fields
/info  version and features
`

// front is GET /. It is no endpoint of the API, and a deployment may put a page there.
func front(c echo.Context) error { return c.String(http.StatusOK, hint) }
