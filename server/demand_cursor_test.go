package server_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/stream"
)

// after returns the client with a Last-Event-ID.
func (c *client) after(id string) *client { return c.as(map[string]string{"Last-Event-ID": id}) }

// D-02: an event has one id: on every connection, live and replayed, before and
// after a restart. A run counts from 0.
func TestSameEventHasTheSameIDEverywhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, c, served := running(t, server.Options{DataDir: dir})
	id := c.thread()
	whole := c.read(http.MethodGet, "/threads/"+id+"/stream", "")
	body := `{"assistant_id":"ask","stream_mode":["values","updates","tasks","checkpoints"],"input":{"note":"x"}}`
	first := c.post("/threads/"+id+"/runs/stream", body)
	second := c.post("/threads/"+id+"/runs/stream", strings.Replace(body, `"input":{"note":"x"}`, `"command":{"resume":1}`, 1))
	ofThread := whole.frames(len(first.frames()) + len(second.frames()))
	for _, run := range []answer{first, second} {
		for i, f := range run.frames() {
			require.Equal(t, strconv.Itoa(i), f.id)
		}
	}
	check := func(c *client) {
		for _, run := range []answer{first, second} {
			path := run.header.Get("Location")
			require.Equal(t, run.frames(), c.get(path).frames())
			for i, f := range run.frames() {
				require.Equal(t, run.frames()[i+1:], append([]frame{}, c.after(f.id).get(path).frames()...), "behind %s", f.id)
			}
		}
		require.Equal(t, ofThread, c.after("-1").read(http.MethodGet, "/threads/"+id+"/stream", "").frames(len(ofThread)))
		require.Equal(t, ofThread[3:], c.after(ofThread[2].id).read(http.MethodGet, "/threads/"+id+"/stream", "").frames(len(ofThread)-3))
	}
	check(c)
	require.NoError(t, s.Shutdown(t.Context()))
	require.NoError(t, <-served)

	s, c, served = running(t, server.Options{DataDir: dir})
	check(c)
	require.NoError(t, s.Shutdown(t.Context()))
	require.NoError(t, <-served)
}

// D-03, D-06: the log is kept from the end of the execution on. A suspended one
// can be replayed however long it waits; of one that is over for longer than the
// retention a reader is told that it misses events.
func TestLogOutlivesTheWaitAndATrimmedOneSaysSo(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{LogRetention: time.Nanosecond, SweepEvery: time.Millisecond})
	waits := c.thread()
	asked := c.post("/threads/"+waits+"/runs/stream", `{"assistant_id":"ask","input":{"note":"x"}}`)
	over := c.thread()
	ended := c.post("/threads/"+over+"/runs/stream", `{"assistant_id":"echo","input":{"note":"x"}}`)
	// The sweep that took the log of the run that ended later has passed over the one that waits.
	trimmed := func(path string) answer {
		var a answer
		c.until("trimmed: "+path, func() bool {
			a = c.after("0").get(path)
			return a.header.Get(stream.GapHeader) == "truncated"
		})
		return a
	}
	a := trimmed(ended.header.Get("Location"))
	require.Contains(t, a.body, "\n: gap\n")
	a = c.get(asked.header.Get("Location"))
	require.Empty(t, a.header.Get(stream.GapHeader))
	require.Equal(t, asked.frames(), a.frames())
	require.Equal(t, asked.frames()[1:], c.after("0").get(asked.header.Get("Location")).frames())

	answered := c.post("/threads/"+waits+"/runs/stream", `{"assistant_id":"ask","command":{"resume":1}}`)
	trimmed(asked.header.Get("Location"))
	trimmed(answered.header.Get("Location"))
	require.Equal(t, float64(1), c.values(waits)["answer"], "the state outlives its log")
}

// D-04: ids come from the log's counter, not from a clock: a burst of events,
// many of them in one millisecond, gives each an id of its own.
func TestBurstOfEventsHasUniqueIDs(t *testing.T) {
	t.Parallel()
	const burst = 10_000
	c := labServer(t, agent.NewGraph[state]("burst").
		Node("write", func(ctx agent.Context, _ state) (agent.Update, error) {
			for i := range burst {
				ctx.Write(i)
			}
			return said("done"), nil
		}).Edge(agent.Start, "write").Edge("write", agent.End).MustCompile())
	id := c.thread()
	whole := c.read(http.MethodGet, "/threads/"+id+"/stream", "")
	frames := c.post("/threads/"+id+"/runs/stream", `{"assistant_id":"burst","input":{},"stream_mode":"custom"}`).frames()
	require.Len(t, frames, burst+1)
	for i, f := range frames {
		require.Equal(t, strconv.Itoa(i), f.id)
	}
	seen, millis := map[string]bool{}, map[string]int{}
	most := 0
	for i, f := range whole.frames(burst + 1) {
		require.False(t, seen[f.id], "twice: %s", f.id)
		seen[f.id] = true
		ms, _, _ := strings.Cut(f.id, "-")
		millis[ms]++
		most = max(most, millis[ms])
		if i > 0 {
			require.Equal(t, strconv.Itoa(i-1), f.data)
		}
	}
	require.Greater(t, most, 10, "or else nothing was tested")
}

