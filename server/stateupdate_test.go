package server_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// Other tabs see an edit: on the thread's classic stream in mode state_update,
// and in the thread protocol as checkpoints and values.
func TestAnEditReachesTheReadersOfTheThread(t *testing.T) { // spec/rest-api.md 2.3
	t.Parallel()
	c := serveTest(t, server.Options{})
	th := c.post("/threads", `{"metadata":{"graph_id":"echo"},"supersteps":[
		{"updates":[{"values":{"note":"given"},"as_node":"__input__"}]},{"updates":[{"values":{"log":["said"]},"as_node":"say"}]}]}`).ok().str("thread_id")
	classic := c.as(map[string]string{"Last-Event-ID": "-1"}).open(t.Context(), http.MethodGet, "/threads/"+th+"/stream?stream_mode=state_update", "")
	defer classic.Body.Close() //nolint:errcheck // read as far as the test wants
	events := c.open(t.Context(), http.MethodPost, "/threads/"+th+"/stream/events", `{"channels":["checkpoints","values"]}`)
	defer events.Body.Close() //nolint:errcheck // read as far as the test wants

	first := c.get("/threads/" + th + "/state").ok().json()
	c.post("/threads/"+th+"/state", `{"values":{"note":"edited"}}`).ok()
	second := c.get("/threads/" + th + "/state").ok().json()
	for i, f := range parseFrames(t, classic.Body, 2) {
		require.Equal(t, "state_update", f.event)
		require.Equal(t, map[string]any{"thread_id": th, "state": []any{first, second}[i]}, f.json(t))
	}
	require.Equal(t, "edited", second["values"].(map[string]any)["note"])

	announced := parseFrames(t, events.Body, 4)
	for i, f := range announced {
		v := f.json(t)
		state := []map[string]any{first, second}[i/2]
		data := v["params"].(map[string]any)["data"].(map[string]any)
		require.EqualValues(t, i+1, v["seq"])
		if i%2 == 0 {
			require.Equal(t, "checkpoints", v["method"])
			require.Equal(t, state["checkpoint"].(map[string]any)["checkpoint_id"], data["id"])
			require.Equal(t, "update", data["source"])
		} else {
			require.Equal(t, "values", v["method"])
			require.Equal(t, state["values"], data)
		}
	}
}
