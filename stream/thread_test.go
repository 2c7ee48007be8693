package stream_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream"
	"github.com/parley-dev/parley/thread"
)

// nextRun is the worker of the thread's next run.
func (w *worker) nextRun(id string, modes ...string) *worker {
	n := newWorker(w.memory, w.hub, newRun(id, modes...))
	n.pos, n.seq = w.pos, w.seq
	return n
}

// GET /threads/{id}/stream shows one run after the other, each with its own
// modes, under ids of the thread (decisions 1).
func TestThreadStreamFollowsRunAfterRun(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	s := server(t, hub, m, nil)
	c := connect(t, s.URL+"/thread", "")
	first := newWorker(m, hub, newRun("one", "values", "checkpoints"))
	first.start()
	first.values(1)
	got := c.events(3)
	require.Equal(t, []string{"1800000000001-1", "1800000000003-3", "1800000000004-3.1"}, ids(got))
	require.Equal(t, bodies(m.reference(t, first.run)), bodies(got))
	first.finish()

	second := first.nextRun("two", "custom")
	second.start()
	second.custom("1")
	got = c.events(2)
	second.flush()
	require.Equal(t, bodies(m.reference(t, second.run)), bodies(got))
	require.Equal(t, []string{"1800000000006-5", "1800000000007-6"}, ids(got))
	second.finish()
}

// bodies are events without their ids.
func bodies(events []string) []string {
	var all []string
	for _, e := range events {
		body, _, _ := strings.Cut(e, "id: ")
		all = append(all, body)
	}
	return all
}

func TestThreadStreamResumesBehindAnyID(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	w := newWorker(m, hub, newRun("run0", "values", "checkpoints", "custom", "messages-tuple"))
	for i := range 6 {
		if i > 0 {
			w = w.nextRun(fmt.Sprint("run", i), "values", "checkpoints", "custom", "messages-tuple")
		}
		w.start()
		w.values(1)
		w.open("m")
		for range 30 {
			w.token("m", "t")
		}
		w.custom("1")
		w.finish()
	}
	s := server(t, hub, m, nil)
	all := connect(t, s.URL+"/thread", "-1").events(6 * 34)
	allIDs := ids(all)
	seen := map[string]bool{}
	for _, id := range allIDs {
		require.False(t, seen[id], "%s twice", id) // D-04
		seen[id] = true
	}
	for i := 0; i < len(all)-1; i += 13 {
		c := connect(t, s.URL+"/thread", allIDs[i])
		require.Empty(t, c.response.Header.Get(stream.GapHeader))
		require.Equal(t, all[i+1:min(i+4, len(all))], c.events(min(3, len(all)-1-i)), "behind %s", allIDs[i])
	}

	// The oldest runs fall out of the log: their cursors get the gap signal and what is left.
	m.mu.Lock()
	m.log["thread"] = m.log["thread"][80:]
	m.mu.Unlock()
	c := connect(t, s.URL+"/thread", allIDs[3])
	require.Equal(t, "truncated", c.response.Header.Get(stream.GapHeader))
	c.events(1)
}

// Without a cursor the stream begins with the run that is active, from its first event.
func TestThreadStreamBeginsWithTheActiveRun(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	s := server(t, hub, m, nil)
	old := newWorker(m, hub, newRun("old", "custom"))
	old.start()
	old.custom("1")
	old.finish()
	idle := connect(t, s.URL+"/thread", "")
	active := old.nextRun("active", "custom")
	active.start()
	active.custom("2")
	require.Len(t, idle.events(2), 2)
	joined := connect(t, s.URL+"/thread", "x")
	require.Contains(t, joined.events(1)[0], `"run_id":"active"`)
	active.flush()
	require.Contains(t, joined.events(1)[0], "custom")
}

func TestThreadStreamLifecycle(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	s := server(t, hub, m, nil)
	c := connect(t, s.URL+"/thread?mode=lifecycle", "-1")
	w := newWorker(m, hub, newRun("run", "values"))
	w.start()
	w.values(1)
	w.finish()
	require.Equal(t, []string{
		"event: metadata\ndata: {\"run_id\":\"run\",\"attempt\":1}\nid: 1800000000001-1\n\n",
		"event: metadata\ndata: {\"run_id\":\"run\",\"status\":\"run_done\"}\nid: 1800000000003-3.1\n\n",
	}, c.events(2))
}

// A run whose row is gone is passed over.
func TestThreadStreamPassesRemovedRuns(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	s := server(t, hub, m, nil)
	gone := newWorker(m, hub, newRun("gone", "custom"))
	gone.start()
	gone.custom("1")
	gone.finish()
	m.mu.Lock()
	delete(m.runs, "gone")
	m.mu.Unlock()
	w := gone.nextRun("next", "custom")
	w.start()
	require.Contains(t, connect(t, s.URL+"/thread", "-1").events(1)[0], `"run_id":"next"`)
	w.commit(w.entry(agent.RunFinished, "", agent.RunFinish{Status: string(thread.RunSuccess)}))
}
