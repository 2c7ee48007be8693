package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server"
)

// D-01: a run's stream ends cleanly only behind its last event, and whoever
// reads the run then finds it final, however it ended.
func TestStreamEndsCleanlyOnlyWithTheRun(t *testing.T) {
	t.Parallel()
	l := newLab()
	c := labServer(t, append(testAgents(), l.held())...)
	for name, want := range map[string]struct {
		graph, run, thread string
	}{
		"success":  {"echo", "success", "idle"},
		"question": {"ask", "success", "interrupted"},
		"failure":  {"fail", "error", "error"},
	} {
		for range 20 {
			id := c.thread()
			r := c.read(http.MethodPost, "/threads/"+id+"/runs/stream", `{"assistant_id":"`+want.graph+`","input":{}}`)
			frames := r.rest()
			require.Equal(t, want.run, c.get(r.res.Header.Get("Content-Location")).ok().str("status"), name)
			require.Equal(t, want.thread, c.get("/threads/"+id).ok().str("status"), name)
			again := c.get(r.res.Header.Get("Content-Location") + "/stream").frames()
			require.Equal(t, again, frames, "%s: nothing came behind the end", name)
		}
	}

	id := c.thread()
	r := c.read(http.MethodPost, "/threads/"+id+"/runs/stream", `{"assistant_id":"held","input":{}}`)
	l.gate("held").arrive(t)
	path := r.res.Header.Get("Content-Location")
	require.Equal(t, "running", c.get(path).ok().str("status"))
	c.post(path+"/cancel", "").is(http.StatusAccepted)
	r.rest()
	require.Equal(t, "interrupted", c.get(path).ok().str("status"))
	require.Equal(t, "idle", c.get("/threads/"+id).ok().str("status"))
}

