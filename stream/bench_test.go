package stream_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/stream"
	"github.com/parley-dev/parley/stream/frame"
)

// discard is a response that takes everything.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Flush()                      {}

// BenchmarkFanOut publishes one token to 1,000 readers that wait for it; the
// time is that until all have written it.
func BenchmarkFanOut(b *testing.B) {
	m := newMemory()
	hub := stream.NewHub(stream.HubOptions{Source: m})
	w := newWorker(m, hub, newRun("run", "messages-tuple"))
	const readers = 1000
	release := hub.Watch("thread")
	w.start()
	w.open("m")
	var served, ready sync.WaitGroup
	got := make(chan struct{}, readers)
	ctx, cancel := context.WithCancel(context.Background())
	for range readers {
		served.Add(1)
		ready.Add(1)
		go func() {
			defer served.Done()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
			if err != nil {
				panic(err)
			}
			_ = stream.ServeRun(&counting{discard{http.Header{}}, &ready, got, 0}, r, hub, w.run, stream.Options{})
		}()
	}
	ready.Wait()
	b.ResetTimer()
	for b.Loop() {
		w.waiting = nil
		w.token("m", "t")
		for range readers {
			<-got
		}
	}
	b.StopTimer()
	cancel()
	served.Wait()
	release()
	hub.Close()
}

// counting tells of every flush: the first two are the headers' and metadata's.
type counting struct {
	discard
	ready *sync.WaitGroup
	got   chan struct{}
	n     int
}

func (c *counting) Flush() {
	switch c.n++; {
	case c.n == 2:
		c.ready.Done()
	case c.n > 2:
		c.got <- struct{}{}
	}
}

// BenchmarkPublishUnwatched is what a thread costs that nobody watches.
func BenchmarkPublishUnwatched(b *testing.B) {
	m := newMemory()
	hub := stream.NewHub(stream.HubOptions{Source: m})
	w := newWorker(m, hub, newRun("run"))
	b.ReportAllocs()
	for b.Loop() {
		w.waiting = nil
		w.token("m", "t")
	}
}

// BenchmarkReplay reads a finished run of 10,000 tokens.
func BenchmarkReplay(b *testing.B) {
	m := newMemory()
	hub := stream.NewHub(stream.HubOptions{Source: m})
	w := newWorker(m, hub, newRun("run", "messages-tuple"))
	w.start()
	w.open("m")
	for range 10_000 {
		w.token("m", " token")
	}
	w.finish()
	run, err := m.GetRun(b.Context(), "thread", "run")
	require.NoError(b, err)
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "/", nil)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, stream.ServeRun(&discard{http.Header{}}, r, hub, run, stream.Options{}))
	}
}

// BenchmarkEncode encodes one event of 200 bytes.
func BenchmarkEncode(b *testing.B) {
	e := frame.Frame{}
	data := strings.Repeat("x", 200)
	buf := make([]byte, 0, 512)
	b.ReportAllocs()
	for b.Loop() {
		buf = append(frame.Open(buf[:0], "messages"), data...)
		buf, e = frame.Close(buf, 0, 1234)
	}
	_ = e
}

// Design 3.11: 1,000 readers that wait cost at most 28 KiB each, connection,
// goroutines and timers included.
func TestIdleReadersAreSmall(t *testing.T) {
	if racing {
		t.Skip("memory is not that of a release build")
	}
	m := newMemory()
	hub := stream.NewHub(stream.HubOptions{Source: m})
	defer hub.Close()
	w := newWorker(m, hub, newRun("run"))
	w.start()
	s := server(t, hub, m, nil)
	const readers = 1000
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc + stats.StackInuse
	}
	before := heap()
	conns := make([]net.Conn, readers)
	address := strings.TrimPrefix(s.URL, "http://")
	request := []byte("GET /run HTTP/1.1\r\nHost: x\r\n\r\n")
	one := make([]byte, 512)
	for i := range conns {
		c, err := net.Dial("tcp", address)
		require.NoError(t, err)
		defer c.Close()
		_, err = c.Write(request)
		require.NoError(t, err)
		conns[i] = c
	}
	for _, c := range conns { // up to the metadata event
		var text string
		for !strings.Contains(text, "id: 0\n\n") {
			n, err := c.Read(one)
			require.NoError(t, err)
			text += string(one[:n])
		}
	}
	each := (int64(heap()) - int64(before)) / readers
	t.Logf("%d bytes each", each)
	require.Less(t, each, int64(28<<10))
	w.finish()
	for _, c := range conns {
		require.NoError(t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
		_, err := io.ReadFull(c, one[:5])
		require.NoError(t, err)
		require.Equal(t, "0\r\n\r\n", string(one[:5]), "the clean end")
	}
}
