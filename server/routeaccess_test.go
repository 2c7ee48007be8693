package server_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// allRoutes lists every route that a server can have.
func allRoutes(t *testing.T) []server.Route {
	t.Helper()
	s, err := server.New(everything(server.Options{Agents: testAgents(), Ephemeral: true}))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Shutdown(context.Background())) }()
	routes := s.Routes()
	require.Greater(t, len(routes), 80)
	return routes
}

// everything turns all optional routes on.
func everything(o server.Options) server.Options {
	o.Truncate, o.UI, o.MCP = true, map[string]server.UI{"x": {}}, &server.MCP{}
	return o
}

// who says, in words of its own, who may use a route; the server's table is in routeclass.go.
func who(r server.Route) string {
	is := func(list string) bool {
		for _, line := range strings.Split(list, "\n") {
			if strings.TrimSpace(line) == r.Method+" "+strings.TrimPrefix(r.Path, "/api/v1/projects/:project_id") {
				return true
			}
		}
		return false
	}
	switch {
	case is("GET /\n GET /info\n GET /livez\n GET /readyz\n POST /api/v1/session\n DELETE /api/v1/session"), strings.HasPrefix(r.Path, "/api/v1/session/"):
		return "everybody"
	case strings.Contains(r.Path, "/:project_id/keys"), strings.Contains(r.Path, "/:project_id/audit"), r.Path == "/internal/truncate":
		return "owner"
	case is(`POST /reviews/:review_id/decide
		POST /reviews/:review_id/claim
		POST /reviews/:review_id/release
		POST /reviews/:review_id/extend
		POST /reviews/:review_id/comments
		POST /executions/:execution_id/resume`):
		return "reviewer"
	case is(`POST /threads/:thread_id/runs
		POST /threads/:thread_id/runs/stream
		POST /threads/:thread_id/runs/wait`):
		return "operator or reviewer"
	case is("GET /deliveries"):
		return "operator"
	case r.Method == http.MethodGet, is(`POST /assistants/search
		POST /assistants/count
		POST /assistants/:assistant_id/versions
		POST /threads/search
		POST /threads/count
		POST /threads/:thread_id/state/checkpoint
		POST /threads/:thread_id/history
		POST /threads/:thread_id/stream/events
		POST /threads/:thread_id/commands
		POST /reviews/:review_id/presence
		POST /runs/crons/search
		POST /runs/crons/count
		POST /store/items/search
		POST /store/namespaces
		POST /ui/:agent
		POST /mcp
		DELETE /mcp`):
		return "viewer"
	}
	return "operator"
}

// holds says which roles let somebody do what who wants.
func holds(role, want string) bool {
	switch want {
	case "everybody":
		return true
	case "viewer":
		return role != ""
	case "operator or reviewer":
		return role == "operator" || strings.HasPrefix(role, "reviewer") || role == "owner"
	case "reviewer":
		return strings.HasPrefix(role, "reviewer") || role == "owner"
	}
	return role == want || role == "owner"
}

// fill puts ids in the place of parameters.
func fill(path string, ids map[string]string) string {
	for name, id := range ids {
		path = strings.ReplaceAll(path, ":"+name, id)
	}
	return path
}

// statusOf sends a request and looks at its status alone: some replies have no end.
func statusOf(c *client, method, path, body string) int {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	res := c.open(ctx, method, path, body)
	defer res.Body.Close() //nolint:errcheck // it was left
	return res.StatusCode
}

