package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// interrupted starts the graph on a new thread and returns the thread and its questions.
func interrupted(c *client, graph string) (threadID string, ids []string) {
	c.t.Helper()
	threadID = c.thread()
	c.post("/threads/"+threadID+"/runs/wait", `{"assistant_id":"`+graph+`","input":{}}`).ok()
	for _, task := range c.get("/threads/" + threadID + "/state").ok().json()["tasks"].([]any) {
		for _, i := range task.(map[string]any)["interrupts"].([]any) {
			ids = append(ids, i.(map[string]any)["id"].(string))
		}
	}
	require.NotEmpty(c.t, ids)
	return threadID, ids
}

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

func TestInterruptAndResumeWithUpdate(t *testing.T) { // D-41
	t.Parallel()
	c := serveTest(t, server.Options{})
	id, ids := interrupted(c, "ask")
	th := c.get("/threads/" + id).ok().json()
	require.Equal(t, "interrupted", th["status"])
	state := c.get("/threads/" + id + "/state").ok().json()
	task := state["tasks"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"ask"}, state["next"])
	require.Equal(t, map[string]any{task["id"].(string): task["interrupts"]}, th["interrupts"])
	before := len(c.post("/threads/"+id+"/history", `{"limit":100}`).ok().list())

	frames := c.post("/threads/"+id+"/runs/stream", `{"assistant_id":"ask","stream_mode":["values","updates"],
		"command":{"resume":{"`+ids[0]+`":"yes"},"update":{"messages":[{"type":"ai","id":"card","content":"reviewed"}],"note":"n"}}}`).frames()
	first := frames[1].json(t)
	require.Equal(t, "reviewed", first["messages"].([]any)[0].(map[string]any)["content"], "in the first values")
	last := frames[len(frames)-1].json(t)
	require.Equal(t, "yes", last["answer"])
	require.Equal(t, "n", last["note"])
	require.Equal(t, "card", last["messages"].([]any)[0].(map[string]any)["id"])
	history := c.post("/threads/"+id+"/history", `{"limit":100}`).ok().list()
	require.Len(t, history, before+2, "one checkpoint for the resumed superstep, one for the next")
	require.Equal(t, "idle", c.get("/threads/" + id).ok().json()["status"])
}

func TestRefusedResumes(t *testing.T) { // decisions 8, D-34, D-35
	t.Parallel()
	c := serveTest(t, server.Options{})
	runs := func(id string) string { return "/threads/" + id + "/runs" }
	body := func(graph, command string) string {
		return `{"assistant_id":"` + graph + `","command":` + command + `}`
	}
	fresh := c.thread()
	c.post(runs(fresh), body("ask", `{"resume":"x"}`)).code(http.StatusConflict, "nothing_pending")

	id, ids := interrupted(c, "ask")
	unknown := strings.Repeat("0", 32)
	v := c.post(runs(id), body("ask", `{"resume":{"`+unknown+`":1}}`)).code(http.StatusConflict, "interrupt_not_pending")
	require.Equal(t, ids[0], v["pending"].([]any)[0].(map[string]any)["id"])
	c.post(runs(id), body("ask", `{"resume":{"`+ids[0]+`":1,"`+unknown+`":1}}`)).code(http.StatusConflict, "interrupt_not_pending")
	c.post(runs(id), body("ask", `{"resume":null}`)).code(http.StatusBadRequest, "empty_command")
	c.post(runs(id), body("ask", `{}`)).code(http.StatusBadRequest, "empty_command")
	c.post(runs(id), body("ask", `{"resume":1,"goto":"nowhere"}`)).code(http.StatusUnprocessableEntity, "invalid_command")
	c.post(runs(id), body("ask", `{"resume":1,"update":{"messages":[{"type":"nonsense"}]}}`)).code(http.StatusUnprocessableEntity, "invalid_command")
	c.post(runs(id), body("ask", `{"resume":1,"graph":"PARENT"}`)).code(http.StatusUnprocessableEntity, "invalid_command")
	history := c.post("/threads/"+id+"/history", `{}`).ok().list()
	old := history[len(history)-1]["checkpoint"].(map[string]any)["checkpoint_id"].(string)
	c.post(runs(id), `{"assistant_id":"ask","checkpoint_id":"`+old+`","command":{"resume":1}}`).code(http.StatusConflict, "interrupt_not_pending")

	two, _ := interrupted(c, "two")
	v = c.post(runs(two), body("two", `{"resume":1}`)).code(http.StatusBadRequest, "ambiguous_resume")
	require.Len(t, v["pending"], 2)

	checked, _ := interrupted(c, "checked")
	v = c.post(runs(checked), body("checked", `{"resume":{"approved":"maybe"}}`)).code(http.StatusUnprocessableEntity, "invalid_answer")
	require.NotEmpty(t, v["issues"].([]any)[0].(map[string]any)["message"])

	// Nothing was stored: the right answer still counts.
	require.Len(t, c.get(runs(id)).ok().list(), 1)
	require.Equal(t, true, c.post(runs(id)+"/wait", body("ask", `{"resume":true}`)).ok().json()["answer"])
	c.post(runs(checked)+"/wait", body("checked", `{"resume":{"approved":true}}`)).ok()
	v = c.post(runs(id), body("ask", `{"resume":{"`+ids[0]+`":false}}`)).json()
	require.Contains(t, []any{"already_decided", "interrupt_not_pending", "nothing_pending"}, v["error"])
}

