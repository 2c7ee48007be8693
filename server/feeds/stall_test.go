package feeds_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server/feeds"
)

// TestStalledClientsHoldUpNobody: with the library alone, one client that stops
// reading freezes the stream for all.
func TestStalledClientsHoldUpNobody(t *testing.T) {
	t.Parallel()
	b := setup(t, feeds.Options{WriteTimeout: time.Hour}, true) // only the queue's bound cuts
	const stalled, healthy, hints, burst = 10, 3, 20_000, 100
	for range stalled {
		b.connect("/stalled")
	}
	var readers []*reader
	for range healthy {
		readers = append(readers, b.read(b.connect("/healthy")))
	}
	var worst time.Duration
	for v := int64(1); v <= hints; v++ {
		start := time.Now()
		b.Publish(project, v)
		worst = max(worst, time.Since(start))
		if v%burst == 0 { // those who read get everything, as it comes
			for _, r := range readers {
				for want := v - burst + 1; want <= v; want++ {
					got, ok := r.next()
					require.True(t, ok, "a healthy client was cut: %v", r.lines.Err())
					require.Equal(t, want, got)
				}
			}
		}
	}
	t.Logf("worst publish: %v", worst)
	require.Less(t, worst, time.Second)
	for range stalled {
		require.Equal(t, http.ErrAbortHandler, <-b.ended, "a client that doesn't read is cut, not ended cleanly")
	}
	late := b.read(b.connect("/late"))
	b.Publish(project, hints+1)
	late.until(hints + 1)
	for _, r := range readers {
		r.until(hints + 1)
	}
}

// TestWriteDeadline: where hints are rare, a client that doesn't read is found by its heartbeats.
func TestWriteDeadline(t *testing.T) {
	t.Parallel()
	b := setup(t, feeds.Options{WriteTimeout: 50 * time.Millisecond, Heartbeat: 10 * time.Microsecond}, true)
	b.connect("/stalled")
	err, ok := (<-b.ended).(error)
	require.True(t, ok)
	require.ErrorIs(t, err, context.Canceled, "net/http ends the request with its connection")
}

// TestClientsComeAndGo: no client hangs, and none loses its stream but those that
// the feed cut for being behind, which a busy machine makes of any client.
func TestClientsComeAndGo(t *testing.T) {
	t.Parallel()
	b := setup(t, feeds.Options{Interval: time.Nanosecond}, false)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var publishing, clients sync.WaitGroup
	publishing.Go(func() {
		for ctx.Err() == nil {
			b.Changed(project)
		}
	})
	const workers, rounds = 16, 50
	var ended, read atomic.Int32 // streams that broke off under a client, clients that got their hints
	for range workers {
		clients.Go(func() {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			for i := range rounds {
				switch err := visit(ctx, transport, b.http.URL, i%2 == 0); {
				case err == nil:
					read.Add(1)
				case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
					ended.Add(1)
				default:
					t.Errorf("round %d: %v", i, err)
				}
			}
		})
	}
	clients.Wait()
	stop()
	publishing.Wait()
	cut := 0
	for range workers * rounds { // none hangs
		if err, ok := (<-b.ended).(error); ok && errors.Is(err, http.ErrAbortHandler) {
			cut++
		}
	}
	require.Positive(t, read.Load())
	require.LessOrEqual(t, int(ended.Load()), cut, "a stream broke off that the feed didn't cut")
}

// visit connects, reads a few hints if it is to stay, and leaves.
func visit(ctx context.Context, transport http.RoundTripper, url string, stay bool) error {
	ctx, leave := context.WithTimeout(ctx, 30*time.Second)
	defer leave()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := transport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if stay {
		_, err = io.ReadFull(res.Body, make([]byte, 100))
	}
	return err
}