// D-01: the stream of a thread has no end. It lives on over the ends of runs, and
// a shutdown aborts it, as it does the stream of a run that goes on elsewhere.
func TestStreamOfAThreadIsNeverEndedCleanly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, c, served := running(t, server.Options{DataDir: dir})
	id := c.thread()
	r := c.read(http.MethodGet, "/threads/"+id+"/stream", "")
	for _, graph := range []string{"echo", "fail", "ask"} {
		c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"`+graph+`","input":{}}`).ok()
	}
	require.Equal(t, []string{"metadata", "values", "metadata", "error", "metadata", "values"}, events(r.frames(6)))
	busy := c.read(http.MethodPost, "/threads/"+c.thread()+"/runs/stream", `{"assistant_id":"slow","input":{"wait":600}}`)
	require.Equal(t, "metadata", busy.frames(1)[0].event)

	grace, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.NoError(t, s.Shutdown(grace))
	require.NoError(t, <-served)
	for name, r := range map[string]*reading{"thread": r, "run": busy} {
		frames, err := r.drain()
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, name)
		require.Empty(t, named(frames, "error", "end"), "%s: no farewell", name)
	}
}

// D-07: whoever joins a run that is over gets it replayed and then the end,
// wherever they say they left off.
func TestJoinOfAFinishedRunReplaysAndCloses(t *testing.T) {
	t.Parallel()
	l := newLab()
	c := serveTest(t, server.Options{Agents: append(testAgents(), l.held()), Workers: 4})
	ended := func(graph string) string {
		id := c.thread()
		run := c.start(id, `{"assistant_id":"`+graph+`","input":{}}`)
		c.wait(id, run)
		return "/threads/" + id + "/runs/" + run
	}
	cancelled := func() string {
		id := c.thread()
		run := c.start(id, `{"assistant_id":"held","input":{}}`)
		l.gate("held").arrive(t)
		c.post("/threads/"+id+"/runs/"+run+"/cancel?wait=1", "").is(http.StatusNoContent)
		return "/threads/" + id + "/runs/" + run
	}
	neverStarted := func() string {
		id := c.thread()
		run := c.start(id, `{"assistant_id":"echo","input":{},"after_seconds":600}`)
		c.post("/threads/"+id+"/runs/"+run+"/cancel?wait=1", "").is(http.StatusNoContent)
		return "/threads/" + id + "/runs/" + run
	}
	for name, run := range map[string]struct {
		path string
		last string
	}{
		"success":         {ended("echo"), "values"},
		"question":        {ended("ask"), "values"},
		"failure":         {ended("fail"), "error"},
		"cancelled":       {cancelled(), "values"},
		"never started":   {neverStarted(), ""},
		"of no thread":    {"/threads/" + c.thread() + "/runs/" + missingID, "error"},
		"stateless, gone": {"/runs/" + missingID, ""},
	} {
		for _, cursor := range []string{"", "-1", "nonsense", "0", "1000000"} {
			a := c.as(map[string]string{"Last-Event-ID": cursor}).get(run.path + "/stream")
			frames := a.frames()
			if cursor == "1000000" || run.last == "" {
				continue // it ended, which is all there is to ask
			}
			require.NotEmpty(t, frames, "%s after %q", name, cursor)
			require.Equal(t, run.last, frames[len(frames)-1].event, "%s after %q", name, cursor)
		}
	}
}

// D-09: of many runs at once none is without its last event, whether its stream
// was read from the start or joined, and no client needs a farewell.
func TestNoRunMissesItsTerminalEvent(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	runs, clients := heavy(1000, 100), 40
	var wg sync.WaitGroup
	work := make(chan int)
	missing := make(chan string, 2*runs)
	for range clients {
		wg.Go(func() {
			for i := range work {
				id := c.thread()
				graph, last := "echo", fmt.Sprintf(`"note":"%d"`, i)
				if i%10 == 0 {
					graph, last = "fail", `"message":"Boo!"`
				}
				a := c.post("/threads/"+id+"/runs/stream", fmt.Sprintf(`{"assistant_id":%q,"input":{"note":"%d"}}`, graph, i))
				joined := c.get(a.header.Get("Content-Location") + "/stream")
				for _, a := range []answer{a, joined} {
					frames := a.frames()
					if n := len(frames); n == 0 || !strings.Contains(frames[n-1].data, last) {
						missing <- fmt.Sprintf("run %d: %v", i, events(frames))
					}
				}
			}
		})
	}
	for i := range runs {
		work <- i
	}
	close(work)
	wg.Wait()
	close(missing)
	for m := range missing {
		t.Error(m)
	}
}

// D-67: an error is told when no attempt is left. Attempts that failed before are no error.
func TestRetriedAttemptsAreNoError(t *testing.T) {
	t.Parallel()
	l := newLab()
	flaky := func(name string, failures int) agent.Agent {
		return agent.NewGraph[state](name).
			Node("call", func(ctx agent.Context, _ state) (agent.Update, error) {
				l.effect(ctx.ThreadID())
				if ctx.Attempt() <= failures {
					return nil, fmt.Errorf("attempt %d failed", ctx.Attempt())
				}
				return said("called"), nil
			}, agent.Retry(agent.RetryPolicy{InitialInterval: time.Millisecond, MaxAttempts: 3, RetryOn: func(error) bool { return true }})).
			Edge(agent.Start, "call").Edge("call", agent.End).MustCompile()
	}
	c := labServer(t, flaky("recovers", 2), flaky("gives_up", 3))
	all := `,"input":{},"stream_mode":["values","updates","debug","events","custom","messages-tuple"]}`
	id := c.thread()
	frames := c.post("/threads/"+id+"/runs/stream", `{"assistant_id":"recovers"`+all).frames()
	require.Equal(t, 3, l.count(id))
	require.Empty(t, named(frames, "error"))
	require.Equal(t, []any{"called"}, c.values(id)["log"])

	id = c.thread()
	frames = c.post("/threads/"+id+"/runs/stream", `{"assistant_id":"gives_up"`+all).frames()
	require.Equal(t, 3, l.count(id))
	require.Len(t, named(frames, "error"), 1)
	require.Contains(t, frames[len(frames)-1].data, "attempt 3 failed")
	require.Equal(t, "error", frames[len(frames)-1].event, "and it is the last event")
}
