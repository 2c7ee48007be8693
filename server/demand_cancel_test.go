package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server"
)

// D-55: a cancel reaches the node within a second, in a nested graph and beside
// a sibling, too, and the run says nothing more.
func TestCancelStopsTheGraphAndItsSubgraphs(t *testing.T) {
	t.Parallel()
	stopped := make(chan time.Time, 10)
	l := newLab()
	busy := func(ctx agent.Context, _ state) (agent.Update, error) {
		l.gate("busy").entered <- struct{}{}
		ctx.Write("at work")
		<-ctx.Done()
		stopped <- time.Now()
		if ctx.Node() == "stubborn" {
			return said("stubborn"), nil // as if nothing had happened
		}
		return nil, ctx.Err()
	}
	inner := agent.NewGraph[state]("inner").Node("busy", busy).Node("next", busy).
		Edge(agent.Start, "busy").Edge("busy", "next").Edge("next", agent.End).MustCompile()
	c := labServer(t, agent.NewGraph[state]("tree").Node("first", func(agent.Context, state) (agent.Update, error) { return said("kept"), nil }).
		Subgraph("inner", inner).Node("stubborn", busy).Node("after", busy).
		Edge(agent.Start, "first").Edge("first", "inner").Edge("first", "stubborn").
		Edge("inner", agent.End).Edge("stubborn", "after").Edge("after", agent.End).MustCompile())
	for _, how := range []string{"cancel", "cancel?wait=1", "bulk"} {
		id := c.thread()
		r := c.read(http.MethodPost, "/threads/"+id+"/runs/stream",
			`{"assistant_id":"tree","input":{"note":"x"},"stream_mode":["values","updates","custom","tasks"],"stream_subgraphs":true}`)
		path := r.res.Header.Get("Content-Location")
		l.gate("busy").arrive(t)
		l.gate("busy").arrive(t)
		began := time.Now()
		if how == "bulk" {
			c.post("/runs/cancel", `{"status":"running"}`).is(http.StatusNoContent)
		} else {
			require.Contains(t, []int{http.StatusAccepted, http.StatusNoContent}, c.post(path+"/"+how, "").status)
		}
		for range 2 {
			require.Less(t, (<-stopped).Sub(began), time.Second, how)
		}
		frames := r.rest()
		require.Empty(t, named(frames, "error"), how)
		require.Equal(t, "interrupted", c.get(path).ok().str("status"))
		require.Equal(t, "idle", c.get("/threads/"+id).ok().str("status"))
		replay := c.get(path + "/stream").frames()
		require.Equal(t, frames, replay, "and nothing was added since")
		require.Contains(t, c.values(id)["log"], "kept")
		require.Empty(t, l.gate("busy").entered, "no further node was started, not even behind one that ended well")
	}
}

// leave opens a request, reads until it is under way, and goes away.
func (c *client) leave(method, path, body string) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	res := c.open(ctx, method, path, body)
	require.Equal(c.t, http.StatusOK, res.StatusCode)
	cancel()
	require.NoError(c.t, res.Body.Close())
}

