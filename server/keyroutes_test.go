package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	apikeys "github.com/parley-dev/parley/server/auth/keys"
	"github.com/parley-dev/parley/server/auth/limit"
)

func TestKeysOverHTTP(t *testing.T) {
	t.Parallel()
	k := serveKeyed(t, server.Options{})
	owner := k.holder("acme", "ada", "PROJECT_OWNER")
	const at = "/api/v1/projects/acme/keys"
	end := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	made := owner.post(at, `{"name":"bob","roles":["reviewer:ask/pay","viewer"],"workspace_id":"blue","agent":true,"expires_at":"`+end.Format(time.RFC3339)+`"}`).is(http.StatusCreated)
	require.Equal(t, "no-store", made.header.Get("Cache-Control"))
	v := made.json()
	require.Equal(t, "bob", v["principal"])
	require.Equal(t, "ada", v["created_by"])
	require.Equal(t, []any{"reviewer:ask/pay", "viewer"}, v["roles"])
	require.Nil(t, v["revoked_at"])
	me := k.as(bearer(made.str("key"))).get("/api/v1/session").ok().json()
	require.Equal(t, "blue", me["workspace_id"])
	require.Equal(t, true, me["agent"])
	require.Equal(t, false, me["can"].(map[string]any)["decide"])
	require.Contains(t, me["expires_at"], end.Format("2006-01-02T15:04:05"))

	listed := owner.get(at).ok()
	require.NotContains(t, listed.body, made.str("key")[16:])
	require.NotContains(t, listed.body, "hash")
	require.Len(t, listed.json()["keys"], 2)
	for body, field := range map[string]string{
		`{}`: "roles", `{"roles":[]}`: "roles", `{"roles":["admin"]}`: "roles", `{"roles":["owner"],"project_id":"other"}`: "project_id",
		`{"roles":["owner"],"expires_at":"tomorrow"}`: "expires_at", `{"roles":["owner"],"expires_at":"2001-01-01T00:00:00Z"}`: "expires_at",
		`{"roles":["owner"],"name":"anonymous"}`: "name", `{"roles":["owner"],"workspace_id":"../x"}`: "workspace",
	} {
		a := owner.post(at, body).is(http.StatusBadRequest)
		require.Contains(t, a.body, field, body)
	}
	ended := owner.do(http.MethodDelete, at+"/"+made.str("id"), "").ok()
	require.NotNil(t, ended.json()["revoked_at"])
	k.as(bearer(made.str("key"))).get("/api/v1/session").is(http.StatusUnauthorized)
	owner.do(http.MethodDelete, at+"/"+made.str("id"), "").ok() // once more changes nothing
	owner.do(http.MethodDelete, at+"/nothing", "").is(http.StatusNotFound)
	stranger := k.holder("other", "eve", "owner")
	stranger.do(http.MethodDelete, at+"/"+made.str("id"), "").is(http.StatusNotFound)
	stranger.do(http.MethodDelete, "/api/v1/projects/other/keys/"+made.str("id"), "").is(http.StatusNotFound)

	log := owner.get("/api/v1/projects/acme/audit?limit=100").ok().body
	require.Equal(t, 1, strings.Count(log, `"action":"key.revoked","actor"`), log)
	require.NotContains(t, log, made.str("key")[16:])
}

// Nobody makes a key that can do more than they can.
// The first key ends anonymous access: with any but an owner's nobody could make the next.
func TestTheFirstKeyIsAnOwners(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	const at = "/api/v1/projects/default/keys"
	for _, body := range []string{`{"roles":["reviewer"]}`, `{"roles":["viewer"],"name":"ann"}`, `{"roles":["owner"],"agent":true}`} {
		require.Contains(t, c.post(at, body).is(http.StatusBadRequest).body, "he first key has to be an owner's", body)
	}
	c.get(at).ok() // nobody is locked out
	owner := c.as(bearer(c.post(at, `{"roles":["owner"]}`).is(http.StatusCreated).str("key")))
	owner.post(at, `{"roles":["reviewer","team:finance"]}`).is(http.StatusCreated)
}

func TestKeysAreNoLadder(t *testing.T) {
	t.Parallel()
	k := serveKeyed(t, server.Options{})
	owner := k.holder("acme", "ada", "owner")
	const at = "/api/v1/projects/acme/keys"
	_, text := k.make(apikeys.Request{Project: "acme", Name: "bob", Roles: []string{"owner"}, Workspace: "blue"})
	bound := k.as(bearer(text))
	require.Equal(t, "blue", bound.post(at, `{"roles":["owner"]}`).is(http.StatusCreated).str("workspace_id"))
	bound.post(at, `{"roles":["owner"],"workspace_id":"red"}`).is(http.StatusForbidden)
	wide := owner.post(at, `{"roles":["viewer"]}`).is(http.StatusCreated)
	bound.do(http.MethodDelete, at+"/"+wide.str("id"), "").is(http.StatusNotFound)
	for _, key := range bound.get(at).ok().json()["keys"].([]any) {
		require.Equal(t, "blue", key.(map[string]any)["workspace_id"])
	}
	_, text = k.make(apikeys.Request{Project: "acme", Name: "bot", Roles: []string{"owner"}, Agent: true})
	bot := k.as(bearer(text))
	bot.post(at, `{"roles":["reviewer"]}`).is(http.StatusForbidden)
	bot.post(at, `{"roles":["operator"],"agent":true}`).is(http.StatusCreated)
}

