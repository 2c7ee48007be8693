package feeds_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/server/feeds"
)

// recorded serves a project to a recorder until the client leaves after d, and returns the body.
func recorded(t *testing.T, f *feeds.Feed, name string, d time.Duration) string {
	t.Helper()
	ctx, leave := context.WithTimeout(t.Context(), d)
	defer leave()
	w := httptest.NewRecorder()
	err := f.Serve(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/feeds/runs", nil), name)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	return w.Body.String()
}

func TestBurstsBecomeOneHint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := feeds.New(feeds.Options{})
		f.Create(project)
		go func() {
			time.Sleep(time.Millisecond)
			for range 1000 { // a change each millisecond
				f.Changed(project)
				time.Sleep(time.Millisecond)
			}
		}()
		body := recorded(t, f, project, 2*time.Second)
		require.LessOrEqual(t, strings.Count(body, "data: "), 21, "one per 50 ms and the first")
		require.GreaterOrEqual(t, strings.Count(body, "data: "), 19)
		require.True(t, strings.HasPrefix(body, ": heartbeat\nid: 1\ndata: {\"version\":1}\n\n"), "the first at once: %s", body)
		require.True(t, strings.HasSuffix(body, "id: 1000\ndata: {\"version\":1000}\n\n"), "and the last change is not forgotten: %s", body)
		require.NoError(t, f.Close(t.Context()))
	})
}

func TestHeartbeats(t *testing.T) { // D-08, decisions 11
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := feeds.New(feeds.Options{})
		f.Create(project)
		require.Equal(t, ": heartbeat\n", recorded(t, f, project, 4999*time.Millisecond), "at once, with one line feed")
		require.Equal(t, strings.Repeat(": heartbeat\n", 4), recorded(t, f, project, 15001*time.Millisecond), "and every five seconds")
		require.NoError(t, f.Close(t.Context()))
	})
}

func TestProjectsHaveStreamsOfTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := feeds.New(feeds.Options{})
		f.Create("a")
		f.Create("b/ü &stream=a")
		f.Create("a") // changes nothing
		go func() {
			time.Sleep(time.Millisecond)
			f.Changed("b/ü &stream=a")
			f.Changed("nobody's")
			time.Sleep(time.Second)
			f.Changed("a")
		}()
		got := make(chan string)
		go func() { got <- recorded(t, f, "b/ü &stream=a", 2*time.Second) }()
		require.Equal(t, ": heartbeat\nid: 1\ndata: {\"version\":1}\n\n", recorded(t, f, "a", 2*time.Second))
		require.Equal(t, ": heartbeat\nid: 1\ndata: {\"version\":1}\n\n", <-got)
		err := f.Serve(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), "nobody's")
		require.ErrorIs(t, err, feeds.ErrProject)
		require.NoError(t, f.Close(t.Context()))
	})
}

func TestClientsQueryAndCursorAreIgnored(t *testing.T) {
	t.Parallel()
	b := setup(t, feeds.Options{Interval: time.Millisecond}, false)
	for _, path := range []string{"/feeds/runs", "/feeds/runs?stream=other", "/feeds/runs?stream=&stream=x"} {
		r := b.read(b.connect(path, "Last-Event-ID: 1700000000000-3"))
		require.Equal(t, "text/event-stream", r.res.Header.Get("Content-Type"))
		require.Equal(t, "no-cache, no-transform", r.res.Header.Get("Cache-Control"))
		require.Equal(t, "no", r.res.Header.Get("X-Accel-Buffering"))
		b.Changed(project)
		_, ok := r.next()
		require.True(t, ok)
	}
}

// TestHintsAreNeverEmpty: an event without data would end the connection and then block the stream.
func TestHintsAreNeverEmpty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64().Draw(t, "version")
		e := feeds.Hint(v)
		require.NotEmpty(t, e.Data)
		require.NotEmpty(t, e.ID, "D-10")
		require.NotContains(t, string(e.Data)+string(e.ID), "\n")
		require.Empty(t, e.Comment)
		require.NotSame(t, e, feeds.Hint(v), "a fresh one for each stream (R-13)")
	})
}

func TestCloseAbortsStreamsAndRefusesNewOnes(t *testing.T) { // decisions 11
	t.Parallel()
	b := setup(t, feeds.Options{}, true)
	reading := b.read(b.connect("/"))
	b.connect("/stalled")
	for v := range int64(feeds.Queued / 2) {
		b.Publish(project, v+1)
	}
	require.NoError(t, b.Close(t.Context()))
	for range 2 {
		require.Equal(t, http.ErrAbortHandler, <-b.ended)
	}
	for ok := true; ok; {
		_, ok = reading.next()
	}
	require.Error(t, reading.lines.Err(), "no clean end")
	b.Changed(project) // what ends after the feed is no one's news
	b.Create("late")
	require.PanicsWithValue(t, http.ErrAbortHandler, func() {
		_ = b.Serve(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), project)
	})
	require.NoError(t, b.Close(t.Context()), "closing twice is harmless")
}

func TestCloseStopsWaitingWithItsContext(t *testing.T) {
	t.Parallel()
	f := feeds.New(feeds.Options{})
	f.Create(project)
	w := &stuck{ResponseRecorder: httptest.NewRecorder(), writing: make(chan struct{}), release: make(chan struct{})}
	served := make(chan any)
	go func() {
		defer func() { served <- recover() }()
		_ = f.Serve(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/", nil), project)
	}()
	<-w.writing
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, f.Close(ctx), context.DeadlineExceeded)
	close(w.release)
	require.Equal(t, http.ErrAbortHandler, <-served)
	require.NoError(t, f.Close(t.Context()))
}

// stuck is a response without deadlines whose first write hangs.
type stuck struct {
	*httptest.ResponseRecorder
	writing, release chan struct{}
}

func (w *stuck) Write(p []byte) (int, error) {
	close(w.writing)
	<-w.release
	return len(p), nil
}
