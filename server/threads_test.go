package server_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

func TestThreadLifeCycle(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	const id = "22222222-2222-2222-2222-222222222222"
	made := c.post("/threads", `{"thread_id":"`+id+`","metadata":{"a":1}}`).ok().json()
	require.ElementsMatch(t, []string{"thread_id", "created_at", "updated_at", "metadata", "status", "config"}, keys(made), "no values before a run ended")
	require.Equal(t, "idle", made["status"])
	require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`, made["created_at"])
	c.post("/threads", `{"thread_id":"`+id+`"}`).text(http.StatusConflict, "Thread already exists")
	same := c.post("/threads", `{"thread_id":"`+id+`","metadata":{"b":2},"if_exists":"do_nothing"}`).ok().json()
	require.Equal(t, map[string]any{"a": float64(1)}, same["metadata"])
	c.post("/threads", `{"thread_id":"x"}`).fault("thread_id")
	c.post("/threads", `{"metadata":1}`).fault("metadata")
	c.post("/threads", `nonsense`).text(http.StatusBadRequest, "Malformed JSON in request body")
	c.post("/threads", ``).ok()

	patched := c.patch("/threads/"+id, `{"metadata":{"b":2}}`).ok().json()
	require.Equal(t, map[string]any{"a": float64(1), "b": float64(2)}, patched["metadata"])
	minimal := c.as(map[string]string{"Prefer": "return=minimal"}).patch("/threads/"+id, `{"metadata":{"c":3}}`)
	minimal.is(http.StatusNoContent)
	c.patch("/threads/"+missingID, `{"metadata":{}}`).text(http.StatusNotFound, "Thread not found")
	c.do(http.MethodDelete, "/threads/"+id, "").is(http.StatusNoContent)
	for _, a := range []answer{c.get("/threads/" + id), c.do(http.MethodDelete, "/threads/"+id, ""), c.get("/threads/" + id + "/state"), c.post("/threads/"+id+"/history", "{}"), c.get("/threads/" + id + "/history")} {
		a.text(http.StatusNotFound, "Thread with ID "+id+" not found")
	}
	c.get("/threads/nope").fault("thread_id")
}

func keys(m map[string]any) []string {
	out := []string{}
	for k := range m {
		out = append(out, k)
	}
	return out
}

func TestThreadSearch(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	var ids []string
	for i := range 3 {
		id := c.post("/threads", fmt.Sprintf(`{"metadata":{"n":%d,"group":{"name":"g"}}}`, i)).ok().str("thread_id")
		ids = append(ids, id)
	}
	c.post("/threads/"+ids[1]+"/runs/wait", `{"assistant_id":"echo","input":{"note":"found me"}}`).ok()
	found := func(body string) []any {
		out := []any{}
		for _, th := range c.post("/threads/search", body).ok().list() {
			out = append(out, th["thread_id"])
		}
		return out
	}
	require.Equal(t, []any{ids[2], ids[1], ids[0]}, found(`{}`), "newest first")
	require.Equal(t, []any{ids[0], ids[1], ids[2]}, found(`{"sort_by":"created_at","sort_order":"asc"}`))
	require.Equal(t, []any{ids[2]}, found(`{"metadata":{"n":2,"group":{"name":"g"}}}`))
	require.Equal(t, []any{ids[1]}, found(`{"values":{"note":"found me"}}`), "threads without values don't match")
	require.Empty(t, found(`{"status":"busy"}`))
	require.Equal(t, []any{ids[0]}, found(`{"ids":["`+ids[0]+`"]}`))
	require.Len(t, found(`{"ids":[]}`), 3)
	require.Equal(t, "1", c.post("/threads/count", `{"values":{"note":"found me"}}`).ok().body)
	require.Equal(t, "3", c.post("/threads/count", ``).ok().body)

	page := c.post("/threads/search", `{"limit":2}`).ok()
	require.Equal(t, "3", page.header.Get("X-Pagination-Total"))
	require.Equal(t, "2", page.header.Get("X-Pagination-Next"))
	last := c.post("/threads/search", `{"limit":2,"offset":2}`).ok()
	require.Equal(t, "3", last.header.Get("X-Pagination-Total"))
	require.Empty(t, last.header.Get("X-Pagination-Next"))

	only := c.post("/threads/search", `{"ids":["`+ids[1]+`"],"select":["status","values.note","state_updated_at"]}`).ok().list()[0]
	require.Equal(t, "idle", only["status"])
	require.Equal(t, "found me", only["values.note"])
	require.NotNil(t, only["state_updated_at"])
	require.Len(t, only, 3)
	extracted := c.post("/threads/search", `{"ids":["`+ids[1]+`"],"extract":{"last":"values.messages[-1].content","g":"metadata.group.name","no":"values.messages[9].x"}}`).ok().list()[0]
	require.Equal(t, map[string]any{"last": "hello", "g": "g", "no": nil}, extracted["extracted"])

	c.post("/threads/search", `{"status":"nope"}`).fault("status")
	c.post("/threads/search", `{"ids":["x"]}`).fault("ids", float64(0))
	c.post("/threads/search", `{"sort_by":"nope"}`).fault("sort_by")
	c.post("/threads/search", `{"offset":-1}`).fault("offset")

	require.JSONEq(t, `{"pruned_count":2}`, c.post("/threads/prune", `{"thread_ids":["`+ids[0]+`","`+ids[2]+`","`+missingID+`"]}`).ok().body)
	require.Equal(t, []any{ids[1]}, found(`{}`))
	c.post("/threads/prune", `{}`).fault("thread_ids")
}

func TestThreadWithAHistory(t *testing.T) { // spec/rest-api.md 2.3, supersteps
	t.Parallel()
	c := serveTest(t, server.Options{})
	const steps = `"supersteps":[{"updates":[{"values":{"note":"in"},"as_node":"__input__"}]},{"updates":[{"values":{"log":["one"]},"as_node":"say"}]}]`
	th := c.post("/threads", `{"metadata":{"graph_id":"echo"},`+steps+`}`).ok().json()
	id := th["thread_id"].(string)
	require.Equal(t, []any{"one"}, th["values"].(map[string]any)["log"])
	history := c.post("/threads/"+id+"/history", `{}`).ok().list()
	require.Len(t, history, 2)
	require.Equal(t, "input", history[1]["metadata"].(map[string]any)["source"])
	c.post("/threads", `{"thread_id":"`+missingID+`",`+steps+`}`).text(http.StatusBadRequest, "Thread "+missingID+" has no graph ID")
	c.get("/threads/" + missingID).is(http.StatusNotFound)
	c.post("/threads", `{"metadata":{"graph_id":"echo"},"supersteps":[{"updates":[{"values":{}}]}]}`).fault("supersteps", float64(0), "updates", float64(0), "as_node")
}

func TestCopyOfAThread(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	id := c.thread()
	c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"echo","input":{"note":"x"}}`).ok()
	made := c.post("/threads/"+id+"/copy", "").ok()
	copied := made.str("thread_id")
	require.NotEqual(t, id, copied)
	require.Equal(t, copied, made.json()["metadata"].(map[string]any)["thread_id"])
	mine, theirs := c.get("/threads/"+id+"/state").ok().json(), c.get("/threads/"+copied+"/state").ok().json()
	require.Equal(t, mine["values"], theirs["values"])
	require.Equal(t, mine["checkpoint"].(map[string]any)["checkpoint_id"], theirs["checkpoint"].(map[string]any)["checkpoint_id"])
	require.Equal(t, copied, theirs["metadata"].(map[string]any)["thread_id"])
	c.post("/threads/"+missingID+"/copy", "").text(http.StatusConflict, "Thread not found")
}

