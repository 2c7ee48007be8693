package server_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

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