func TestOneOfManyDifferentAnswersIsAccepted(t *testing.T) { // D-31
	t.Parallel()
	c := serveTest(t, server.Options{})
	id, ids := interrupted(c, "ask")
	const reviewers = 40
	var wg sync.WaitGroup
	statuses := make([]int, reviewers)
	for i := range reviewers {
		wg.Go(func() {
			a := c.post("/threads/"+id+"/runs/wait", fmt.Sprintf(`{"assistant_id":"ask","command":{"resume":{"%s":%d}}}`, ids[0], i))
			statuses[i] = a.status
		})
	}
	wg.Wait()
	accepted := 0
	for _, s := range statuses {
		if s == http.StatusOK {
			accepted++
		} else {
			require.Equal(t, http.StatusConflict, s)
		}
	}
	require.Equal(t, 1, accepted)
}

func TestEqualAnswersAreOneRun(t *testing.T) { // D-32
	t.Parallel()
	c := serveTest(t, server.Options{})
	id, ids := interrupted(c, "ask")
	const clicks = 20
	var wg sync.WaitGroup
	runs := make([]string, clicks)
	for i := range clicks {
		wg.Go(func() {
			a := c.post("/threads/"+id+"/runs", `{"assistant_id":"ask","command":{"resume":{"`+ids[0]+`":"yes"}}}`)
			if a.status == http.StatusOK {
				runs[i] = a.str("run_id")
			} else {
				runs[i] = a.body
			}
		})
	}
	wg.Wait()
	for _, r := range runs {
		require.Equal(t, runs[0], r)
	}
}

func TestDifferentAnswerTellsWhoDecided(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	id, ids := interrupted(c, "two")
	c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"two","command":{"resume":{"`+ids[0]+`":"first"}}}`).ok()
	v := c.post("/threads/"+id+"/runs", `{"assistant_id":"two","command":{"resume":{"`+ids[0]+`":"second"}}}`).code(http.StatusConflict, "already_decided")
	require.Equal(t, "first", v["decision"])
	require.Nil(t, v["by"])
	require.NotEmpty(t, v["at"])
	// The other question still waits.
	require.Equal(t, "interrupted", c.get("/threads/" + id).ok().json()["status"])
	require.Equal(t, "B", c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"two","command":{"resume":"B"}}`).ok().json()["b"])
}

func TestIdempotencyKey(t *testing.T) { // D-47
	t.Parallel()
	c := serveTest(t, server.Options{}).as(map[string]string{"Idempotency-Key": "k1"})
	id := c.thread()
	body := `{"assistant_id":"echo","input":{"note":"x"}}`
	first := c.post("/threads/"+id+"/runs/wait", body).ok()
	second := c.post("/threads/"+id+"/runs/stream", body)
	require.Equal(t, first.header.Get("Content-Location"), second.header.Get("Content-Location"))
	require.NotEmpty(t, second.frames())
	require.Len(t, c.get("/threads/"+id+"/runs").ok().list(), 1)
	other := c.as(map[string]string{"Idempotency-Key": "k2"}).post("/threads/"+id+"/runs/wait", body).ok()
	require.NotEqual(t, first.header.Get("Content-Location"), other.header.Get("Content-Location"))
}

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