// PATCH …/state is the old way to say PATCH … with metadata (spec/rest-api.md 2.2).
func TestStateIsPatchedAsTheThread(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	id := c.post("/threads", `{"metadata":{"a":1,"b":1}}`).ok().str("thread_id")
	c.patch("/threads/"+id+"/state", `{"metadata":{"b":2,"c":3}}`).is(http.StatusNoContent)
	metadata := c.get("/threads/" + id).ok().json()["metadata"].(map[string]any)
	require.Equal(t, map[string]any{"a": 1.0, "b": 2.0, "c": 3.0}, metadata)
	c.patch("/threads/"+id+"/state", `{"metadata":1}`).fault("metadata")
	c.patch("/threads/"+missingID+"/state", `{"metadata":{}}`).text(http.StatusNotFound, "Thread not found")
}

func TestTheRootNamesTheDocs(t *testing.T) {
	t.Parallel()
	a := serveTest(t, server.Options{}).get("/").ok()
	require.Contains(t, a.body, "/docs")
	require.Contains(t, a.body, "/info")
	require.Contains(t, a.header.Get("Content-Type"), "text/plain")
	own := serveTest(t, server.Options{Routes: func(e *echo.Echo) {
		e.GET("/", func(c echo.Context) error { return c.String(http.StatusOK, "mine") })
	}})
	require.Equal(t, "mine", own.get("/").ok().body, "a deployment may put a page there")
}
