package server_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/thread"
)

// echoID is the system assistant of the graph echo: a v5 UUID of its name.
func echoID(c *client) string {
	c.t.Helper()
	return c.get("/assistants/echo").ok().str("assistant_id")
}

func TestSystemAssistants(t *testing.T) { // spec/rest-api.md 1.5, 2.2
	t.Parallel()
	c := serveTest(t, server.Options{GraphDefaults: map[string]thread.GraphDefault{
		"echo": {Config: []byte(`{"configurable":{"model_name":"openai"}}`), Context: []byte(`{"model":"x"}`)},
	}})
	found := c.post("/assistants/search", `{"graph_id":"echo"}`).ok()
	require.Equal(t, "1", found.header.Get("X-Pagination-Total"))
	a := found.list()[0]
	require.Equal(t, "echo", a["name"])
	require.Equal(t, map[string]any{"created_by": "system"}, a["metadata"])
	require.Equal(t, map[string]any{"configurable": map[string]any{"model_name": "openai"}}, a["config"])
	require.Equal(t, map[string]any{"model": "x"}, a["context"])
	require.Nil(t, a["description"])
	require.Contains(t, a, "description")
	require.Equal(t, a["assistant_id"], c.get("/assistants/"+a["assistant_id"].(string)).ok().str("assistant_id"))
	require.Equal(t, float64(1), a["version"])
}

func TestAssistantLifeCycle(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	made := c.post("/assistants", `{"graph_id":"echo","config":{"configurable":{"k":1}},"metadata":{"a":1},"description":"d"}`).ok()
	id := made.str("assistant_id")
	require.Equal(t, "Untitled", made.str("name"))
	require.Equal(t, "d", made.str("description"))
	c.post("/assistants", `{"graph_id":"ask","assistant_id":"`+id+`"}`).text(http.StatusConflict, "Assistant already exists")
	same := c.post("/assistants", `{"graph_id":"ask","assistant_id":"`+id+`","if_exists":"do_nothing"}`).ok()
	require.Equal(t, "echo", same.str("graph_id"), "unchanged")
	c.post("/assistants", `{}`).fault("graph_id")
	c.post("/assistants", `{"graph_id":"echo","if_exists":"nope"}`).fault("if_exists")

	patched := c.patch("/assistants/"+id, `{"metadata":{"b":2},"name":"New"}`).ok().json()
	require.Equal(t, map[string]any{"a": float64(1), "b": float64(2)}, patched["metadata"])
	require.Equal(t, float64(2), patched["version"])
	c.patch("/assistants/"+id, ``).ok()
	versions := c.post("/assistants/"+id+"/versions", `{}`).ok().list()
	require.Len(t, versions, 3, "an empty patch makes a version, too")
	require.Equal(t, float64(3), versions[0]["version"])
	require.NotContains(t, versions[0], "updated_at")
	require.Len(t, c.post("/assistants/"+id+"/versions", `{"limit":1,"offset":1}`).ok().list(), 1)
	require.Len(t, c.post("/assistants/"+id+"/versions", `{"metadata":{"b":2}}`).ok().list(), 2)

	first := c.post("/assistants/"+id+"/latest", `{"version":1}`).ok().json()
	require.Equal(t, "Untitled", first["name"])
	require.Equal(t, float64(1), first["version"])
	require.Equal(t, float64(4), c.patch("/assistants/"+id, `{}`).ok().json()["version"])
	c.post("/assistants/"+id+"/latest", `{"version":9}`).text(http.StatusNotFound, "Assistant version not found")
	c.post("/assistants/"+id+"/latest", `{}`).fault("version")

	th := c.post("/threads", `{"metadata":{"assistant_id":"`+id+`"}}`).ok().str("thread_id")
	gone := c.do(http.MethodDelete, "/assistants/"+id+"?delete_threads=true", "").ok()
	require.JSONEq(t, `["`+id+`"]`, gone.body)
	c.get("/threads/"+th).text(http.StatusNotFound, "Thread with ID "+th+" not found")
	c.get("/assistants/"+id).text(http.StatusNotFound, "Assistant not found")
	c.patch("/assistants/"+id, `{}`).text(http.StatusNotFound, "Assistant not found")
	c.do(http.MethodDelete, "/assistants/"+id, "").text(http.StatusNotFound, "Assistant not found")
	c.post("/assistants/"+id+"/versions", `{}`).text(http.StatusNotFound, `Assistant "`+id+`" not found.`)
	c.get("/assistants/"+id+"/graph").text(http.StatusNotFound, "Assistant not found")
}

