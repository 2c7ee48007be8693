package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	apikeys "github.com/parley-dev/parley/server/auth/keys"
)

// page is what a browser says of a request of one of the server's own pages.
var page = map[string]string{"Sec-Fetch-Site": "same-origin"}

// signIn begins a session and returns what the browser sends from then on.
func signIn(c *client, credential string) (cookie map[string]string, reply answer) {
	c.t.Helper()
	reply = c.as(page).post("/api/v1/session", `{"credential":"`+credential+`"}`).ok()
	set := reply.header.Get("Set-Cookie")
	require.Contains(c.t, set, "HttpOnly")
	require.Contains(c.t, set, "SameSite=Strict")
	require.NotContains(c.t, set, credential)
	value, _, _ := strings.Cut(set, ";")
	return map[string]string{"Cookie": value}, reply
}

func TestSession(t *testing.T) {
	t.Parallel()
	k := serveKeyed(t, server.Options{})
	id, text := k.make(apikeys.Request{Project: "acme", Name: "ada", Roles: []string{"operator", "reviewer:ask"}})
	k.get("/api/v1/session").is(http.StatusUnauthorized)
	k.post("/api/v1/session", "{}").is(http.StatusUnauthorized)
	k.post("/api/v1/session", `{"credential":"pk_x"}`).is(http.StatusUnauthorized)
	k.post("/api/v1/session", `{"credential":"x","more":1}`).is(http.StatusBadRequest)
	k.as(map[string]string{"Sec-Fetch-Site": "cross-site"}).post("/api/v1/session", `{"credential":"`+text+`"}`).is(http.StatusForbidden)
	cookie, reply := signIn(k.client, text)
	browser := k.as(cookie)
	me := browser.get("/api/v1/session").ok().json()
	require.Equal(t, "ada", me["principal"])
	require.Equal(t, "acme", me["project_id"])
	require.Equal(t, []any{"operator", "reviewer:ask"}, me["roles"])
	require.Equal(t, map[string]any{"read": true, "run": true, "decide": true, "own": false}, me["can"])
	require.Equal(t, reply.str("expires_at"), me["expires_at"])
	require.Equal(t, "no-store", reply.header.Get("Cache-Control"))

	browser.post("/threads", "{}").is(http.StatusForbidden) // no page of ours says so
	browser.as(map[string]string{"Origin": "https://evil.example"}).post("/threads", "{}").is(http.StatusForbidden)
	browser.as(map[string]string{"Sec-Fetch-Site": "same-site"}).get("/api/v1/session").is(http.StatusForbidden)
	thread := browser.as(page).post("/threads", "{}").ok().str("thread_id")
	browser.as(map[string]string{"Origin": k.url}).post("/threads/search", "{}").ok()
	browser.get("/threads/" + thread).ok()
	conn, res, err := browser.dial(thread, "Origin", k.url)
	require.NoError(t, err)
	require.NoError(t, conn.CloseNow())
	require.Equal(t, http.StatusSwitchingProtocols, res.StatusCode)
	_, res, err = browser.dial(thread, "Origin", "http://localhost:1")
	require.Error(t, err)
	require.Equal(t, http.StatusUnauthorized, res.StatusCode, "its cookie isn't looked at")

	browser.do(http.MethodDelete, "/api/v1/session", "").is(http.StatusForbidden) // nobody signs others out
	out := browser.as(page).do(http.MethodDelete, "/api/v1/session", "").is(http.StatusNoContent)
	require.Contains(t, out.header.Get("Set-Cookie"), "Max-Age=0")

	owner := k.holder("acme", "owner", "owner")
	owner.do(http.MethodDelete, "/api/v1/projects/acme/keys/"+id, "").ok()
	browser.get("/api/v1/session").is(http.StatusUnauthorized) // a session ends with its key
	k.as(map[string]string{"Cookie": "parley_session=forged"}).get("/api/v1/session").is(http.StatusUnauthorized)
}

func TestAKeyWinsOverACookie(t *testing.T) {
	t.Parallel()
	k := serveKeyed(t, server.Options{})
	_, ada := k.make(apikeys.Request{Project: "acme", Name: "ada", Roles: []string{"owner"}})
	_, bob := k.make(apikeys.Request{Project: "acme", Name: "bob", Roles: []string{"viewer"}})
	cookie, _ := signIn(k.client, ada)
	require.Equal(t, "bob", k.as(cookie).as(bearer(bob)).get("/api/v1/session").ok().str("principal"))
	k.as(cookie).as(bearer("pk_wrong")).get("/api/v1/session").is(http.StatusUnauthorized)
}

// What seals sessions is shared by all processes on a store, and hidden from everybody's lists.
func TestSessionsAreGoodOnAllReplicas(t *testing.T) {
	t.Parallel()
	k := serveKeyed(t, server.Options{})
	_, text := k.make(apikeys.Request{Project: "default", Name: "ada", Roles: []string{"owner"}})
	cookie, _ := signIn(k.client, text)
	other := serveTest(t, server.Options{Store: lent{k.store}})
	require.Equal(t, "ada", other.as(cookie).get("/api/v1/session").ok().str("principal"))
	list := k.as(bearer(text)).get("/api/v1/projects/default/keys").ok().json()["keys"].([]any)
	require.Len(t, list, 1)
	k.as(bearer(text)).do(http.MethodDelete, "/api/v1/projects/default/keys/session", "").is(http.StatusNotFound)

	secret := strings.Repeat("k", 32)
	one := serveKeyed(t, server.Options{Identity: server.Identity{SessionKey: secret}})
	_, text = one.make(apikeys.Request{Name: "ada", Roles: []string{"owner"}})
	cookie, _ = signIn(one.client, text)
	two := serveTest(t, server.Options{Store: lent{one.store}, Identity: server.Identity{SessionKey: secret}})
	two.as(cookie).get("/api/v1/session").ok()
	three := serveTest(t, server.Options{Store: lent{one.store}, Identity: server.Identity{SessionKey: strings.Repeat("x", 32)}})
	three.as(cookie).get("/api/v1/session").is(http.StatusUnauthorized)
	_, err := server.New(server.Options{Ephemeral: true, Identity: server.Identity{SessionKey: "short"}})
	require.Error(t, err)
}

// Without keys nobody has to sign in, and the page is told who it is all the same.
func TestSessionWithoutKeys(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	a := c.as(page).post("/api/v1/session", "{}").ok()
	require.Empty(t, a.header.Get("Set-Cookie"))
	require.Equal(t, "anonymous", a.str("principal"))
	require.Equal(t, true, a.json()["can"].(map[string]any)["own"])
	require.Equal(t, "default", c.get("/api/v1/session").ok().str("project_id"))
}
