package server_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// stateKeys are the keys of a thread state: exactly these (spec/rest-api.md 5.1).
var stateKeys = []string{"values", "next", "tasks", "metadata", "created_at", "checkpoint", "parent_checkpoint"}

func TestStateOfANewThread(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	id := c.thread()
	require.JSONEq(t, `{"values":{},"next":[],"tasks":[],"metadata":{},"created_at":null,"checkpoint":null,"parent_checkpoint":null}`,
		c.get("/threads/"+id+"/state").ok().body)
	require.JSONEq(t, `[]`, c.post("/threads/"+id+"/history", `{}`).ok().body)
	v := c.get("/threads/" + id + "/state/" + missingID).ok().json()
	require.Equal(t, missingID, v["checkpoint"].(map[string]any)["checkpoint_id"], "an unknown checkpoint is echoed")
	require.Equal(t, map[string]any{}, v["values"])
	c.post("/threads/"+id+"/state", `{"values":{"note":"x"}}`).text(http.StatusBadRequest, "Thread "+id+" has no graph ID")
	c.get("/threads/" + id + "/state/nope").fault("checkpoint_id")
}

func TestStateAndHistory(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	id := c.thread()
	c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"echo","input":{"note":"x"},"metadata":{"turn":1}}`).ok()
	state := c.get("/threads/" + id + "/state").ok().json()
	require.ElementsMatch(t, stateKeys, keys(state))
	require.Equal(t, []any{}, state["next"])
	require.NotContains(t, state["values"], "answer", "a key without a value is absent")
	head := state["checkpoint"].(map[string]any)
	require.Equal(t, "", head["checkpoint_ns"])
	require.Nil(t, head["checkpoint_map"])

	history := c.post("/threads/"+id+"/history", `{}`).ok().list()
	require.Len(t, history, 3)
	require.Equal(t, state["checkpoint"], history[0]["checkpoint"], "newest first")
	require.Equal(t, history[1]["checkpoint"], history[0]["parent_checkpoint"])
	require.Nil(t, history[2]["parent_checkpoint"])
	require.Equal(t, []any{"__start__"}, history[2]["next"])
	require.ElementsMatch(t, stateKeys, keys(history[0]))
	at := func(i int) string { return history[i]["checkpoint"].(map[string]any)["checkpoint_id"].(string) }

	require.JSONEq(t, `[]`, c.post("/threads/"+id+"/history", `{"limit":0}`).ok().body)
	require.Len(t, c.get("/threads/"+id+"/history?limit=1").ok().list(), 1)
	for _, before := range []string{`"` + at(0) + `"`, `{"configurable":{"checkpoint_id":"` + at(0) + `"}}`, `{"checkpoint_id":"` + at(0) + `"}`} {
		require.Len(t, c.post("/threads/"+id+"/history", `{"before":`+before+`}`).ok().list(), 2, before)
	}
	require.Len(t, c.get("/threads/"+id+"/history?before="+at(1)).ok().list(), 1)
	require.Len(t, c.post("/threads/"+id+"/history", `{"checkpoint":{"checkpoint_id":"`+at(1)+`"}}`).ok().list(), 1)
	require.Len(t, c.post("/threads/"+id+"/history", `{"metadata":{"turn":1}}`).ok().list(), 3)
	require.Empty(t, c.post("/threads/"+id+"/history", `{"metadata":{"turn":2}}`).ok().list())
	only := c.post("/threads/"+id+"/history", `{"limit":1,"select":["next"]}`).ok().list()
	require.Equal(t, []map[string]any{{"next": []any{}}}, only)
	c.post("/threads/"+id+"/history", `{"limit":-1}`).fault("limit")
	c.get("/threads/" + id + "/history?limit=x").fault("limit")
	c.get("/threads/" + id + "/history?before=x").fault("before")

	same := c.get("/threads/" + id + "/state/" + at(0)).ok().json()
	require.Equal(t, state["values"], same["values"])
	for _, subgraphs := range []string{`true`, `"true"`, `null`} {
		v := c.post("/threads/"+id+"/state/checkpoint", `{"checkpoint":{"checkpoint_id":"`+at(1)+`"},"subgraphs":`+subgraphs+`}`).ok().json()
		require.Equal(t, []any{"say"}, v["next"])
	}
	require.Equal(t, state["checkpoint"], c.post("/threads/"+id+"/state/checkpoint", ``).ok().json()["checkpoint"])
	c.post("/threads/"+id+"/state/checkpoint", `{"checkpoint":{"checkpoint_id":"x"}}`).fault("checkpoint", "checkpoint_id")
}

func TestStateUpdate(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	id, _ := interrupted(c, "ask")
	before := c.get("/threads/" + id + "/state").ok().json()["checkpoint"].(map[string]any)["checkpoint_id"].(string)
	v := c.post("/threads/"+id+"/state", `{"values":{"note":"edited","log":["x"]}}`).ok().json()["checkpoint"].(map[string]any)
	require.Equal(t, id, v["thread_id"])
	require.Greater(t, v["checkpoint_id"], before)
	require.NotContains(t, v, "checkpoint_map")
	th := c.get("/threads/" + id).ok().json()
	require.Equal(t, "edited", th["values"].(map[string]any)["note"])
	require.Equal(t, "interrupted", th["status"], "an edit does not change the status")

	c.post("/threads/"+id+"/state", `{"values":{"note":"x"},"as_node":"nowhere"}`).is(http.StatusBadRequest)
	c.post("/threads/"+id+"/state", `{"values":3}`).fault("values")
	c.post("/threads/"+id+"/state", `{"values":{},"checkpoint":{"checkpoint_id":"x"}}`).fault("checkpoint", "checkpoint_id")
	c.post("/threads/"+missingID+"/state", `{"values":{}}`).text(http.StatusNotFound, "Thread with ID "+missingID+" not found")
	c.post("/threads/"+id+"/state", `{"values":null,"as_node":"__end__"}`).ok()
	require.Equal(t, []any{}, c.get("/threads/" + id + "/state").ok().json()["next"])
}

func TestForkFromAnOlderCheckpoint(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	id := c.thread()
	c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"echo","input":{"note":"first"}}`).ok()
	history := c.post("/threads/"+id+"/history", `{}`).ok().list()
	oldest := history[len(history)-1]["checkpoint"].(map[string]any)["checkpoint_id"].(string)
	c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"echo","input":{"note":"second"},"checkpoint":{"checkpoint_id":"`+oldest+`"}}`).ok()
	all := c.post("/threads/"+id+"/history", `{"limit":100}`).ok().list()
	children := 0
	for _, h := range all {
		if p, ok := h["parent_checkpoint"].(map[string]any); ok && p["checkpoint_id"] == oldest {
			children++
		}
	}
	require.Equal(t, 2, children, "both branches are listed")
	require.Equal(t, "second", all[0]["values"].(map[string]any)["note"])
}
