// Package reviews is the HTTP API of reviews, of the audit log and of dead letters, under
// /api/v1/projects/{project_id} (decisions 20). It decodes, calls package thread and encodes;
// who may use a route is decided before it is called.
package reviews

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/feeds"
	"github.com/parley-dev/parley/thread"
)

// Options are what the API needs of its server.
type Options struct {
	Service *thread.Service
	// Feed gives hints of changes; its projects are created when somebody follows them.
	Feed *feeds.Feed
	// Body reads a request's body as JSON; an empty one is {}.
	Body func(c echo.Context) (json.RawMessage, error)
	// Follow has a stream sent until its end; see feeds.Feed.Serve.
	Follow func(c echo.Context, serve func(w http.ResponseWriter, r *http.Request) error) error
	// Complete adds to a run what it takes from the request that starts it: headers, user, idempotency key.
	Complete func(c echo.Context, r *thread.StartRun)
	// Writer is where long replies are written to.
	Writer func(c echo.Context) http.ResponseWriter
}

// API serves the routes.
type API struct{ o Options }

// New returns the API.
func New(o Options) *API { return &API{o} }

// Route is an endpoint below /api/v1/projects/:project_id.
type Route struct {
	Method, Path string
	Handler      echo.HandlerFunc
}

// Routes lists all endpoints.
func (a *API) Routes() []Route {
	const get, post = http.MethodGet, http.MethodPost
	return []Route{
		{get, "/reviews", a.list},
		{get, "/reviews/stream", a.follow},
		{get, "/reviews/:review_id", a.get},
		{post, "/reviews/:review_id/decide", a.decide},
		{post, "/reviews/:review_id/claim", a.claim},
		{post, "/reviews/:review_id/release", a.release},
		{post, "/reviews/:review_id/extend", a.extend},
		{post, "/reviews/:review_id/comments", a.comment},
		{post, "/reviews/:review_id/presence", a.look},
		{get, "/audit", a.audit},
		{get, "/audit/export", a.export},
		{get, "/audit/verify", a.verify},
		{get, "/deliveries", a.deliveries},
		{post, "/deliveries/:delivery_id/retry", a.retry},
	}
}

// review finds the review of the path, if the caller may see it.
func (a *API) review(c echo.Context) (thread.Review, error) {
	id := c.Param("review_id")
	r, err := a.o.Service.Review(c.Request().Context(), id)
	if err != nil {
		return r, err
	}
	if u := auth.UserFrom(c.Request().Context()); r.Project != c.Param("project_id") || !u.SeesReview(r) {
		return thread.Review{}, &thread.NotFoundError{Kind: "review", ID: id}
	}
	return r, nil
}

// get is GET …/reviews/{review_id}.
func (a *API) get(c echo.Context) error {
	r, err := a.review(c)
	if err != nil {
		return err
	}
	return a.reply(c, r)
}

// reply sends a review, whole.
func (a *API) reply(c echo.Context, r thread.Review) error {
	one, err := a.encoder(c).review(c.Request().Context(), r, true)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, one)
}

// follow is GET …/reviews/stream.
func (a *API) follow(c echo.Context) error { return a.Follow(c, c.Param("project_id")) }

// Follow sends a project's hints.
func (a *API) Follow(c echo.Context, project string) error {
	a.o.Feed.Create(project)
	return a.o.Follow(c, func(w http.ResponseWriter, r *http.Request) error { return a.o.Feed.Serve(w, r, project) })
}

// writeJSON sends a value; what is JSON already keeps its bytes.
func writeJSON(c echo.Context, status int, value any) error {
	b, err := encode(value)
	if err != nil {
		return err
	}
	return c.Blob(status, echo.MIMEApplicationJSON, b)
}

func encode(value any) ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

// stamp is a time as clients read it; nil for zero.
func stamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format("2006-01-02T15:04:05.000Z")
	return &s
}

// nullable is a text; nil for none.
func nullable(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
