package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

func TestRunIsStreamed(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	id := c.thread()
	a := c.post("/threads/"+id+"/runs/stream", `{"assistant_id":"echo","input":{"messages":[{"role":"user","content":"hi","id":"m1"}]}}`)
	frames := a.frames()
	require.Equal(t, []string{"metadata", "values", "values"}, events(frames))
	for i, f := range frames {
		require.Equal(t, fmt.Sprint(i), f.id)
	}
	runID := frames[0].json(t)["run_id"].(string)
	require.JSONEq(t, `{"run_id":"`+runID+`","attempt":1}`, frames[0].data)
	require.Equal(t, "/threads/"+id+"/runs/"+runID, a.header.Get("Content-Location"))
	require.Equal(t, "/threads/"+id+"/runs/"+runID+"/stream", a.header.Get("Location"))
	require.Equal(t, "no-cache, no-transform", a.header.Get("Cache-Control"))
	require.Equal(t, "no", a.header.Get("X-Accel-Buffering"))
	require.True(t, strings.HasPrefix(a.body, ": heartbeat\n"), "the first bytes come at once (D-62)")

	// Whatever a client reads right behind the end is final.
	run := c.get("/threads/" + id + "/runs/" + runID).ok().json()
	require.Equal(t, "success", run["status"])
	th := c.get("/threads/" + id).ok()
	require.Equal(t, "idle", th.json()["status"])
	require.JSONEq(t, frames[2].data, string(raw(t, th.body, "values")))
	require.Equal(t, "{}", string(raw(t, th.body, "interrupts")))

	again := c.get("/threads/" + id + "/runs/" + runID + "/stream").frames()
	require.Equal(t, frames, again, "a finished run replays")
	tail := c.as(map[string]string{"Last-Event-ID": "1"}).get("/threads/" + id + "/runs/" + runID + "/stream").frames()
	require.Equal(t, frames[2:], tail)
	all := c.as(map[string]string{"Last-Event-ID": "-1"}).get("/threads/" + id + "/runs/" + runID + "/stream").frames()
	require.Equal(t, frames, all)
}

// events lists the names of frames.
func events(frames []frame) []string {
	names := make([]string, len(frames))
	for i, f := range frames {
		names[i] = f.event
	}
	return names
}

// raw returns a member of a JSON object as it is.
func raw(t *testing.T, object, key string) json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(object), &m))
	return m[key]
}

func TestJoinNarrowsTheModes(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	id := c.thread()
	c.post("/threads/"+id+"/runs/stream", `{"assistant_id":"echo","input":{"note":"x"},"stream_mode":["values","updates"]}`).frames()
	run := c.get("/threads/" + id + "/runs").ok().list()[0]["run_id"].(string)
	frames := c.get("/threads/" + id + "/runs/" + run + `/stream?stream_mode=["updates"]`).frames()
	require.Equal(t, []string{"metadata", "updates"}, events(frames))
	require.Equal(t, "2", frames[1].id, "numbers stay")
}

func TestStreamOfAFailure(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	id := c.thread()
	frames := c.post("/threads/"+id+"/runs/stream", `{"assistant_id":"fail","input":{}}`).frames()
	last := frames[len(frames)-1]
	require.Equal(t, "error", last.event)
	require.JSONEq(t, `{"error":"CustomError","message":"Boo!"}`, last.data)
	require.Equal(t, "error", c.get("/threads/" + id).ok().json()["status"])
	task := c.get("/threads/" + id + "/state").ok().json()["tasks"].([]any)[0].(map[string]any)
	require.JSONEq(t, `{"message":"Boo!","name":"CustomError"}`, task["error"].(string))
}

const missingID = "00000000-0000-4000-8000-000000000000"

func TestStreamsOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	frames := c.get("/threads/" + c.thread() + "/runs/" + missingID + "/stream").frames()
	require.Equal(t, []string{"error"}, events(frames))
	require.JSONEq(t, `{"error":"Error","message":"404: Run not found"}`, frames[0].data)
	frames = c.get("/threads/" + missingID + "/stream").frames()
	require.JSONEq(t, `{"error":"Error","message":"404: Thread not found"}`, frames[0].data)
	require.Empty(t, c.get("/runs/"+missingID+"/stream").frames(), "a stateless run that is unknown: an empty stream")
	c.get("/threads/nope/runs/" + missingID + "/stream").fault("thread_id")
	c.get("/threads/" + missingID + "/runs/nope/stream").fault("run_id")
}

