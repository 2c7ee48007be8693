package reviews

import (
	"encoding/json"
	"net/http"
	"regexp"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/apierror"
	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
)

// viewer is somebody who looks at a review; Principal is null for who need not say who they are.
type viewer struct {
	Principal *string `json:"principal"`
}

// tabs is what a tab's id looks like.
var tabs = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// boolean is true or false; false when it is absent.
func (f *fields) boolean(key string) bool {
	v := f.raw(key)
	var yes bool
	if v != nil && json.Unmarshal(v, &yes) != nil {
		f.bad(apierror.CodeInvalid, key, key+" must be true or false.")
	}
	return yes
}

// look is POST …/reviews/{review_id}/presence {"tab", "leave"}: the caller looks at the review, or no longer. It tells who
// else does. It is to be repeated well within ttl_seconds.
func (a *API) look(c echo.Context) error {
	r, err := a.review(c)
	if err != nil {
		return err
	}
	f, err := a.fields(c)
	if err != nil {
		return err
	}
	f.only("tab", "leave")
	v := thread.Viewer{Tab: f.text("tab")}
	if v.Tab != "" && !tabs.MatchString(v.Tab) {
		f.bad(apierror.CodeInvalid, "tab", "tab must be 1 to 64 letters, digits, _ and -.")
	}
	leave := f.boolean("leave")
	if err := f.err(); err != nil {
		return err
	}
	if u := auth.UserFrom(c.Request().Context()); u != nil {
		v.Principal = u.Identity
	}
	ctx := c.Request().Context()
	out := struct {
		Viewers []viewer `json:"viewers"`
		TTL     int      `json:"ttl_seconds"`
	}{[]viewer{}, int(thread.PresenceTTL / time.Second)}
	if leave {
		err = a.o.Service.LookAway(ctx, r, v)
	} else {
		var others []thread.Viewer
		others, err = a.o.Service.LookAt(ctx, r, v)
		for _, o := range others {
			out.Viewers = append(out.Viewers, viewer{nullable(o.Principal)})
		}
	}
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return writeJSON(c, http.StatusOK, out)
}
