package server

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/feeds"
	"github.com/parley-dev/parley/server/reviews"
	"github.com/parley-dev/parley/stream"
	"github.com/parley-dev/parley/thread"
)

// reviewsAPI builds the API of reviews, audit and dead letters.
func (s *Server) reviewsAPI() *reviews.API {
	return reviews.New(reviews.Options{
		Service: s.svc, Feed: s.reviewFeed, Body: s.readBody, Complete: s.fromRequest, Writer: direct,
		Follow: func(c echo.Context, serve func(http.ResponseWriter, *http.Request) error) error {
			return s.serveStream(c, stream.Options{}, func(stream.Options) serveFunc { return serve })
		},
	})
}

// reviewRoutes are the routes of reviews.API, and its feed beside that of runs.
func (s *Server) reviewRoutes() []route {
	list := []route{{http.MethodGet, "/feeds/reviews", s.followReviews}}
	for _, r := range s.reviewsAPI().Routes() {
		list = append(list, route{r.Method, projects + r.Path, r.Handler})
	}
	return list
}

// followReviews is GET /feeds/reviews: the hints of the caller's own project. Who may search
// threads may know that a question of one has changed; see followRuns.
func (s *Server) followReviews(c echo.Context) error {
	if _, _, err := s.allow(c, "threads", "search", nil); err != nil {
		return err
	}
	return s.reviewsAPI().Follow(c, auth.UserFrom(c.Request().Context()).ProjectID())
}

// publisher is what the service tells of events: the hub and, of runs and reviews, the feeds.
func (s *Server) publisher() thread.Publisher {
	runs := feeds.WatchRuns(s.hub, func(threadID string) {
		if t := s.runThreads.Load(); t != nil { // nobody can follow before
			t.Changed(threadID)
		}
	})
	return feeds.WatchReviews(runs, s.reviewFeed.Changed)
}