// TestEveryRouteTimesEveryRole: nobody gets further than their role, and everybody as far. Roles are
// looked at before anything else, so that things which aren't there tell them apart.
func TestEveryRouteTimesEveryRole(t *testing.T) {
	t.Parallel()
	k := serveKeyed(t, everything(server.Options{}))
	missing := map[string]string{
		"project_id": "acme", "workspace_id": "default", "namespace": "x", "agent": "y", "session_id": "nobodys", "delivery_id": uuid.NewString(),
		"review_id": strings.Repeat("0", 32), "key_id": "nothing", "execution_id": uuid.NewString(),
	}
	for _, name := range []string{"thread_id", "run_id", "assistant_id", "checkpoint_id", "cron_id"} {
		missing[name] = uuid.NewString()
	}
	callers := map[string]*client{
		"none": k.client, "wrong key": k.as(bearer("pk_" + strings.Repeat("a", 62))), "no key at all": k.as(map[string]string{"x-api-key": "lsv2_sk_x"}),
	}
	for _, role := range []string{"viewer", "operator", "reviewer", "reviewer:other", "reviewer:ask/tool", "owner"} {
		callers[role] = k.holder("acme", role, role)
	}
	for _, r := range allRoutes(t) {
		for name, c := range callers {
			what := name + ": " + r.Method + " " + r.Path
			got := statusOf(c, r.Method, fill(r.Path, missing), "{}")
			role := name
			if c.headers["Authorization"] == "" || name == "wrong key" || name == "no key at all" {
				role = ""
			}
			switch {
			case holds(role, who(r)) && role == "":
				require.NotContains(t, []int{http.StatusForbidden, http.StatusInternalServerError}, got, what)
				switch {
				case strings.HasPrefix(r.Path, "/api/v1/session/oidc/"):
					require.Equal(t, http.StatusNotImplemented, got, what) // the server has no identity provider
				case r.Path != "/api/v1/session":
					require.Equal(t, http.StatusOK, got, what)
				}
			case holds(role, who(r)):
				require.NotContains(t, []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusInternalServerError}, got, what)
			case role == "":
				require.Equal(t, http.StatusUnauthorized, got, what)
			default:
				require.Equal(t, http.StatusForbidden, got, what)
			}
		}
	}
}

// TestEveryRouteTimesWrongProject: to somebody of another project, whatever their role, nothing of
// this one is there (D-72), but for what decisions 20 says otherwise; and nothing of it changes.
func TestEveryRouteTimesWrongProject(t *testing.T) {
	t.Parallel()
	for project, other := range map[string]string{"acme": "other", "default": "acme", "other": "default"} {
		t.Run(other+" into "+project, func(t *testing.T) {
			t.Parallel()
			k := serveKeyed(t, everything(server.Options{}))
			owner, stranger := k.holder(project, "ada", "owner"), k.holder(other, "eve", "owner")
			b := acmesThings(owner, project)
			snapshot := func() []string {
				id, api := b["thread_id"], "/api/v1/projects/"+project
				return []string{
					owner.get("/threads/" + id).ok().body, owner.get("/threads/" + id + "/state").ok().body, owner.get("/threads/" + id + "/runs").ok().body,
					owner.get("/assistants/" + b["assistant_id"]).ok().body, owner.post("/runs/crons/search", "{}").ok().body,
					owner.get("/store/items?namespace=n&key=k").ok().body, owner.get(api + "/keys").ok().body,
				}
			}
			before := snapshot()
			bodies := strangersBodies(b)
			for _, r := range allRoutes(t) {
				key := r.Method + " " + r.Path
				if strings.HasPrefix(r.Path, "/feeds/") || r.Path == "/internal/truncate" || who(r) == "everybody" {
					continue // without content, or of the whole server
				}
				path := fill(r.Path, b)
				if key == "GET /store/items" {
					path += "?namespace=n&key=k"
				}
				got := stranger.do(r.Method, path, bodies[key])
				require.NotContains(t, got.body, mark, key)
				require.Contains(t, wantedOfStranger(key), got.status, "%s: %s", key, got.body)
				switch {
				case key == "POST /assistants/count":
					require.Equal(t, strconv.Itoa(len(testAgents())), got.body, "those of the system")
				case strings.HasSuffix(r.Path, "/count"):
					require.Equal(t, "0", got.body, key)
				}
				if strings.HasPrefix(r.Path, "/threads/:thread_id/") && strings.HasSuffix(r.Path, "/stream") && r.Method == http.MethodGet {
					require.Equal(t, []string{"error"}, events(got.frames()), key)
					require.Contains(t, got.body, "404", key)
				}
			}
			require.Equal(t, before, snapshot(), "nothing has changed")
		})
	}
}

