package server

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/auth"
)

// class is what a caller has to be for a route. Every route has one, here: a route
// that is missing is refused.
type class int

const (
	forNobody    class = iota
	forEverybody       // nobody is asked who they are
	forKnown           // who says who they are, with whatever role
	forViewers
	forOperators
	forStarters  // operators and reviewers: a run, which may be an answer; see mayStart
	forReviewers // of whatever; thread.Options.MayDecide knows of what
	forOwners
)

// needs are the roles one of which a class asks for.
func (c class) needs() []string {
	switch c {
	case forViewers:
		return []string{auth.RoleViewer}
	case forOperators:
		return []string{auth.RoleOperator}
	case forStarters:
		return []string{auth.RoleOperator, auth.RoleReviewer}
	case forReviewers:
		return []string{auth.RoleReviewer}
	case forOwners:
		return []string{auth.RoleOwner}
	}
	return nil
}

// routeClasses has every route by method and path.
var routeClasses = map[string]class{
	"GET /":             forEverybody,
	"GET /info":         forEverybody,
	"GET " + livePath:   forEverybody,
	"GET " + readyPath:  forEverybody,
	"GET /ok":           forKnown,
	"GET /metrics":      forViewers,
	"GET /openapi.json": forViewers,
	"GET /docs":         forViewers,

	"POST /assistants":                                   forOperators,
	"POST /assistants/search":                            forViewers,
	"POST /assistants/count":                             forViewers,
	"GET /assistants/:assistant_id":                      forViewers,
	"PATCH /assistants/:assistant_id":                    forOperators,
	"DELETE /assistants/:assistant_id":                   forOperators,
	"POST /assistants/:assistant_id/versions":            forViewers,
	"POST /assistants/:assistant_id/latest":              forOperators,
	"GET /assistants/:assistant_id/graph":                forViewers,
	"GET /assistants/:assistant_id/schemas":              forViewers,
	"GET /assistants/:assistant_id/subgraphs":            forViewers,
	"GET /assistants/:assistant_id/subgraphs/:namespace": forViewers,
	"POST /threads":                                      forOperators,
	"POST /threads/search":                               forViewers,
	"POST /threads/count":                                forViewers,
	"POST /threads/prune":                                forOperators,
	"GET /threads/:thread_id":                            forViewers,
	"PATCH /threads/:thread_id":                          forOperators,
	"DELETE /threads/:thread_id":                         forOperators,
	"POST /threads/:thread_id/copy":                      forOperators,
	"GET /threads/:thread_id/state":                      forViewers,
	"POST /threads/:thread_id/state":                     forOperators,
	"PATCH /threads/:thread_id/state":                    forOperators,
	"POST /threads/:thread_id/state/checkpoint":          forViewers,
	"GET /threads/:thread_id/state/:checkpoint_id":       forViewers,
	"GET /threads/:thread_id/history":                    forViewers,
	"POST /threads/:thread_id/history":                   forViewers,
	"GET /threads/:thread_id/stream":                     forViewers,
	"POST /threads/:thread_id/stream/events":             forViewers,
	"GET /threads/:thread_id/stream/events":              forViewers, // a socket: see commandClasses
	"POST /threads/:thread_id/commands":                  forViewers, // see commandClasses
	"GET /threads/:thread_id/runs":                       forViewers,
	"POST /threads/:thread_id/runs":                      forStarters,
	"POST /threads/:thread_id/runs/stream":               forStarters,
	"POST /threads/:thread_id/runs/wait":                 forStarters,
	"POST /threads/:thread_id/runs/crons":                forOperators,
	"GET /threads/:thread_id/runs/:run_id":               forViewers,
	"DELETE /threads/:thread_id/runs/:run_id":            forOperators,
	"GET /threads/:thread_id/runs/:run_id/join":          forViewers,
	"GET /threads/:thread_id/runs/:run_id/stream":        forViewers,
	"POST /threads/:thread_id/runs/:run_id/cancel":       forOperators,
	"POST /runs":                  forOperators,
	"POST /runs/stream":           forOperators,
	"POST /runs/wait":             forOperators,
	"POST /runs/batch":            forOperators,
	"POST /runs/cancel":           forOperators,
	"GET /runs/:run_id/stream":    forViewers,
	"GET /feeds/runs":             forViewers,
	"GET /feeds/reviews":          forViewers,
	"POST /runs/crons":            forOperators,
	"POST /runs/crons/search":     forViewers,
	"POST /runs/crons/count":      forViewers,
	"PATCH /runs/crons/:cron_id":  forOperators,
	"DELETE /runs/crons/:cron_id": forOperators,
	"PUT /store/items":            forOperators,
	"GET /store/items":            forViewers,
	"DELETE /store/items":         forOperators,
	"POST /store/items/search":    forViewers,
	"POST /store/namespaces":      forViewers,
	"POST /ui/:agent":             forViewers,
	"GET /ui/:agent/*":            forViewers,
	"POST " + mcpPath:             forViewers, // calls of tools are runs and answers: see mayStart
	"GET " + mcpPath:              forViewers,
	"DELETE " + mcpPath:           forViewers,
	"POST /internal/truncate":     forOwners,

	"POST " + sessionPath:   forEverybody, // it asks itself
	"GET " + sessionPath:    forKnown,
	"DELETE " + sessionPath: forEverybody,

	"GET " + signInOptionsPath: forEverybody,
	"GET " + signInPath:        forEverybody,
	"GET " + signedInPath:      forEverybody, // the state proves that this browser asked
	"POST " + renewPath:        forEverybody, // it asks itself

	"POST " + projects + "/workspaces/:workspace_id/invoke":       forOperators,
	"POST " + projects + "/workspaces/:workspace_id/invokeStream": forOperators,
	"GET " + projects + "/executions":                             forViewers,
	"POST " + projects + "/executions":                            forOperators,
	"GET " + projects + "/executions/:execution_id":               forViewers,
	"POST " + projects + "/executions/:execution_id/resume":       forReviewers,
	"POST " + projects + "/executions/:execution_id/interrupt":    forOperators,
	"GET " + projects + "/sessions/:session_id/runs":              forViewers,

	"GET " + projects + "/reviews":                      forViewers,
	"GET " + projects + "/reviews/stream":               forViewers,
	"GET " + projects + "/reviews/:review_id":           forViewers,
	"POST " + projects + "/reviews/:review_id/decide":   forReviewers,
	"POST " + projects + "/reviews/:review_id/claim":    forReviewers,
	"POST " + projects + "/reviews/:review_id/release":  forReviewers,
	"POST " + projects + "/reviews/:review_id/extend":   forReviewers,
	"POST " + projects + "/reviews/:review_id/comments": forReviewers,
	"POST " + projects + "/reviews/:review_id/presence": forViewers, // it changes nothing

	"GET " + projects + "/deliveries":                     forOperators,
	"POST " + projects + "/deliveries/:delivery_id/retry": forOperators,

	"GET " + projects + "/audit":        forOwners,
	"GET " + projects + "/audit/export": forOwners,
	"GET " + projects + "/audit/verify": forOwners,

	"GET " + projects + "/keys":            forOwners,
	"POST " + projects + "/keys":           forOwners,
	"DELETE " + projects + "/keys/:key_id": forOwners,
}

// projects is the path under which everything belongs to a project.
const projects = "/api/v1/projects/:project_id"

// commandClasses has every command of the thread protocol, over HTTP and over sockets.
// What isn't known is answered with that, and does nothing.
var commandClasses = map[string]class{
	"run.start":                forStarters,
	"input.respond":            forReviewers,
	"input.inject":             forOperators,
	"state.get":                forViewers,
	"state.listCheckpoints":    forViewers,
	"state.fork":               forOperators,
	"agent.getTree":            forViewers,
	"subscription.subscribe":   forViewers,
	"subscription.unsubscribe": forViewers,
	"subscription.reconnect":   forViewers,
}

// classOf is the class of the route that a request was routed to. It says forEverybody of
// what is no route: the router has its own answer to that.
func (s *Server) classOf(c echo.Context) class {
	key := c.Request().Method + " " + c.Path()
	if !s.registered[key] {
		return forEverybody
	}
	return routeClasses[key]
}

var errNoClass = &auth.Error{Status: http.StatusForbidden, Message: "Nobody may use this route: it has no class."}
