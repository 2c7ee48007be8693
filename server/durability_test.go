package server_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// history lists the states of a thread, newest first.
func (c *client) history(th string) []map[string]any {
	c.t.Helper()
	return c.get("/threads/" + th + "/history").ok().list()
}

// checkpointID is the id of a state's checkpoint, or of its parent's.
func checkpointID(t *testing.T, state map[string]any, key string) any {
	t.Helper()
	cp, ok := state[key].(map[string]any)
	require.True(t, ok, "%s of %v", key, state)
	return cp["checkpoint_id"]
}

func TestDurabilityExitStoresOneCheckpointPerRun(t *testing.T) { // spec/rest-api.md 3.6
	t.Parallel()
	c := serveTest(t, server.Options{})
	for durability, want := range map[string][2]int{ // checkpoints after the question, and after its answer
		`"durability":"sync"`: {2, 4}, `"durability":"async"`: {2, 4}, `"durability":"exit"`: {1, 2}, `"checkpoint_during":false`: {1, 2},
	} {
		t.Run(durability, func(t *testing.T) {
			t.Parallel()
			c := &client{t, c.url, nil}
			th := c.thread()
			run := func(body string) {
				c.post("/threads/"+th+"/runs/wait", `{"assistant_id":"ask",`+durability+`,`+body+`}`).ok()
			}
			run(`"input":{"note":"x"}`)
			asked := c.history(th)
			require.Len(t, asked, want[0])
			require.Equal(t, []any{"ask"}, asked[0]["next"])
			tasks := asked[0]["tasks"].([]any)
			require.Len(t, tasks, 1)
			require.Len(t, tasks[0].(map[string]any)["interrupts"], 1)
			require.Equal(t, "interrupted", c.get("/threads/"+th).ok().str("status"))

			run(`"command":{"resume":{"approved":true}}`)
			done := c.history(th)
			require.Len(t, done, want[1])
			require.Empty(t, done[0]["next"])
			values := done[0]["values"].(map[string]any)
			require.Equal(t, map[string]any{"approved": true}, values["answer"])
			require.Equal(t, []any{"ask", "done"}, values["log"])
			require.Equal(t, "x", values["note"])
			require.Equal(t, "idle", c.get("/threads/"+th).ok().str("status"))
			if want[1] == 2 {
				require.Equal(t, checkpointID(t, asked[0], "checkpoint"), checkpointID(t, done[0], "parent_checkpoint"))
			}
		})
	}
}

func TestDurabilityExitStoresAFailureOnce(t *testing.T) { // spec/runtime.md 1.12
	t.Parallel()
	c := serveTest(t, server.Options{})
	th := c.thread()
	c.post("/threads/"+th+"/runs/wait", `{"assistant_id":"fail","durability":"exit","input":{"note":"x"}}`)
	states := c.history(th)
	require.Len(t, states, 1)
	require.Equal(t, []any{"boom"}, states[0]["next"])
	require.Equal(t, "x", states[0]["values"].(map[string]any)["note"])
	require.Equal(t, "error", c.get("/threads/"+th).ok().str("status"))
}

func TestDurabilityExitStoresNothingBeforeTheEnd(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	th := c.thread()
	in := c.open(t.Context(), http.MethodPost, "/threads/"+th+"/runs/stream",
		`{"assistant_id":"slow","durability":"exit","stream_mode":"custom","input":{"wait":60,"note":"x"}}`)
	defer in.Body.Close() //nolint:errcheck // read as far as the test wants
	require.Equal(t, "custom", parseFrames(t, in.Body, 2)[1].event, "the node is at work")
	require.Empty(t, c.history(th))
	run := c.get("/threads/" + th + "/runs").ok().list()[0]["run_id"].(string)
	c.post("/threads/"+th+"/runs/"+run+"/cancel?wait=true", "").is(http.StatusNoContent)
	states := c.history(th)
	require.Len(t, states, 1, "a cancel is an end, too")
	require.Equal(t, "x", states[0]["values"].(map[string]any)["note"])

	c.post("/threads/"+th+"/runs", `{"assistant_id":"echo","durability":"never"}`).fault("durability")
}