// D-10: there is never an id line without an id.
func TestNoIDLineIsEmpty(t *testing.T) {
	t.Parallel()
	for _, without := range []bool{false, true} {
		c := serveTest(t, server.Options{NoEventIDs: without})
		id := c.thread()
		for _, graph := range []string{"echo", "ask", "fail"} {
			a := c.post("/threads/"+id+"/runs/stream", `{"assistant_id":"`+graph+`","input":{},"stream_mode":["values","debug"]}`).ok()
			for _, line := range strings.Split(a.body, "\n") {
				if rest, ok := strings.CutPrefix(line, "id"); ok {
					require.False(t, without, line)
					require.Regexp(t, `^: [0-9]+$`, rest)
				}
			}
			require.Equal(t, without, !strings.Contains(a.body, "\nid: "), graph)
		}
		require.NotContains(t, c.get("/threads/"+missingID+"/stream").body, "\nid", "an error of the connection is no event of the log")
	}
}

// D-13: a reader that comes back without a usable cursor sees its run from the
// first event on and never another run's; what it ends with is the newest state.
func TestRejoinShowsNothingOlderThanItsRun(t *testing.T) {
	t.Parallel()
	l := newLab()
	l.gate("pay")
	c := labServer(t, l.approve())
	id := c.thread()
	c.post("/threads/"+id+"/runs/wait", `{"assistant_id":"approve","input":{"note":"first"}}`).ok()
	run := c.start(id, `{"assistant_id":"approve","command":{"resume":"yes","update":{"note":"second"}}}`)
	l.gate("pay").arrive(t)
	path := "/threads/" + id + "/runs/" + run + "/stream"
	var joined []*reading
	for _, cursor := range []string{"", "-1", "lost"} {
		r := c.after(cursor).read(http.MethodGet, path, "")
		f := r.frames(2)
		require.Equal(t, "values", f[1].event)
		require.Equal(t, "second", f[1].json(t)["note"], "the state at the join, not the one before the run")
		joined = append(joined, r)
	}
	l.gate("pay").open()
	for _, r := range joined {
		rest := r.rest()
		require.Equal(t, c.values(id), rest[len(rest)-1].json(t))
	}
}

// D-14: what a run was made with decides what there is; a join can only choose
// among it. Events of nested graphs are not lost to joins.
func TestJoinNarrowsAndNeverWidens(t *testing.T) {
	t.Parallel()
	inner := agent.NewGraph[state]("inner").
		Node("deep", func(ctx agent.Context, _ state) (agent.Update, error) { ctx.Write("deep"); return said("deep"), nil }).
		Edge(agent.Start, "deep").Edge("deep", agent.End).MustCompile()
	c := labServer(t, agent.NewGraph[state]("outer").Subgraph("child", inner).
		Edge(agent.Start, "child").Edge("child", agent.End).MustCompile())
	names := func(frames []frame) []string {
		var all []string
		for _, e := range events(frames) {
			name, ns, nested := strings.Cut(e, "|")
			if nested {
				node, _, _ := strings.Cut(ns, ":")
				name += "|" + node
			}
			all = append(all, name)
		}
		return all
	}
	for _, nested := range []bool{true, false} {
		body := fmt.Sprintf(`{"assistant_id":"outer","input":{},"stream_mode":["updates","custom"],"stream_subgraphs":%v}`, nested)
		a := c.post("/threads/"+c.thread()+"/runs/stream", body)
		all := a.frames()
		want := []string{"metadata", "custom", "updates"} // custom events have no namespace then (spec/rest-api.md 4.3)
		if nested {
			want = []string{"metadata", "custom|child", "updates|child", "updates"}
		}
		require.Equal(t, want, names(all))
		path := a.header.Get("Location")
		require.Equal(t, all, c.get(path).frames())
		require.Equal(t, all, c.get(path+`?stream_mode=["updates","custom","values","debug"]`).frames(), "wider: what there is")
		require.Equal(t, all, c.get(path+`?stream_subgraphs=true&streamSubgraphs=true`).frames())
		none := c.get(path + `?stream_mode=["values"]`).frames()
		require.Equal(t, []string{"metadata"}, names(none), "a mode that the run was made without")
		narrow := c.get(path + `?stream_mode=["updates"]`).frames()
		require.Equal(t, slices.DeleteFunc(slices.Clone(all), func(f frame) bool { return strings.HasPrefix(f.event, "custom") }), narrow, "with their numbers")
	}
}

// D-16: a large state is one data line, whole for every reader; streams that
// overlap have the same ids.
func TestLargeStateIsOneLineForEveryReader(t *testing.T) {
	t.Parallel()
	l := newLab()
	c := labServer(t, l.held())
	note := strings.Repeat("0123456789abcdef", 5<<20/16)
	id := c.thread()
	run := c.start(id, `{"assistant_id":"held","input":{"note":"`+note+`"},"stream_mode":["values","custom"]}`)
	path := "/threads/" + id + "/runs/" + run + "/stream"
	l.gate("held").arrive(t)
	var wg sync.WaitGroup
	got := make([][]frame, 2)
	opened := make(chan struct{}, len(got))
	for i := range got {
		wg.Go(func() {
			r := c.read(http.MethodGet, path, "")
			first, err := r.next()
			opened <- struct{}{}
			rest, end := r.drain()
			if err != nil || !errors.Is(end, io.EOF) {
				t.Errorf("reader %d: %v, %v", i, err, end)
			}
			got[i] = append([]frame{first}, rest...)
		})
	}
	for range got {
		<-opened
	}
	l.gate("held").open()
	wg.Wait()
	replay := c.read(http.MethodGet, path, "").rest()
	for _, frames := range got {
		require.Len(t, frames, len(replay))
		for i, f := range frames {
			require.Equal(t, strconv.Itoa(i), f.id)
			require.True(t, f == replay[i], "frame %d differs", i)
		}
	}
	require.Equal(t, note, replay[len(replay)-1].json(t)["note"])
}