// strangersBodies are bodies that would work for the owner.
func strangersBodies(b belongings) map[string]string {
	const run = `{"assistant_id":"ask","input":{},"if_not_exists":"create","multitask_strategy":"rollback","command":{"resume":"stolen"}}`
	theirs := `{"assistant_id":"` + b["assistant_id"] + `","input":{}}`
	return map[string]string{
		"POST /assistants":                      `{"graph_id":"ask","assistant_id":"` + b["assistant_id"] + `","if_exists":"do_nothing"}`,
		"PATCH /assistants/:assistant_id":       `{"name":"stolen","metadata":{"project_id":"x"}}`,
		"POST /threads":                         `{"thread_id":"` + b["thread_id"] + `","if_exists":"do_nothing"}`,
		"PATCH /threads/:thread_id":             `{"metadata":{"x":"stolen","project_id":"other"}}`,
		"PATCH /threads/:thread_id/state":       `{"metadata":{"x":"stolen","project_id":"other"}}`,
		"POST /assistants/:assistant_id/latest": `{"version":1}`,
		"POST /ui/:agent":                       `{"name":"card"}`,
		"POST /threads/prune":                   `{"thread_ids":["` + b["thread_id"] + `"]}`,
		"POST /threads/search":                  `{"ids":["` + b["thread_id"] + `"]}`,
		"POST /threads/:thread_id/runs":         run, "POST /threads/:thread_id/runs/stream": run, "POST /threads/:thread_id/runs/wait": run,
		"POST /threads/:thread_id/runs/crons":    `{"assistant_id":"ask","schedule":"* * * * *"}`,
		"POST /threads/:thread_id/state":         `{"values":{"note":"stolen"}}`,
		"POST /threads/:thread_id/stream/events": `{"channels":["values","input","lifecycle"]}`,
		"POST /threads/:thread_id/commands":      `{"id":1,"method":"run.start","params":{"assistant_id":"ask","input":{}}}`,
		"POST /runs/cancel":                      `{"thread_id":"` + b["thread_id"] + `","run_ids":["` + b["run_id"] + `"]}`,
		"POST /runs":                             theirs, "POST /runs/stream": theirs, "POST /runs/wait": theirs, "POST /runs/batch": "[" + theirs + "]",
		"POST /runs/crons":           `{"assistant_id":"` + b["assistant_id"] + `","schedule":"* * * * *"}`,
		"PATCH /runs/crons/:cron_id": `{"enabled":false,"metadata":{"project_id":"other"}}`,
		"PUT /store/items":           `{"namespace":["n"],"key":"k","value":{"x":"a stranger's own"}}`,
		"DELETE /store/items":        `{"namespace":["n"],"key":"k"}`,
		"POST /store/items/search":   `{"namespace_prefix":[]}`,
		"POST /api/v1/projects/:project_id/reviews/:review_id/decide":             `{"answer":"stolen"}`,
		"POST /api/v1/projects/:project_id/keys":                                  `{"roles":["owner"]}`,
		"POST /api/v1/projects/:project_id/workspaces/:workspace_id/invoke":       `{"message":"x"}`,
		"POST /api/v1/projects/:project_id/workspaces/:workspace_id/invokeStream": `{"message":"x"}`,
		"POST /api/v1/projects/:project_id/executions/:execution_id/resume":       `{"decision":"approve"}`,
	}
}

// wantedOfStranger are the statuses that a stranger may get.
func wantedOfStranger(key string) []int {
	switch key {
	case "GET /ok", "GET /metrics", "GET /openapi.json", "GET /docs", "GET /api/v1/session", // of the server, or the stranger's own
		"POST /assistants/search", "POST /assistants/count", "POST /threads/search", "POST /threads/count", "POST /threads/prune",
		"POST /runs/crons/search", "POST /runs/crons/count", "POST /store/items/search", "POST /store/namespaces", "GET /store/items",
		"GET /threads/:thread_id/stream", "GET /threads/:thread_id/runs/:run_id/stream", "GET /runs/:run_id/stream":
		return []int{http.StatusOK}
	case "PUT /store/items", "DELETE /store/items": // of the stranger's own namespace
		return []int{http.StatusNoContent}
	case "POST /assistants", "POST /threads", "POST /threads/:thread_id/copy":
		return []int{http.StatusConflict}
	case "POST /mcp":
		return []int{http.StatusBadRequest, http.StatusOK, http.StatusNotAcceptable, http.StatusUnsupportedMediaType}
	case "GET /mcp", "DELETE /mcp":
		return []int{http.StatusMethodNotAllowed}
	}
	return []int{http.StatusNotFound}
}

// TestTheTableOfClassesIsThatOfRoutes: no route without a class, no class without a route.
func TestTheTableOfClassesIsThatOfRoutes(t *testing.T) {
	t.Parallel()
	routes := []string{"GET /"} // the hint for who opens the address
	for _, r := range allRoutes(t) {
		routes = append(routes, r.Method+" "+r.Path)
	}
	require.ElementsMatch(t, routes, server.ClassedRoutes())
}