func TestAssistantSearch(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	for _, name := range []string{"Beta", "alpha", "Gamma"} {
		c.post("/assistants", `{"graph_id":"echo","name":"`+name+`","metadata":{"mine":{"x":1}}}`).ok()
	}
	names := func(body string) []any {
		out := []any{}
		for _, a := range c.post("/assistants/search", body).ok().list() {
			out = append(out, a["name"])
		}
		return out
	}
	require.Equal(t, []any{"Gamma", "alpha", "Beta"}, names(`{"metadata":{"mine":{"x":1}}}`), "newest first")
	require.Equal(t, []any{"alpha"}, names(`{"name":"ALPH"}`))
	require.Empty(t, names(`{"metadata":{"mine":{"x":2}}}`))
	require.ElementsMatch(t, []any{"Beta", "Gamma", "alpha"}, names(`{"metadata":{"mine":{}},"sort_by":"name","sort_order":"asc"}`))
	page := c.post("/assistants/search", `{"metadata":{"mine":{}},"limit":2,"select":["name"]}`).ok()
	require.Equal(t, "3", page.header.Get("X-Pagination-Total"))
	require.Equal(t, "2", page.header.Get("X-Pagination-Next"))
	require.Equal(t, []map[string]any{{"name": "Gamma"}, {"name": "alpha"}}, page.list())
	last := c.post("/assistants/search", `{"metadata":{"mine":{}},"limit":2,"offset":2}`).ok()
	require.Equal(t, "3", last.header.Get("X-Pagination-Total"))
	require.Empty(t, last.header.Get("X-Pagination-Next"), "the last page")
	require.Equal(t, "3", c.post("/assistants/count", `{"metadata":{"mine":{}}}`).ok().body)
	c.post("/assistants/search", `{"limit":0}`).fault("limit")
	c.post("/assistants/search", `{"limit":1001}`).fault("limit")
	c.post("/assistants/search", `{"sort_by":"nope"}`).fault("sort_by")
}

func TestGraphOfAnAssistant(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	id := echoID(c)
	drawing := c.get("/assistants/" + id + "/graph").ok().json()
	ids := []any{}
	for _, n := range drawing["nodes"].([]any) {
		ids = append(ids, n.(map[string]any)["id"])
	}
	require.ElementsMatch(t, []any{"__start__", "say", "__end__"}, ids)
	require.NotEmpty(t, drawing["edges"])
	c.get("/assistants/echo/graph?xray=true").ok()
	c.get("/assistants/echo/graph?xray=2").ok()
	schemas := c.get("/assistants/echo/schemas").ok().json()
	require.Equal(t, "echo", schemas["graph_id"])
	for _, key := range []string{"input_schema", "output_schema", "state_schema"} {
		require.Contains(t, schemas, key)
	}
	require.NotContains(t, schemas, "context_schema", "what can't be derived is left out")
	require.JSONEq(t, `{}`, c.get("/assistants/echo/subgraphs?recurse=true").ok().body)
	require.JSONEq(t, `{}`, c.get("/assistants/echo/subgraphs/no%7Csuch").ok().body)

	other := c.post("/assistants", `{"graph_id":"unregistered"}`).ok().str("assistant_id")
	c.get("/assistants/"+other+"/graph").text(http.StatusNotFound, `Graph "unregistered" not found`)
	c.post("/threads/"+c.thread()+"/runs", `{"assistant_id":"`+other+`","input":{}}`).text(http.StatusNotFound, `Graph "unregistered" not found`)
}
