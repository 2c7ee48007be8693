package server

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
)

// authenticate finds the user of a request to one of the deployment's own routes.
func (s *Server) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !s.isCustom(c) || s.opts.PublicRoutes { // the built-in routes ask themselves
			return next(c)
		}
		if err := s.identify(c); err != nil {
			return err
		}
		return next(c)
	}
}

// admitted lets those pass to a built-in route who may use it.
func (s *Server) admitted(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		class := s.classOf(c)
		if class == forNobody {
			return errNoClass
		}
		if class == forEverybody {
			return next(c)
		}
		if err := s.identify(c); err != nil {
			return err
		}
		u := auth.UserFrom(c.Request().Context())
		if project := c.Param("project_id"); project != "" {
			if err := seesProject(u, project, c.Param("workspace_id")); err != nil && !s.ownsAll(u, project) {
				return err
			}
		} else if u.Unruled() {
			return next(c) // the hooks' authorisers are asked by each route
		}
		if err := mayUse(u, class); err != nil {
			return err
		}
		return next(c)
	}
}

// identify puts the user of a request into its context.
func (s *Server) identify(c echo.Context) error {
	r := c.Request()
	var u *auth.User
	var err error
	if s.opts.Auth != nil {
		u, err = s.opts.Auth.User(r)
	} else {
		u, err = s.identity.user(r)
	}
	if err != nil {
		return err
	}
	if err := s.limiter.Request(limitedAs(u)); err != nil {
		return err
	}
	if u != nil {
		ctx := thread.WithActor(auth.WithUser(r.Context(), u), u.Actor())
		c.SetRequest(r.WithContext(ctx))
	}
	return nil
}

// limitedAs is the name under which a user's requests, streams and runs are counted.
func limitedAs(u *auth.User) string {
	if u == nil {
		return ""
	}
	return u.ProjectID() + "\n" + u.Kind + "\n" + u.Identity
}

// seesProject refuses who can't see a project: to them there is none.
func seesProject(u *auth.User, project, workspace string) error {
	switch {
	case u.Unruled() && u != nil:
		return &auth.Error{Status: http.StatusForbidden, Code: "no_role", Message: "You have no role in any project"}
	case u == nil:
		u = &auth.User{} // a server without an authenticator
	}
	if workspace == "" {
		workspace = u.Workspace
	}
	if !u.Sees(project, workspace) {
		return &thread.NotFoundError{Kind: "project", ID: project}
	}
	return nil
}

// ownsAll reports whether a caller need not say who they are, and so sees every project that there is.
func (s *Server) ownsAll(u *auth.User, project string) bool {
	_, known := s.opts.Projects[project]
	return known && u != nil && u.Kind == auth.KindAnonymous
}

// mayUse refuses who has none of the roles that a class asks for.
func mayUse(u *auth.User, class class) error {
	if class == forNobody {
		return errNoClass
	}
	needs := class.needs()
	if u.Unruled() || len(needs) == 0 {
		return nil
	}
	for _, role := range needs {
		if u.Roles.Has(role) {
			return nil
		}
	}
	return &auth.Error{
		Status: http.StatusForbidden, Code: "missing_role", Message: "This needs the role " + strings.Join(needs, " or "),
	}
}

// mayStart refuses runs that a caller's roles don't cover: new ones are for operators,
// answers for reviewers; of what, thread.Options.MayDecide knows.
func mayStart(u *auth.User, r *thread.StartRun) error {
	if r.Answers() {
		if u != nil && u.Agent {
			return auth.AgentsDecideNothing
		}
		return mayUse(u, forReviewers)
	}
	return mayUse(u, forOperators)
}

// allow asks the authorisers about an event, whose value fill describes. It
// returns their filter and the value as they left it; nil for both when nobody
// is to be asked.
func (s *Server) allow(c echo.Context, resource, action string, fill func(v auth.Value)) (auth.Filter, auth.Value, error) {
	u := knownUser(c)
	if u == nil {
		return nil, nil, nil
	}
	e := &auth.Event{Resource: resource, Action: action, User: u, Value: auth.Value{}}
	if fill != nil {
		fill(e.Value)
	}
	f, err := s.hooks.Authorize(c.Request().Context(), e)
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

// knownUser is the user of a request, unless they need not say who they are: then
// agents get none, as on a server without auth.
func knownUser(c echo.Context) *auth.User {
	u := auth.UserFrom(c.Request().Context())
	if u == nil || u.Kind == auth.KindAnonymous {
		return nil
	}
	return u
}

// cronUser names whose cron it is, for clients and for its runs.
func cronUser(c echo.Context) string {
	if u := knownUser(c); u != nil {
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