func TestThreadIsFollowedOverItsRuns(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	id := c.thread()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	res := c.open(ctx, http.MethodGet, "/threads/"+id+"/stream", "")
	require.Equal(t, http.StatusOK, res.StatusCode)
	for range 2 {
		c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"echo","input":{"note":"x"}}`).ok()
	}
	frames := parseFrames(t, res.Body, 6)
	require.Equal(t, []string{"metadata", "values", "values", "metadata", "values", "values"}, events(frames))
	cancel()
	require.NoError(t, res.Body.Close())
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+"/threads/"+id+"/stream", nil)
	require.NoError(t, err)
	r.Header.Set("Upgrade", "websocket")
	res, err = http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, res.StatusCode)
	require.NoError(t, res.Body.Close())
}

func TestRunErrors(t *testing.T) { // spec/rest-api.md 1.6
	t.Parallel()
	c := serveTest(t, server.Options{})
	id := c.thread()
	for _, path := range []string{"/threads/" + id + "/runs", "/threads/" + id + "/runs/stream", "/threads/" + id + "/runs/wait", "/runs", "/runs/stream", "/runs/wait"} {
		c.post(path, `{"assistant_id":`).text(http.StatusBadRequest, "Malformed JSON in request body")
		c.post(path, `{}`).fault("assistant_id")
		c.post(path, `[]`).is(http.StatusBadRequest)
		c.post(path, `{"assistant_id":"echo","stream_mode":"nope"}`).fault("stream_mode", float64(0))
		c.post(path, `{"assistant_id":"nope","input":{}}`).text(http.StatusNotFound,
			`No assistant found for "nope". Make sure the assistant ID is for a valid assistant or a valid graph ID.`)
	}
	c.post("/threads/"+missingID+"/runs", `{"assistant_id":"echo","input":{}}`).text(http.StatusNotFound, "Thread with ID "+missingID+" not found")
	c.post("/threads/"+missingID+"/runs/wait", `{"assistant_id":"echo","input":{},"multitask_strategy":"enqueue"}`).is(http.StatusNotFound)
	c.post("/threads/"+missingID+"/runs/wait", `{"assistant_id":"echo","input":{},"if_not_exists":"create"}`).ok()
	c.get("/threads/" + missingID).ok()
	c.post("/threads/nope/runs", `{"assistant_id":"echo"}`).fault("thread_id")
	c.post("/threads/"+id+"/runs", `{"assistant_id":"strict","input":{"nope":1}}`).code(http.StatusUnprocessableEntity, "invalid_input")
	run := c.post("/threads/"+id+"/runs", `{"assistant_id":"echo","input":{"nope":1}}`).ok().json()
	require.Contains(t, run["warnings"].([]any)[0], "nope")
	c.get("/threads/" + missingID + "x/runs").fault("thread_id")
	c.get("/threads/"+id+"/runs/"+missingID).text(http.StatusNotFound, "Run not found")
	c.do(http.MethodDelete, "/threads/"+id+"/runs/"+missingID, "").text(http.StatusNotFound, "Run not found")
	c.get("/nowhere").text(http.StatusNotFound, "404 Not Found")
	c.patch("/ok", "{}").text(http.StatusNotFound, "404 Not Found")
}

func TestRunsAreListed(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	id := c.thread()
	var ids []string
	for range 3 {
		a := c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"echo","input":{}}`).ok()
		ids = append(ids, a.header.Get("Content-Location")[len("/threads/"+id+"/runs/"):])
	}
	listed := func(query string) []string {
		out := []string{}
		for _, r := range c.get("/threads/" + id + "/runs" + query).ok().list() {
			out = append(out, r["run_id"].(string))
		}
		return out
	}
	require.Equal(t, ids, listed(""))
	require.Equal(t, ids[1:2], listed("?limit=1&offset=1"), "offset and limit, not a slice to limit")
	require.Equal(t, ids, listed("?status=success"))
	require.Empty(t, listed("?status=pending"))
	require.Empty(t, listed("?status=nonsense"))
	only := c.get("/threads/" + id + `/runs?limit=1&select=["run_id"]`).ok().list()
	require.Equal(t, []map[string]any{{"run_id": ids[0]}}, only)
	c.get("/threads/" + id + "/runs?limit=-1").fault("limit")
	c.get("/threads/"+missingID+"/runs").text(http.StatusNotFound, "Thread with ID "+missingID+" not found")
	c.do(http.MethodDelete, "/threads/"+id+"/runs/"+ids[2], "").is(http.StatusNoContent)
	require.Len(t, listed(""), 2)
}
