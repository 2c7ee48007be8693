package stream_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream"
	"github.com/parley-dev/parley/thread"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { http.DefaultClient.CloseIdleConnections() }))
}

func setup(t *testing.T) (*memory, *stream.Hub) {
	m := newMemory()
	hub := stream.NewHub(stream.HubOptions{Source: m})
	t.Cleanup(hub.Close)
	return m, hub
}

// D-01, D-62: the headers and a comment come at once, also while the run waits,
// and the stream ends cleanly behind its last event.
func TestStreamFollowsARunFromPendingToItsEnd(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	run := newRun("run", "values", "messages-tuple")
	run.Status = thread.RunPending
	w := newWorker(m, hub, run)
	s := server(t, hub, m, nil)

	c := connect(t, s.URL+"/run", "")
	h := c.response.Header
	require.Equal(t, "text/event-stream", h.Get("Content-Type"))
	require.Equal(t, "no-cache, no-transform", h.Get("Cache-Control"))
	require.Equal(t, "no", h.Get("X-Accel-Buffering"))
	require.Empty(t, h.Get(stream.GapHeader))
	line, err := c.in.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, ": heartbeat\n", line)

	w.start()
	require.Contains(t, c.events(1)[0], `data: {"run_id":"run","attempt":1}`)
	w.values(1)
	require.Contains(t, c.events(1)[0], "event: values\n")
	w.open("m")
	for i := range 3 {
		w.token("m", fmt.Sprint(i))
	}
	require.Equal(t, []string{"2", "3", "4"}, ids(c.events(3)))
	w.finish()
	require.Empty(t, c.rest())
	require.Eventually(t, func() bool { return hub.Watched() == 0 }, time.Second, time.Millisecond)
}

// D-01: the end waits for the run's row, since clients read it as soon as the stream closes.
func TestStreamEndsOnlyWhenTheRowIsFinal(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	w := newWorker(m, hub, newRun("run"))
	s := server(t, hub, m, nil)
	c := connect(t, s.URL+"/run", "")
	w.start()
	c.events(1)
	w.commit(w.entry(agent.RunFinished, "", agent.RunFinish{Status: "error", Error: &agent.ErrorInfo{Name: "E", Message: "m"}}))
	require.Contains(t, c.events(1)[0], `data: {"error":"E","message":"m"}`)

	ended := make(chan struct{})
	go func() { defer close(ended); _, _ = c.event() }()
	select {
	case <-ended:
		t.Fatal("ended before the row was final")
	case <-time.After(30 * time.Millisecond):
	}
	m.end(w.run, thread.RunError)
	<-ended
}

// D-07, D-03: joins of a finished run, by Last-Event-ID.
func TestJoinReplaysBehindTheCursor(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	w := newWorker(m, hub, newRun("run", "values", "messages-tuple", "custom"))
	w.start()
	w.values(1)
	w.open("m")
	for i := range 5 {
		w.token("m", fmt.Sprint(i))
	}
	w.custom(`{"a":1}`)
	w.finish()
	all := m.reference(t, w.run)
	require.Len(t, all, 8)
	s := server(t, hub, m, nil)
	for cursor, first := range map[string]int{"": 0, "-1": 0, "x": 0, "0": 1, "3": 4, " 3 ": 4, "7": 8, "99": 8} {
		t.Run("after "+cursor, func(t *testing.T) {
			t.Parallel()
			c := connect(t, s.URL+"/run", cursor)
			require.Equal(t, all[first:], append([]string{}, c.rest()...))
		})
	}
}

// D-14: a join narrows the run's modes and never renumbers; metadata always passes.
func TestJoinNarrowsTheModes(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	w := newWorker(m, hub, newRun("run", "values", "messages-tuple", "custom"))
	s := server(t, hub, m, nil)
	live := connect(t, s.URL+"/run?mode=custom&mode=updates", "")
	w.start()
	w.values(1)
	w.open("m")
	w.token("m", "a")
	w.custom(`1`)
	w.custom(`2`)
	w.finish()
	want := only(m.reference(t, w.run), "metadata", "custom")
	require.Equal(t, []string{"0", "3", "4"}, ids(want))
	require.Equal(t, want, live.rest())
	require.Equal(t, want, connect(t, s.URL+"/run?mode=custom&mode=updates", "").rest())
}

// D-10: without ids there is no id line at all.
func TestStreamWithoutIDs(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	w := newWorker(m, hub, newRun("run"))
	w.start()
	w.values(3)
	w.finish()
	s := server(t, hub, m, func(o *stream.Options) { o.NoIDs = true })
	require.Equal(t, []string{
		"event: metadata\ndata: {\"run_id\":\"run\",\"attempt\":1}\n\n",
		"event: values\ndata: {\"step\":1,\"text\":\"xxx\"}\n\n",
	}, connect(t, s.URL+"/run", "").rest())
}

func TestUnknownRunIsOneErrorEvent(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	s := server(t, hub, m, nil)
	require.Equal(t, []string{"event: error\ndata: {\"error\":\"Error\",\"message\":\"Run not found\"}\n\n"}, connect(t, s.URL+"/none", "").rest())
}

