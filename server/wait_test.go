package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

func TestWaitShapes(t *testing.T) { // spec/rest-api.md 2.4
	t.Parallel()
	c := serveTest(t, server.Options{})
	wait := func(graph string) answer {
		return c.post("/threads/"+c.thread()+"/runs/wait", `{"assistant_id":"`+graph+`","input":{}}`).ok()
	}
	a := wait("echo")
	require.Equal(t, "application/json", a.header.Get("Content-Type"))
	require.NotEmpty(t, a.header.Get("Content-Location"))
	require.Equal(t, []any{"hello"}, a.json()["log"])

	v := wait("ask").json()
	require.Len(t, v, 1)
	require.Equal(t, map[string]any{"ask": "ask"}, v["__interrupt__"].([]any)[0].(map[string]any)["value"])

	require.JSONEq(t, `{"__error__":{"error":"CustomError","message":"Boo!"}}`, wait("fail").body)

	id := c.thread()
	a = c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"echo","input":{},"stream_mode":"updates"}`).ok()
	require.Equal(t, []any{"hello"}, a.json()["log"], "other modes: the thread's values")

	a = c.post("/runs/wait", `{"assistant_id":"echo","input":{}}`).ok()
	require.True(t, strings.HasPrefix(a.header.Get("Content-Location"), "/runs/"))
	require.Equal(t, []any{"hello"}, a.json()["log"])
}

func TestJoinWaitsForTheEnd(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	id := c.thread()
	run := c.post("/threads/"+id+"/runs", `{"assistant_id":"slow","input":{"wait":0.2}}`).ok().str("run_id")
	require.Equal(t, []any{"waited"}, c.get("/threads/" + id + "/runs/" + run + "/join").ok().json()["log"])
	require.Equal(t, []any{"waited"}, c.get("/threads/" + id + "/runs/" + run + "/join").ok().json()["log"], "also when it is over")
	c.get("/threads/"+id+"/runs/"+missingID+"/join").text(http.StatusNotFound, "Run not found")
}

func TestWaitKeepsTheConnectionAlive(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	a := c.post("/threads/"+c.thread()+"/runs/wait", `{"assistant_id":"slow","input":{"wait":1.3}}`).ok()
	require.True(t, strings.HasPrefix(a.body, "\n"), "white space before the result")
	require.Equal(t, []any{"waited"}, a.json()["log"])
}

func TestHeadersComeBeforeTheRunEnds(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	for _, kind := range []string{"wait", "stream"} {
		id := c.thread()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		res := c.open(ctx, http.MethodPost, "/threads/"+id+"/runs/"+kind, `{"assistant_id":"slow","input":{"wait":600}}`)
		require.Equal(t, http.StatusOK, res.StatusCode)
		require.NotEmpty(t, res.Header.Get("Content-Location"))
		cancel()
		require.NoError(t, res.Body.Close())
	}
}

func TestStatelessRuns(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	a := c.post("/runs/stream", `{"assistant_id":"echo","input":{"note":"x"}}`)
	frames := a.frames()
	require.Equal(t, []string{"metadata", "values", "values"}, events(frames))
	require.Equal(t, "0", frames[0].id)
	require.Equal(t, "/runs/"+frames[0].json(t)["run_id"].(string), a.header.Get("Content-Location"))
	require.JSONEq(t, `0`, c.post("/threads/count", "{}").ok().body, "the temporary thread is hidden")

	v := c.post("/runs/wait", `{"assistant_id":"ask","input":{}}`).ok().json()
	require.Equal(t, "GraphValueError", v["__error__"].(map[string]any)["error"], "no checkpointer, no interrupt")

	run := c.post("/runs", `{"assistant_id":"echo","input":{},"on_completion":"keep"}`).ok().json()
	c.get("/threads/" + run["thread_id"].(string) + "/runs/" + run["run_id"].(string) + "/join").ok()
	c.get("/threads/" + run["thread_id"].(string) + "/state").ok()

	batch := c.post("/runs/batch", `[{"assistantId":"echo","input":{}},{"assistant_id":"echo","input":{}}]`).ok().list()
	require.Len(t, batch, 2)
	c.post("/runs/batch", `[]`).is(http.StatusBadRequest)
	c.post("/runs/batch", `{}`).is(http.StatusBadRequest)
	c.post("/runs/batch", `[{"assistant_id":"echo"},{"assistant_id":1}]`).fault(float64(1), "assistant_id")
	c.post("/runs/batch", `[{"assistant_id":"echo"},{"assistant_id":"nope"}]`).is(http.StatusNotFound)
}
