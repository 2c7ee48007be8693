package stream_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/stream"
)

// beatServer serves the events of the test's thread.
func beatServer(t *testing.T, hub *stream.Hub, heartbeat time.Duration) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = hub.OpenEvents("thread", stream.EventOptions{Filters: everything()}, stream.Options{Heartbeat: heartbeat}).Serve(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// A stream of a silent thread has its headers and a heartbeat at once, and one
// line, not an empty one, with each beat; what it held is given back as soon as
// its client goes. // M-4, M-8, D-08, D-62
func TestEventStreamBeatsAndLetsGo(t *testing.T) {
	t.Parallel()
	_, hub := setup(t)
	s := beatServer(t, hub, 20*time.Millisecond)
	c := connect(t, s.URL, "")
	require.Equal(t, "text/event-stream", c.response.Header.Get("Content-Type"))
	require.Equal(t, "no-cache, no-transform", c.response.Header.Get("Cache-Control"))
	for range 4 {
		line, err := c.in.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, ": heartbeat\n", line)
	}
	require.Equal(t, 1, hub.Watched())
	c.cancel()
	require.Eventually(t, func() bool { return hub.Watched() == 0 }, 10*time.Second, time.Millisecond)
}

// Decisions 2: a reader that joins between an event and its storing sees it though
// the thread then falls silent.
func TestEventJoinerSeesWhatIsStoredLater(t *testing.T) {
	t.Parallel()
	m, hub := setup(t)
	w := newWorker(m, hub, newRun("run"))
	w.start()
	w.open("m") // published before the watch, stored later
	c := connect(t, beatServer(t, hub, time.Minute).URL, "")
	require.Contains(t, c.events(1)[0], `"event":"running"`)
	w.flush()
	require.Contains(t, c.events(1)[0], `"event":"message-start"`)
}

// One client that doesn't read holds up nobody, and gets everything when it
// reads again, although it fell behind the ring. // D-65
func TestStalledEventReader(t *testing.T) {
	t.Parallel()
	m := newMemory()
	hub := stream.NewHub(stream.HubOptions{Source: m, RingBytes: 64 << 10})
	t.Cleanup(hub.Close)
	s := beatServer(t, hub, time.Minute)
	stalled, live := connect(t, s.URL, ""), connect(t, s.URL, "")
	w := newWorker(m, hub, newRun("run"))
	w.start()
	w.open("m")
	const tokens = 150
	text := strings.Repeat("x", 90<<10) // more than what connections hold
	for i := range tokens {
		w.token("m", fmt.Sprint(i)+text)
		if i%10 == 9 {
			w.flush()
		}
	}
	w.finish()
	all := live.events(tokens + 3)
	require.Contains(t, all[len(all)-1], `"event":"completed"`)
	require.Equal(t, all, stalled.events(tokens+3))
	live.cancel()
	stalled.cancel()
	_, _ = io.Copy(io.Discard, stalled.in)
}
