package executions_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/server/auth"
)

// D-72: where the deployment's own hooks keep users apart, they do so here, too.
func TestTheDeploymentsHooksAreAsked(t *testing.T) {
	t.Parallel()
	own := func(_ context.Context, e *auth.Event) (auth.Filter, error) {
		if e.Action == "create" || e.Action == "update" || e.Action == "create_run" {
			e.Value.SetMetadata("owner", e.User.Identity)
		}
		return auth.Equal("owner", e.User.Identity), nil
	}
	w := local(t, func(o *server.Options) {
		o.Auth = &auth.Hooks{
			Authenticate: func(r *http.Request) (*auth.User, error) {
				name := r.Header.Get("X-User")
				if name == "" {
					return nil, auth.Unauthorized("who are you?")
				}
				u := &auth.User{Identity: name, Roles: auth.Roles{auth.RoleOwner}}
				if name == "nobody" {
					u.Roles = nil
				}
				return u, nil
			},
			On: map[string]auth.Authorizer{"threads": own},
		}
		o.Identity.SelfApproval = true
	})
	ann, bob := w.anybody().with("X-User", "ann"), w.anybody().with("X-User", "bob")
	id := ann.with("X-Session-ID", "s").suspend("refund", "x")
	require.Equal(t, "ann", ann.do(http.MethodGet, "/threads/"+ann.execution(id).text("thread_id"), "").ok().at("metadata")["owner"])
	cursor := ann.stream(say("echo", "x"))[0].text("id")

	bob.get("/executions/"+id).code(http.StatusNotFound, "EXECUTION_NOT_FOUND")
	bob.resume(id, `{"decision":"approve"}`).code(http.StatusNotFound, "EXECUTION_NOT_FOUND")
	bob.post("/executions/"+id+"/interrupt", "{}").code(http.StatusNotFound, "EXECUTION_NOT_FOUND")
	bob.get("/sessions/s/runs").code(http.StatusNotFound, "SESSION_NOT_FOUND")
	bob.with("X-Session-ID", "s").post(invokePath, say("echo", "x")).code(http.StatusNotFound, "SESSION_NOT_FOUND")
	bob.with("Last-Event-ID", cursor).post(streamPath, "").code(http.StatusNotFound, "EXECUTION_NOT_FOUND")
	require.Empty(t, bob.get("/executions").ok().list("executions"))
	require.Len(t, ann.get("/executions").ok().list("executions"), 2)
	require.Len(t, ann.get("/executions?status=suspended").ok().list("executions"), 1)

	w.anybody().with("X-User", "nobody").get("/executions").code(http.StatusForbidden, "NO_ROLE")
	w.anybody().get("/executions").code(http.StatusUnauthorized, "UNAUTHENTICATED")
	ann.resume(id, `{"decision":"approve"}`).ok()
	ann.becomes(id, "completed")
}

// EX 4: with no keys the caller on this machine owns the default project, and the others that the server was told of.
func TestTheCallerOnThisMachine(t *testing.T) {
	t.Parallel()
	w := local(t, func(o *server.Options) {
		o.Projects = map[string]server.Project{"acme": {Workspaces: map[string]server.Workspace{"default": {Agent: "free"}}}}
	})
	c := w.anybody()
	acme := *c
	acme.base = "/api/v1/projects/acme"
	id := acme.suspend("free", "x")
	require.Equal(t, "acme", acme.execution(id)["project_id"])
	require.Equal(t, []string{id}, ids(acme.get("/executions").ok()))
	require.Empty(t, ids(c.get("/executions").ok()))
	c.get("/executions/"+id).code(http.StatusNotFound, "EXECUTION_NOT_FOUND")
	acme.resume(id, `{"decision":"yes"}`).ok()
	acme.becomes(id, "completed")
	c.do(http.MethodGet, "/api/v1/projects/other/executions", "").code(http.StatusNotFound, "PROJECT_NOT_FOUND")
	c.do(http.MethodGet, "/api/v1/projects/default/nope", "").code(http.StatusNotFound, "ROUTE_NOT_FOUND")
}