// A run that is cancelled before it starts has no events: its readers get an empty stream.
func TestRunThatNeverStartsEndsEmpty(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	run := newRun("run")
	run.Status, run.StartedAt = thread.RunPending, time.Time{}
	m.setRun(run)
	s := server(t, hub, m, nil)
	c := connect(t, s.URL+"/run", "3")
	m.end(run, thread.RunInterrupted)
	hub.RunEnded("thread", "run")
	require.Empty(t, c.rest())
	require.Empty(t, connect(t, s.URL+"/run", "3").response.Header.Get(stream.GapHeader))
}

// The end of a run whose announcement is lost is found by the heartbeat's look at the row.
func TestUnannouncedEndIsFound(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	w := newWorker(m, hub, newRun("run"))
	s := server(t, hub, m, func(o *stream.Options) { o.Heartbeat = 2 * time.Millisecond })
	w.start()
	c := connect(t, s.URL+"/run", "")
	c.events(1)
	m.store("thread", w.entry(agent.RunFinished, "", agent.RunFinish{Status: "success"}))
	m.end(w.run, thread.RunSuccess)
	require.Empty(t, c.rest())
}

// D-08: heartbeats come while nothing else does, between events only.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	w := newWorker(m, hub, newRun("run"))
	s := server(t, hub, m, func(o *stream.Options) { o.Heartbeat = time.Millisecond })
	c := connect(t, s.URL+"/run", "")
	for range 20 {
		line, err := c.in.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, ": heartbeat\n", line)
	}
	w.start()
	w.values(1 << 20) // D-16
	events := c.events(2)
	require.Equal(t, m.reference(t, w.run), events)
	w.finish()
	require.Empty(t, c.rest())
}

// D-01: shutdown aborts; a client must not take it for the run's end.
func TestStopAndCloseAbort(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*stream.Hub, chan struct{}){
		"stop":  func(_ *stream.Hub, stop chan struct{}) { close(stop) },
		"close": func(hub *stream.Hub, _ chan struct{}) { hub.Close(); hub.Close() },
	} {
		for _, path := range []string{"/run", "/thread"} {
			t.Run(name+path, func(t *testing.T) {
				t.Parallel()
				m, hub := setup(t)
				w := newWorker(m, hub, newRun("run"))
				stopped := make(chan struct{})
				s := server(t, hub, m, func(o *stream.Options) { o.Stop = stopped })
				w.start()
				c := connect(t, s.URL+path, "")
				c.events(1)
				stop(hub, stopped)
				_, err := c.event()
				require.ErrorIs(t, err, io.ErrUnexpectedEOF)
				require.Eventually(t, func() bool { return hub.Watched() == 0 }, time.Second, time.Millisecond)
			})
		}
	}
}

// D-56: only a client that leaves before the end counts as gone.
func TestDisconnectIsReportedBeforeTheEndOnly(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	w := newWorker(m, hub, newRun("run"))
	var gone atomic.Int32
	s := server(t, hub, m, func(o *stream.Options) { o.OnDisconnect = func() { gone.Add(1) } })
	w.start()
	leaver, stayer := connect(t, s.URL+"/run", ""), connect(t, s.URL+"/run", "")
	leaver.events(1)
	leaver.cancel()
	require.Eventually(t, func() bool { return gone.Load() == 1 }, time.Second, time.Millisecond)
	w.finish()
	require.Len(t, stayer.rest(), 1)
	require.Eventually(t, func() bool { return hub.Watched() == 0 }, time.Second, time.Millisecond)
	require.EqualValues(t, 1, gone.Load())
}

// A log that fails in mid-stream aborts, so that the client comes again; before
// the first byte it is an ordinary error.
func TestFailingLogAborts(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	w := newWorker(m, hub, newRun("run"))
	w.start()
	s := server(t, hub, m, nil)
	c := connect(t, s.URL+"/run", "")
	c.events(1)
	m.mu.Lock()
	m.fail = errors.New("disk")
	m.mu.Unlock()
	// An event that does not follow on makes the reader look into the log.
	w.pos += 10
	w.hub.Publish("thread", []thread.Entry{w.entry(agent.CustomWritten, "", agent.Custom{})})
	for {
		if _, err := c.event(); err != nil {
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			break
		}
	}
}

// D-61, D-64: a reader that takes nothing is cut by the deadline of a single write.
func TestStalledReaderIsCut(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	w := newWorker(m, hub, newRun("run"))
	gone := make(chan struct{})
	s := server(t, hub, m, func(o *stream.Options) {
		o.WriteTimeout = 20 * time.Millisecond
		o.OnDisconnect = func() { close(gone) }
	})
	w.start()
	c := connect(t, s.URL+"/run", "")
	c.events(1)
	for range 16 {
		w.values(1 << 20)
	}
	<-gone
}

func TestEmptyStream(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _ = stream.ServeEmpty(w, r) }))
	t.Cleanup(s.Close)
	require.Empty(t, connect(t, s.URL, "").rest())
}
