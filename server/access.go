package server

import (
	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
)

// authenticate finds the user of each request; /info is open to all (spec/rest-api.md 1.10), and so are the probes.
func (s *Server) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		switch r.URL.Path {
		case "/info", livePath, readyPath:
			return next(c)
		}
		if s.opts.PublicRoutes && s.isCustom(c) {
			return next(c)
		}
		u, err := s.opts.Auth.User(r)
		if err != nil {
			return err
		}
		if u != nil {
			c.SetRequest(r.WithContext(auth.WithUser(r.Context(), u)))
		}
		return next(c)
	}
}

// allow asks the authorisers about an event, whose value fill describes. It
// returns their filter and the value as they left it; nil for both when nobody
// is to be asked.
func (s *Server) allow(c echo.Context, resource, action string, fill func(v auth.Value)) (auth.Filter, auth.Value, error) {
	u := auth.UserFrom(c.Request().Context())
	if s.opts.Auth == nil || u == nil {
		return nil, nil, nil
	}
	e := &auth.Event{Resource: resource, Action: action, User: u, Value: auth.Value{}}
	if fill != nil {
		fill(e.Value)
	}
	f, err := s.opts.Auth.Authorize(c.Request().Context(), e)
	if err != nil {
		return nil, nil, err
	}
	return f, e.Value, nil
}

// allowThread asks for an action on a thread, and tells a foreign thread from
// an own one: a foreign one is not found. Without auth it does nothing; whether
// the thread exists is found out by the action itself.
func (s *Server) allowThread(c echo.Context, action, threadID string) error {
	f, _, err := s.allow(c, "threads", action, func(v auth.Value) { v["thread_id"] = encode(threadID) })
	if err != nil || len(f) == 0 {
		return err
	}
	t, err := s.svc.GetThread(c.Request().Context(), threadID)
	if err != nil {
		return err
	}
	if !f.Matches(t.Metadata) {
		return &thread.NotFoundError{Kind: "thread", ID: threadID}
	}
	return nil
}

// assistant resolves an assistant that the user may see.
func (s *Server) assistant(c echo.Context, action, idOrGraph string) (thread.Assistant, error) {
	f, _, err := s.allow(c, "assistants", action, func(v auth.Value) { v["assistant_id"] = encode(idOrGraph) })
	if err != nil {
		return thread.Assistant{}, err
	}
	a, err := s.svc.Assistant(c.Request().Context(), idOrGraph)
	if err != nil {
		return thread.Assistant{}, err
	}
	if !f.Matches(a.Metadata) {
		return thread.Assistant{}, &thread.NotFoundError{Kind: "assistant", ID: idOrGraph}
	}
	return a, nil
}

// principal names who makes the request; "" when nobody was authenticated.
func principal(c echo.Context) string {
	if u := auth.UserFrom(c.Request().Context()); u != nil {
		return u.Identity
	}
	return ""
}

// metadataFrom reads the metadata that authorisers left in a value; own when they were not asked.
func metadataFrom(v auth.Value, own thread.Metadata) thread.Metadata {
	if v == nil {
		return own
	}
	f, ok := newFields(v["metadata"])
	if !ok {
		return own
	}
	return f.values
}
