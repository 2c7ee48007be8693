package server_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	apikeys "github.com/parley-dev/parley/server/auth/keys"
)

// TestEveryRouteTimesWrongWorkspace: to an owner who is bound to one workspace, nothing of the others is there, and nothing of it
// changes; what is the whole project's, its keys and its log, is refused.
func TestEveryRouteTimesWrongWorkspace(t *testing.T) {
	t.Parallel()
	k := serveKeyed(t, everything(server.Options{}))
	owner := k.holder("acme", "ada", "owner")
	_, text := k.make(apikeys.Request{Project: "acme", Name: "eve", Roles: []string{"owner"}, Workspace: "blue"})
	bound := k.as(bearer(text))
	b := acmesThings(owner, "acme")
	snapshot := func() []string {
		id := b["thread_id"]
		return []string{
			owner.get("/threads/" + id).ok().body, owner.get("/threads/" + id + "/state").ok().body, owner.get("/threads/" + id + "/runs").ok().body,
			owner.get("/assistants/" + b["assistant_id"]).ok().body, owner.post("/runs/crons/search", "{}").ok().body,
			owner.get("/store/items?namespace=n&key=k").ok().body, owner.get("/api/v1/projects/acme/keys").ok().body,
		}
	}
	before := snapshot()
	bodies := strangersBodies(b)
	for _, r := range allRoutes(t) {
		key := r.Method + " " + r.Path
		if strings.HasPrefix(r.Path, "/feeds/") || strings.HasSuffix(r.Path, "/reviews/stream") || r.Path == "/internal/truncate" || who(r) == "everybody" {
			continue // without content, or of the whole server
		}
		path := fill(r.Path, b)
		if key == "GET /store/items" {
			path += "?namespace=n&key=k"
		}
		if key == "POST /api/v1/projects/:project_id/keys" {
			continue // of their own workspace; see TestWorkspaces
		}
		got := bound.do(r.Method, path, bodies[key])
		require.NotContains(t, got.body, mark, key)
		switch {
		case key == "POST /assistants/count":
			require.Equal(t, strconv.Itoa(len(testAgents())), got.body, "those of the system")
		case strings.HasSuffix(r.Path, "/count"):
			require.Equal(t, "0", got.body, key)
		case strings.Contains(r.Path, "/audit"):
			require.Equal(t, http.StatusForbidden, got.status, key)
		case strings.HasPrefix(r.Path, "/api/v1/projects/") && r.Method == http.MethodGet:
			require.Contains(t, []int{http.StatusOK, http.StatusForbidden, http.StatusNotFound}, got.status, "%s: %s", key, got.body) // lists are empty
		case strings.HasPrefix(r.Path, "/api/v1/projects/"):
			require.Contains(t, []int{http.StatusForbidden, http.StatusNotFound, http.StatusBadRequest}, got.status, "%s: %s", key, got.body)
		default:
			require.Contains(t, wantedOfStranger(key), got.status, "%s: %s", key, got.body)
		}
	}
	for method, params := range commandsFor("0123456789abcdef0123456789abcdef", b["checkpoint_id"]) {
		got := bound.post("/threads/"+b["thread_id"]+"/commands", commandText(method, params))
		require.NotContains(t, got.body, mark, method)
		require.NotContains(t, got.body, `"success"`, method)
	}
	require.Equal(t, before, snapshot(), "nothing has changed")
}

// TestEveryRouteTimesEverySession: a cookie opens what its key opens, and nothing more; another site's page opens nothing by it.
func TestEveryRouteTimesEverySession(t *testing.T) {
	t.Parallel()
	k := serveKeyed(t, everything(server.Options{}))
	missing := map[string]string{
		"project_id": "acme", "workspace_id": "default", "namespace": "x", "agent": "y", "session_id": "nobodys", "delivery_id": uuid.NewString(),
		"review_id": strings.Repeat("0", 32), "key_id": "nothing", "execution_id": uuid.NewString(),
	}
	for _, name := range []string{"thread_id", "run_id", "assistant_id", "checkpoint_id", "cron_id"} {
		missing[name] = uuid.NewString()
	}
	for _, role := range []string{"viewer", "operator", "reviewer:other", "owner"} {
		_, text := k.make(apikeys.Request{Project: "acme", Name: role, Roles: []string{role}})
		cookie, _ := signIn(k.client, text)
		own, foreign, silent := k.as(cookie).as(page), k.as(cookie).as(map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}), k.as(cookie)
		for _, r := range allRoutes(t) {
			what, path := role+": "+r.Method+" "+r.Path, fill(r.Path, missing)
			if who(r) == "everybody" {
				continue
			}
			if holds(role, who(r)) {
				require.NotContains(t, []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusInternalServerError}, statusOf(own, r.Method, path, "{}"), what)
			} else {
				require.Equal(t, http.StatusForbidden, statusOf(own, r.Method, path, "{}"), what)
			}
			require.Contains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, statusOf(foreign, r.Method, path, "{}"), what+" from another site")
			if r.Method != http.MethodGet {
				require.Equal(t, http.StatusForbidden, statusOf(silent, r.Method, path, "{}"), what+" from who knows where")
			}
		}
	}
}

// TestOtherMethodsAndSpellingsOpenNothing: a path that is written in another way, or asked by another method, is the same path, or none.
func TestOtherMethodsAndSpellingsOpenNothing(t *testing.T) {
	t.Parallel()
	k := serveKeyed(t, everything(server.Options{}))
	b := acmesThings(k.holder("acme", "ada", "owner"), "acme")
	for _, r := range allRoutes(t) {
		if who(r) == "everybody" {
			continue
		}
		path := fill(r.Path, b)
		rest := strings.TrimPrefix(path, "/")
		first, more, _ := strings.Cut(rest, "/")
		for _, spelt := range []string{path, path + "/", "/" + path, "//x/.." + path, "/./" + rest, "/%2e/" + rest, "/" + strings.ToUpper(first) + "/" + more, "/" + first + "%2F" + more, "/info/.." + path, "/app/.." + path, "/app/%2e%2e" + path, path + "%00", path + ";x", path + "?_method=GET"} {
			for _, method := range []string{r.Method, http.MethodHead, "PROPFIND"} {
				got := k.as(map[string]string{"X-HTTP-Method-Override": "GET", "X-Original-URL": "/info", "X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": "localhost"}).do(method, spelt, "{}")
				require.NotContains(t, got.body, mark, "%s %s", method, spelt)
				require.NotContains(t, got.body, b["thread_id"], "%s %s", method, spelt)
				if got.status == http.StatusOK {
					require.True(t, strings.HasPrefix(spelt, "/app/") && (got.body == "" || strings.Contains(got.body, "<html")), "%s %s: %d %s", method, spelt, got.status, got.body)
				}
			}
		}
	}
}
