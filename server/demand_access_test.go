package server_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/server/auth"
)

// D-70: pages of another origin can read where their run is, on every route that
// makes or joins one, and in refusals, too.
func TestPagesCanReadWhereTheirRunIs(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{Auth: tenants()}).as(map[string]string{"Origin": "https://page.example", "x-user": "ann"})
	id := c.post("/threads", "{}").ok().str("thread_id")
	body := `{"assistant_id":"echo","input":{}}`
	first := c.post("/threads/"+id+"/runs/wait", body).ok().header.Get("Content-Location")
	for _, a := range []answer{
		c.post("/threads/"+id+"/runs/wait", body), c.post("/threads/"+id+"/runs/stream", body), c.post("/threads/"+id+"/runs", `{"assistant_id":"echo","input":{},"multitask_strategy":"enqueue"}`),
		c.post("/runs/wait", body), c.post("/runs/stream", body), c.post("/runs", body),
		c.get(first + "/stream"), c.get(first + "/join"),
		c.post("/threads/"+id+"/runs", `{}`).is(http.StatusBadRequest), c.get("/nowhere").is(http.StatusNotFound),
		c.as(map[string]string{"x-user": ""}).get(first).is(http.StatusUnauthorized),
	} {
		require.Equal(t, "*", a.header.Get("Access-Control-Allow-Origin"))
		exposed := strings.Split(a.header.Get("Access-Control-Expose-Headers"), ",")
		require.Contains(t, exposed, "content-location")
		require.Contains(t, exposed, "location")
	}
	require.NotEmpty(t, c.post("/runs/wait", body).ok().header.Get("Content-Location"))
	require.NotEmpty(t, c.post("/runs/stream", body).ok().header.Get("Location"))
}

// D-73: who asks is found out for every request. A thread keeps nobody's
// credentials: a revoked user is out at once, and a run is its creator's.
func TestEveryRequestIsAuthenticatedAnew(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	revoked := map[string]bool{}
	c := serveTest(t, server.Options{Auth: &auth.Hooks{Authenticate: func(r *http.Request) (*auth.User, error) {
		mu.Lock()
		defer mu.Unlock()
		if name := r.Header.Get("x-user"); name != "" && !revoked[name] {
			return &auth.User{Identity: name}, nil
		}
		return nil, errors.New("who are you?")
	}}})
	ann, bob := c.as(map[string]string{"x-user": "ann"}), c.as(map[string]string{"x-user": "bob"})
	id, ids := interrupted(ann, "ask")
	mu.Lock()
	revoked["ann"] = true
	mu.Unlock()
	for _, a := range []answer{
		ann.get("/threads/" + id), ann.get("/threads/" + id + "/state"), ann.get("/threads/" + id + "/stream"),
		ann.post("/threads/"+id+"/runs", resumeBody("ask", ids[0], `1`)),
	} {
		a.is(http.StatusUnauthorized)
	}
	require.Equal(t, ids, bob.questions(id), "nothing was answered")
	run := bob.post("/threads/"+id+"/runs", resumeBody("ask", ids[0], `1`)).ok().json()
	configurable := run["kwargs"].(map[string]any)["config"].(map[string]any)["configurable"].(map[string]any)
	require.Equal(t, "bob", configurable["langgraph_auth_user_id"])
	require.NotContains(t, bob.wait(id, run["run_id"].(string)).body, "ann")
}

// D-73: credentials that run out end every kind of stream with an event that says so.
func TestExpiryEndsEveryKindOfStream(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{Auth: tenants()}).as(map[string]string{"x-user": "ann"})
	id := c.post("/threads", "{}").ok().str("thread_id")
	run := c.start(id, `{"assistant_id":"slow","input":{"wait":600}}`)
	soon := c.as(map[string]string{"x-expires": "soon"})
	var wg sync.WaitGroup
	for _, request := range [][3]string{
		{http.MethodGet, "/threads/" + id + "/stream", ""},
		{http.MethodGet, "/threads/" + id + "/runs/" + run + "/stream?cancel_on_disconnect=1", ""},
		{http.MethodGet, "/runs/" + run + "/stream", ""},
		{http.MethodPost, "/runs/stream", `{"assistant_id":"slow","input":{"wait":600},"on_disconnect":"cancel"}`},
	} {
		wg.Go(func() {
			a := soon.do(request[0], request[1], request[2])
			frames := a.frames()
			if n := len(frames); n == 0 || frames[n-1] != (frame{event: "error", data: `{"error":"Unauthorized","message":"401: credentials expired"}`}) {
				t.Errorf("%s: %v", request[1], frames)
			}
		})
	}
	wg.Wait()
	require.Equal(t, "running", c.status(id, run), "an expiry is no wish to stop")
}