const slowRun = `{"assistant_id":"slow","input":{"wait":600},"multitask_strategy":"enqueue"}`

func limited(t *testing.T, o limit.Options) (k *keyed, ada, twin, bob *client) {
	t.Helper()
	k = serveKeyed(t, server.Options{Identity: server.Identity{Limits: o}})
	// twin has another key of the same person.
	return k, k.holder("acme", "ada", "owner"), k.holder("acme", "ada", "owner"), k.holder("acme", "bob", "owner")
}

func TestRequestsPerPrincipal(t *testing.T) {
	t.Parallel()
	_, ada, twin, bob := limited(t, limit.Options{Requests: 0.001, Burst: 5})
	for range 3 {
		ada.get("/ok").ok()
	}
	for range 2 {
		twin.get("/ok").ok()
	}
	for _, c := range []*client{ada, twin} {
		require.NotEmpty(t, c.get("/ok").is(http.StatusTooManyRequests).header.Get("Retry-After"))
		c.get("/info").ok()
	}
	bob.get("/ok").ok()
}

func TestStreamsPerPrincipal(t *testing.T) {
	t.Parallel()
	_, ada, twin, bob := limited(t, limit.Options{Streams: 1})
	thread := ada.thread()
	run := ada.post("/threads/"+thread+"/runs", slowRun).ok().str("run_id")
	stream := ada.begun(t, http.MethodGet, "/threads/"+thread+"/stream", "")
	for _, path := range []string{"/threads/" + thread + "/stream", "/threads/" + thread + "/runs/" + run + "/stream", "/threads/" + thread + "/runs/" + run + "/join", "/feeds/runs"} {
		require.Equal(t, http.StatusTooManyRequests, statusOf(twin, http.MethodGet, path, ""), path)
	}
	_, res, err := twin.dial(thread)
	require.Error(t, err)
	require.Equal(t, http.StatusTooManyRequests, res.StatusCode)
	require.Equal(t, http.StatusOK, statusOf(bob, http.MethodGet, "/threads/"+thread+"/stream", ""))
	require.NoError(t, stream.Body.Close())
	ada.until("the stream's place is free", func() bool {
		return statusOf(twin, http.MethodGet, "/threads/"+thread+"/stream", "") == http.StatusOK
	})
}

func TestRunsPerPrincipal(t *testing.T) {
	t.Parallel()
	_, ada, twin, bob := limited(t, limit.Options{Runs: 2})
	thread := ada.thread()
	run := ada.post("/threads/"+thread+"/runs", slowRun).ok().str("run_id")
	ada.post("/threads/"+thread+"/runs", slowRun).ok()
	require.NotEmpty(t, twin.post("/threads/"+thread+"/runs", slowRun).is(http.StatusTooManyRequests).header.Get("Retry-After"))
	twin.post("/threads/"+thread+"/commands", `{"id":1,"method":"run.start","params":{"assistant_id":"slow","input":{}}}`).is(http.StatusTooManyRequests)
	bob.post("/threads/"+thread+"/runs", slowRun).ok()
	asked, interrupt := asks(bob, "ask")
	ada.post("/threads/"+asked+"/runs", `{"assistant_id":"ask","command":{"resume":{"`+interrupt+`":1}}}`).ok() // answers are never too many
	ada.post("/threads/"+thread+"/runs/"+run+"/cancel?wait=1", "").is(http.StatusNoContent)
	ada.until("there is room", func() bool { return ada.post("/threads/"+thread+"/runs", slowRun).status == http.StatusOK })
}

func TestRepliesAreNothingElseThanTheySay(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	for _, path := range []string{"/info", "/threads/" + missingID, "/openapi.json", "/nowhere", "/api/v1/session"} {
		h := c.get(path).header
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), path)
		require.Equal(t, "no-referrer", h.Get("Referrer-Policy"), path)
		require.Equal(t, "default-src 'none'; frame-ancestors 'none'", h.Get("Content-Security-Policy"), path)
	}
	page := c.get("/docs").ok().header.Get("Content-Security-Policy")
	require.Contains(t, page, "frame-ancestors 'none'")
	require.Contains(t, page, "script-src 'self'")
	require.NotContains(t, page, "unsafe-eval")
}
