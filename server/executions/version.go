package executions

import (
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/apierror"
)

// A caller can pin the version of this API that it was written for, by its date, in the Accept header. A pin means
// the API as it was on that date: there has been one version so far, from FirstVersion on, and what lies behind
// NewestVersion is not known.
const (
	FirstVersion  = "2025-01-01"
	NewestVersion = "2026-11-30"

	versionPrefix = "application/vnd.agent-engine-"
	versionSuffix = "-preview+json"
)

// pinned refuses, with 406, requests that want a version which isn't known.
func pinned(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if wanted, ok := acceptable(c.Request().Header.Values("Accept")); !ok {
			return apierror.New(http.StatusNotAcceptable, "INVALID_VERSION_DATE",
				"There is no version "+wanted+" of this API; known are "+FirstVersion+" to "+NewestVersion+".", FirstVersion, NewestVersion)
		}
		return next(c)
	}
}

// acceptable reports whether one of the types that a caller accepts can be served; wanted is the first that can't.
func acceptable(accept []string) (wanted string, ok bool) {
	for _, name := range strings.Split(strings.Join(accept, ","), ",") {
		kind, _, err := mime.ParseMediaType(name)
		if err != nil { // also: none
			kind = strings.ToLower(strings.TrimSpace(name))
		}
		rest, pin := strings.CutPrefix(kind, versionPrefix)
		if !pin {
			ok = ok || kind != ""
			continue
		}
		date, preview := strings.CutSuffix(rest, versionSuffix)
		if _, err := time.Parse(time.DateOnly, date); err == nil && preview && date >= FirstVersion && date <= NewestVersion {
			return "", true
		}
		if wanted == "" {
			wanted = date
		}
	}
	return wanted, ok || wanted == ""
}
