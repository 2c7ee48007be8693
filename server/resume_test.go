package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

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

func TestAnswerInTheNameOfAnotherAgent(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	id, ids := interrupted(c, "ask")
	v := c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"slow","command":{"resume":{"`+ids[0]+`":"yes"}}}`).code(http.StatusConflict, "graph_changed")
	require.Contains(t, v["message"], `The agent "ask" asked this, not "slow"`)
	require.Equal(t, "interrupted", c.get("/threads/"+id).ok().str("status"), "the question stays open")
	c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"ask","command":{"resum":"yes"}}`).is(http.StatusBadRequest)
	c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"ask","command":{"resume":{"`+ids[0]+`":"yes"}}}`).ok()
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