// D-56, D-59: a reader that goes away ends no run, unless it said so, which it
// can on every route that makes or joins one; stop always ends it.
func TestOnlyThoseWhoAskForItCancelByLeaving(t *testing.T) {
	t.Parallel()
	l := newLab()
	c := labServer(t, l.held())
	started := func(id string, options string) string {
		run := c.start(id, `{"assistant_id":"held","input":{}`+options+`}`)
		l.gate("held").arrive(t)
		return run
	}
	joins := []string{"/threads/{t}/runs/{r}/stream", "/threads/{t}/runs/{r}/join", "/runs/{r}/stream"}
	for _, join := range joins {
		id := c.thread()
		run := started(id, `,"on_disconnect":"cancel"`) // which is about the creating request only
		path := replaceAll(join, "{t}", id, "{r}", run)
		for _, query := range []string{"", "?cancel_on_disconnect=0", "?cancel_on_disconnect=false"} {
			c.leave(http.MethodGet, path+query, "")
			require.Equal(t, "running", c.status(id, run), join+query)
		}
		query := map[string]string{joins[0]: "?cancel_on_disconnect=true", joins[1]: "?cancel_on_disconnect=1", joins[2]: "?cancel_on_disconnect=1"}[join]
		c.leave(http.MethodGet, path+query, "")
		c.until("cancelled by the reader of "+join, func() bool { return c.status(id, run) == "interrupted" })
	}

	for _, route := range []string{"/threads/{t}/runs/stream", "/threads/{t}/runs/wait"} {
		for option, cancels := range map[string]bool{"": false, `,"on_disconnect":"continue"`: false, `,"on_disconnect":"cancel"`: true} {
			id := c.thread()
			c.leave(http.MethodPost, replaceAll(route, "{t}", id), `{"assistant_id":"held","input":{}`+option+`}`)
			run := c.get("/threads/" + id + "/runs").ok().list()[0]["run_id"].(string)
			if cancels {
				c.until("cancelled by "+route, func() bool { return c.status(id, run) == "interrupted" })
				continue
			}
			c.until("running", func() bool { return c.status(id, run) == "running" })
			c.post("/threads/"+id+"/runs/"+run+"/cancel?wait=1", "").is(http.StatusNoContent)
			require.Equal(t, "interrupted", c.status(id, run), "stop is not just leaving")
		}
	}
	for _, route := range []string{"/runs/stream", "/runs/wait"} {
		c.leave(http.MethodPost, route, `{"assistant_id":"held","input":{},"on_completion":"keep","metadata":{"route":"`+route+`"},"on_disconnect":"cancel"}`)
		c.until("cancelled by "+route, func() bool {
			return c.post("/threads/count", `{"status":"busy"}`).ok().body == "0"
		})
	}
}

// replaceAll replaces pairs of old and new in a path.
func replaceAll(s string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(s) }

// D-57, D-58: the cancel of a run that waits is in its row: it never starts, not
// even after a restart, and one whose worker died is not run again.
func TestCancelOfAQueuedRunOutlivesARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := newLab()
	start := func() (*server.Server, *client, chan error) {
		return running(t, server.Options{DataDir: dir, Agents: []agent.Agent{l.held()}, Workers: 1})
	}
	s, c, served := start()
	busy, queued, behind := c.thread(), c.thread(), c.thread()
	run := c.start(busy, `{"assistant_id":"held","input":{}}`)
	l.gate("held").arrive(t)
	waits := c.start(queued, `{"assistant_id":"held","input":{}}`)
	require.Equal(t, "pending", c.status(queued, waits), "no worker is free")
	c.post("/threads/"+queued+"/runs/"+waits+"/cancel", "").is(http.StatusAccepted)
	require.Equal(t, "interrupted", c.status(queued, waits), "at once")
	second := c.start(busy, `{"assistant_id":"held","input":{},"multitask_strategy":"enqueue"}`)
	c.post("/threads/"+busy+"/runs/"+second+"/cancel", "").is(http.StatusAccepted)
	last := c.start(behind, `{"assistant_id":"held","input":{}}`)

	grace, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	require.NoError(t, s.Shutdown(grace))
	require.NoError(t, <-served)
	s, c, served = start()
	l.gate("held").open()
	require.Equal(t, []any{"before", "waited"}, c.wait(busy, run).json()["log"])
	require.Equal(t, []any{"before", "waited"}, c.wait(behind, last).json()["log"], "one worker: whatever was queued before has had its turn")
	require.Equal(t, "interrupted", c.status(queued, waits))
	require.Equal(t, "interrupted", c.status(busy, second))
	require.Zero(t, l.count("wait:"+queued), "it never started")
	require.Empty(t, c.get("/threads/"+queued+"/runs/"+waits+"/stream").frames())
	require.NoError(t, s.Shutdown(t.Context()))
	require.NoError(t, <-served)
}
