package server

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// route is one endpoint. Every route is in openapi.json, too; a test compares them.
type route struct {
	method, path string
	handler      echo.HandlerFunc
}

// routes lists all built-in endpoints (spec/rest-api.md 2). POST
// /threads/:thread_id/commands and GET, POST /threads/:thread_id/stream/events
// are kept free for the thread protocol.
func (s *Server) routes() []route {
	const get, post, put, patch, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete
	list := []route{
		{get, "/ok", s.ok},
		{get, livePath, s.live},
		{get, readyPath, s.ready},
		{get, "/info", s.info},
		{get, "/metrics", s.metricsPage},
		{get, "/openapi.json", s.openAPI},
		{get, "/docs", s.docs},

		{post, "/assistants", s.createAssistant},
		{post, "/assistants/search", s.searchAssistants},
		{post, "/assistants/count", s.countAssistants},
		{get, "/assistants/:assistant_id", s.getAssistant},
		{patch, "/assistants/:assistant_id", s.patchAssistant},
		{del, "/assistants/:assistant_id", s.deleteAssistant},
		{post, "/assistants/:assistant_id/versions", s.assistantVersions},
		{post, "/assistants/:assistant_id/latest", s.setLatestVersion},
		{get, "/assistants/:assistant_id/graph", s.assistantGraph},
		{get, "/assistants/:assistant_id/schemas", s.assistantSchemas},
		{get, "/assistants/:assistant_id/subgraphs", s.assistantSubgraphs},
		{get, "/assistants/:assistant_id/subgraphs/:namespace", s.assistantSubgraphs},

		{post, "/threads", s.createThread},
		{post, "/threads/search", s.searchThreads},
		{post, "/threads/count", s.countThreads},
		{post, "/threads/prune", s.pruneThreads},
		{get, "/threads/:thread_id", s.getThread},
		{patch, "/threads/:thread_id", s.patchThread},
		{del, "/threads/:thread_id", s.deleteThread},
		{post, "/threads/:thread_id/copy", s.copyThread},
		{get, "/threads/:thread_id/state", s.getState},
		{post, "/threads/:thread_id/state", s.updateState},
		{patch, "/threads/:thread_id/state", s.patchState},
		{post, "/threads/:thread_id/state/checkpoint", s.postStateAt},
		{get, "/threads/:thread_id/state/:checkpoint_id", s.getStateAt},
		{get, "/threads/:thread_id/history", s.getHistory},
		{post, "/threads/:thread_id/history", s.postHistory},
		{get, "/threads/:thread_id/stream", s.followThread},
		{post, "/threads/:thread_id/stream/events", s.postEvents},
		{get, "/threads/:thread_id/stream/events", s.openSocket},
		{post, "/threads/:thread_id/commands", s.postCommand},

		{get, "/threads/:thread_id/runs", s.listRuns},
		{post, "/threads/:thread_id/runs", s.createRun},
		{post, "/threads/:thread_id/runs/stream", s.streamRun},
		{post, "/threads/:thread_id/runs/wait", s.waitRun},
		{post, "/threads/:thread_id/runs/crons", s.createCron},
		{get, "/threads/:thread_id/runs/:run_id", s.getRun},
		{del, "/threads/:thread_id/runs/:run_id", s.deleteRun},
		{get, "/threads/:thread_id/runs/:run_id/join", s.joinRun},
		{get, "/threads/:thread_id/runs/:run_id/stream", s.joinStream},
		{post, "/threads/:thread_id/runs/:run_id/cancel", s.cancelRun},

		{post, "/runs", s.createStateless},
		{post, "/runs/stream", s.streamStateless},
		{post, "/runs/wait", s.waitStateless},
		{post, "/runs/batch", s.batchRuns},
		{post, "/runs/cancel", s.cancelRuns},
		{get, "/runs/:run_id/stream", s.joinStatelessStream},
		{get, "/feeds/runs", s.followRuns},

		{post, "/runs/crons", s.createCron},
		{post, "/runs/crons/search", s.searchCrons},
		{post, "/runs/crons/count", s.countCrons},
		{patch, "/runs/crons/:cron_id", s.patchCron},
		{del, "/runs/crons/:cron_id", s.deleteCron},

		{put, "/store/items", s.putItem},
		{get, "/store/items", s.getItem},
		{del, "/store/items", s.deleteItem},
		{post, "/store/items/search", s.searchItems},
		{post, "/store/namespaces", s.listNamespaces},
	}
	list = append(list,
		route{post, sessionPath, s.postSession}, route{get, sessionPath, s.getSession}, route{del, sessionPath, s.deleteSession},
		route{get, signInOptionsPath, s.getSignInOptions}, route{get, signInPath, s.startSignIn}, route{get, signedInPath, s.finishSignIn},
		route{post, renewPath, s.renewSession},
		route{get, projects + "/keys", s.listKeys}, route{post, projects + "/keys", s.createKey}, route{del, projects + "/keys/:key_id", s.revokeKey},
	)
	list = append(list, s.executionRoutes()...)
	list = append(list, s.reviewRoutes()...)
	if len(s.opts.UI) > 0 {
		list = append(list, route{post, "/ui/:agent", s.uiEntry}, route{get, "/ui/:agent/*", s.uiFile})
	}
	if s.opts.MCP != nil {
		list = append(list, route{post, mcpPath, s.serveMCP}, route{get, mcpPath, s.noMCPStream}, route{del, mcpPath, s.noMCPStream})
	}
	if s.opts.Truncate {
		list = append(list, route{post, "/internal/truncate", s.truncate})
	}
	return list
}

// rest is the path under which a deployment's echo hands on to the built-in routes.
const rest = "/*"

// router builds the server's handler: the deployment's routes and middleware
// around the built-in ones.
func (s *Server) router() *echo.Echo {
	api := s.newEcho()
	api.GET("/", front)
	for _, r := range s.routes() {
		api.Add(r.method, r.path, r.handler)
	}
	if s.opts.Routes == nil {
		api.Use(s.opts.Middleware...)
		api.Use(s.webApp)
	}
	api.Use(guarded, traced, s.admitted, s.actor)
	s.register(api)
	if s.opts.Routes == nil {
		return api
	}
	outer := s.newEcho()
	outer.Use(s.opts.Middleware...)
	s.opts.Routes(outer)
	outer.Use(s.webApp, s.authenticate, s.actor)
	taken := map[string]bool{}
	for _, r := range outer.Routes() {
		if r.Path == rest {
			taken[r.Method] = true
		}
	}
	next := func(c echo.Context) error {
		api.ServeHTTP(c.Response(), c.Request())
		return nil
	}
	for _, m := range []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	} {
		if !taken[m] {
			outer.Add(m, rest, next)
		}
	}
	s.custom = outer
	return outer
}

// register remembers which routes there are, so that none goes without a class.
func (s *Server) register(api *echo.Echo) {
	s.registered = map[string]bool{}
	for _, r := range api.Routes() {
		s.registered[r.Method+" "+r.Path] = true
	}
}

// isCustom reports whether a request goes to one of the deployment's own routes.
func (s *Server) isCustom(c echo.Context) bool { return s.custom != nil && c.Path() != rest }

func (s *Server) newEcho() *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler = s.handleError
	e.IPExtractor = s.ip
	return e
}
