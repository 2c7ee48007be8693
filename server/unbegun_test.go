package server_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server"
)

// roots are the beginnings and ends of runs on an event stream: run, event.
func roots(t *testing.T, frames []frame) (all []string) {
	t.Helper()
	for _, f := range frames {
		if f.event != "lifecycle" {
			continue
		}
		params := f.json(t)["params"].(map[string]any)
		if len(params["namespace"].([]any)) == 0 {
			var run string
			_, err := fmt.Sscanf(f.id, "synth:%36s", &run)
			require.NoError(t, err)
			all = append(all, run+" "+params["data"].(map[string]any)["event"].(string))
		}
	}
	return all
}

// M-19, D-57: a run that is dropped while it waits ends for those who follow the
// thread, behind the run that it waited for, and cleanly for those who joined it.
func TestDroppedRunsEndForEveryReader(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"cancel", "cancel?action=rollback", "interrupt", "rollback"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			l := newLab()
			c := labServer(t, l.held())
			id := c.thread()
			live := c.read(http.MethodPost, "/threads/"+id+"/stream/events", `{"channels":["lifecycle"],"namespaces":[[]],"depth":0}`)
			first := c.start(id, `{"assistant_id":"held","input":{}}`)
			l.gate("held").arrive(t)
			began := live.frames(1) // before it came, what is over isn't told
			waits := c.start(id, `{"assistant_id":"held","input":{},"multitask_strategy":"enqueue"}`)
			joined := c.read(http.MethodGet, "/threads/"+id+"/runs/"+waits+"/stream", "")
			want := []string{first + " running"}
			switch how {
			case "interrupt", "rollback":
				next := c.start(id, `{"assistant_id":"held","input":{},"multitask_strategy":"`+how+`"}`)
				want = append(want, first+" interrupted", waits+" running", waits+" interrupted", next+" running", next+" completed")
			default:
				c.post("/threads/"+id+"/runs/"+waits+"/"+how, "").is(http.StatusAccepted)
				want = append(want, first+" completed", waits+" running", waits+" interrupted")
			}
			require.Empty(t, joined.rest(), "a clean end, at once")
			l.gate("held").open()
			require.Equal(t, want, roots(t, append(began, live.frames(len(want)-1)...)))
			again := c.read(http.MethodPost, "/threads/"+id+"/stream/events", `{"channels":["lifecycle"],"namespaces":[[]],"depth":0}`)
			newest := want[len(want)-2:]
			if how == "cancel?action=rollback" {
				newest = want[:2] // the row of the other one is gone
			}
			require.Equal(t, newest, roots(t, again.frames(2)), "a later reader is told of the newest run alone")
			if how != "rollback" && how != "cancel?action=rollback" {
				require.Empty(t, c.get("/threads/"+id+"/runs/"+waits+"/stream").frames())
				require.Equal(t, "interrupted", c.status(id, waits))
			}
		})
	}
}

// M-19, D-57: also where no run of the thread is active, and for the one who
// started it with a command.
func TestCancelOfARunThatNoWorkerIsFreeForIsToldAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab()
	c := serveTest(t, server.Options{Agents: []agent.Agent{l.held()}, Workers: 1})
	c.start(c.thread(), `{"assistant_id":"held","input":{}}`)
	l.gate("held").arrive(t)
	p := &protocol{client: c, thread: c.thread()}
	live := c.read(http.MethodPost, "/threads/"+p.thread+"/stream/events", `{"channels":["lifecycle","input"]}`)
	run := p.success("run.start", `{"assistant_id":"held","input":{}}`)["run_id"].(string)
	c.post("/threads/"+p.thread+"/runs/"+run+"/cancel?wait=0&action=interrupt", "").is(http.StatusAccepted)
	require.Equal(t, []string{run + " running", run + " interrupted"}, roots(t, live.frames(2)))
	later := c.read(http.MethodPost, "/threads/"+p.thread+"/stream/events", `{"channels":["lifecycle","input"]}`)
	require.Equal(t, []string{run + " running", run + " interrupted"}, roots(t, later.frames(2)), "M-50: a client that connects only now doesn't wait for ever")
	l.gate("held").open()
}