func TestDisconnects(t *testing.T) { // spec/rest-api.md 3.4, D-56, D-59
	t.Parallel()
	c := serveTest(t, server.Options{})
	leave := func(method, path, body string) {
		ctx, cancel := context.WithCancel(t.Context())
		res := c.open(ctx, method, path, body)
		require.Equal(t, http.StatusOK, res.StatusCode)
		cancel()
		require.NoError(t, res.Body.Close())
	}
	status := func(id string) any {
		return c.get("/threads/" + id + "/runs").ok().list()[0]["status"]
	}
	const cancel, keep = `{"assistant_id":"slow","input":{"wait":600},"on_disconnect":"cancel"}`, `{"assistant_id":"slow","input":{"wait":600}}`
	for _, kind := range []string{"stream", "wait"} {
		id := c.thread()
		leave(http.MethodPost, "/threads/"+id+"/runs/"+kind, cancel)
		c.until("cancelled: "+kind, func() bool { return status(id) == "interrupted" })
		require.Equal(t, "idle", c.get("/threads/" + id).ok().json()["status"])
	}
	for _, kind := range []string{"stream", "join"} {
		id := c.thread()
		leave(http.MethodPost, "/threads/"+id+"/runs/stream", keep)
		run := c.get("/threads/" + id + "/runs").ok().list()[0]["run_id"].(string)
		c.until("running", func() bool { return status(id) == "running" })
		leave(http.MethodGet, "/threads/"+id+"/runs/"+run+"/"+kind, "")
		require.Equal(t, "running", status(id), "a reader that leaves cancels nothing")
		leave(http.MethodGet, "/threads/"+id+"/runs/"+run+"/"+kind+"?cancel_on_disconnect=1", "")
		c.until("cancelled by a reader: "+kind, func() bool { return status(id) == "interrupted" })
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	start := func(id string) string {
		return c.post("/threads/"+id+"/runs", `{"assistant_id":"slow","input":{"wait":600},"multitask_strategy":"enqueue"}`).ok().str("run_id")
	}
	id := c.thread()
	run := start(id)
	c.post("/threads/"+id+"/runs/"+run+"/cancel?wait=0", "").is(http.StatusAccepted)
	c.post("/threads/"+id+"/runs/"+run+"/cancel?wait=1", "").is(http.StatusNoContent)
	require.Equal(t, "interrupted", c.get("/threads/"+id+"/runs/"+run).ok().str("status"))
	c.post("/threads/"+id+"/runs/"+run+"/cancel", "").is(http.StatusAccepted)
	c.post("/threads/"+id+"/runs/"+missingID+"/cancel", "").text(http.StatusNotFound, "Run not found")
	c.post("/threads/"+id+"/runs/"+run+"/cancel?action=explode", "").fault("action")

	run = start(id)
	c.post("/threads/"+id+"/runs/"+run+"/cancel?wait=true&action=rollback", "").is(http.StatusNoContent)
	c.get("/threads/"+id+"/runs/"+run).text(http.StatusNotFound, "Run not found")

	a, b := start(id), start(id)
	c.post("/runs/cancel", `{"thread_id":"`+id+`","run_ids":["`+b+`"]}`).is(http.StatusNoContent)
	require.Equal(t, "interrupted", c.get("/threads/"+id+"/runs/"+b).ok().str("status"))
	c.post("/runs/cancel?action=interrupt", `{"status":"all"}`).is(http.StatusNoContent)
	c.until("all cancelled", func() bool {
		return c.get("/threads/"+id+"/runs/"+a).ok().str("status") == "interrupted"
	})
	c.post("/runs/cancel", `{}`).fault("run_ids")
	c.post("/runs/cancel", `{"thread_id":"`+id+`","run_ids":["`+missingID+`"]}`).text(http.StatusNotFound, "Run not found")
}

func TestMultitaskStrategies(t *testing.T) { // spec/rest-api.md 3.3
	t.Parallel()
	c := serveTest(t, server.Options{})
	slow := func(id, strategy string, wait float64) answer {
		return c.post("/threads/"+id+"/runs", fmt.Sprintf(`{"assistant_id":"slow","input":{"wait":%v},"multitask_strategy":"%s"}`, wait, strategy))
	}
	id := c.thread()
	first := slow(id, "reject", 600).ok().str("run_id")
	slow(id, "reject", 0).text(http.StatusUnprocessableEntity, "Thread is already running a task. Wait for it to finish or choose a different multitask strategy.")
	require.Len(t, c.get("/threads/"+id+"/runs").ok().list(), 1, "nothing was stored")
	require.Equal(t, "busy", c.get("/threads/" + id).ok().json()["status"])
	c.post("/threads/"+id+"/state", `{"values":{"note":"x"}}`).text(http.StatusConflict, "Thread is busy")

	queued := slow(id, "enqueue", 0).ok().str("run_id")
	require.Equal(t, "pending", c.get("/threads/"+id+"/runs/"+queued).ok().str("status"))
	next := slow(id, "interrupt", 0).ok().str("run_id")
	c.get("/threads/" + id + "/runs/" + next + "/join").ok()
	for run, want := range map[string]string{first: "interrupted", queued: "interrupted", next: "success"} {
		require.Equal(t, want, c.get("/threads/"+id+"/runs/"+run).ok().str("status"))
	}

	gone := slow(id, "reject", 600).ok().str("run_id")
	last := slow(id, "rollback", 0).ok().str("run_id")
	c.get("/threads/" + id + "/runs/" + last + "/join").ok()
	c.get("/threads/"+id+"/runs/"+gone).text(http.StatusNotFound, "Run not found")
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
