package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server"
)

// narrow gives new connections small buffers while it is on, so that a reader
// that stands still is felt by the writer at once.
type narrow struct {
	net.Listener
	on       atomic.Bool
	accepted chan *net.TCPConn
}

func (n *narrow) Accept() (net.Conn, error) {
	c, err := n.Listener.Accept()
	if err == nil && n.on.Load() {
		n.accepted <- c.(*net.TCPConn)
		err = c.(*net.TCPConn).SetWriteBuffer(16 << 10)
	}
	return c, err
}

// D-65: of hundreds of readers one takes nothing. The others get every event as
// fast as before; the one reads on from the log once it wakes, and has missed nothing.
func TestReaderThatStandsStillDelaysNobody(t *testing.T) {
	t.Parallel()
	const rounds, size = 40, 8 << 10 // far more than the buffers of a connection hold
	readers := heavy(300, 60)
	next := make(chan struct{})
	s, err := server.New(server.Options{Ephemeral: true, Logger: slog.New(slog.DiscardHandler), Agents: []agent.Agent{
		agent.NewGraph[state]("paced").Node("write", func(ctx agent.Context, _ state) (agent.Update, error) {
			pad := strings.Repeat("x", size)
			for i := range 2 * rounds {
				select {
				case <-next:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
				ctx.Write(map[string]any{"i": i, "pad": pad})
			}
			return said("done"), nil
		}).Edge(agent.Start, "write").Edge("write", agent.End).MustCompile(),
	}})
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context()))
	h := httptest.NewUnstartedServer(s.Handler())
	listener := &narrow{Listener: h.Listener, accepted: make(chan *net.TCPConn, 100)}
	h.Listener = listener
	h.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		require.NoError(t, s.Shutdown(ctx))
		h.Close()
	})
	c := &client{t: t, url: h.URL}
	id := c.thread()
	run := c.start(id, `{"assistant_id":"paced","input":{},"stream_mode":"custom"}`)
	path := "/threads/" + id + "/runs/" + run + "/stream"

	arrived := make(chan time.Time, readers)
	ended, failed := make(chan struct{}, readers), make(chan error, readers)
	for range readers {
		r := c.read(http.MethodGet, path, "")
		go func() {
			for i := -1; ; i++ {
				f, err := r.next()
				if err == nil && i >= 0 && !strings.HasPrefix(f.data, fmt.Sprintf(`{"i":%d,`, i)) {
					err = fmt.Errorf("event %d is %.20s", i, f.data)
				}
				switch {
				case errors.Is(err, io.EOF):
					ended <- struct{}{}
					return
				case err != nil:
					failed <- err
					return
				}
				if i >= 0 {
					arrived <- time.Now()
				}
			}
		}()
	}
	// p99 of the time from the node's write until an event is with all of them.
	p99 := func() time.Duration {
		var all []time.Duration
		for range rounds {
			written := time.Now()
			next <- struct{}{}
			for range readers {
				select {
				case at := <-arrived:
					all = append(all, at.Sub(written))
				case err := <-failed:
					require.NoError(t, err)
				case <-time.After(20 * time.Second):
					require.Fail(t, "a reader waits for another")
				}
			}
		}
		slices.Sort(all)
		return all[len(all)*99/100]
	}
	before := p99()
	listener.on.Store(true)
	still := c.stall(path)
	after := p99()
	for range readers {
		select {
		case <-ended:
		case err := <-failed:
			require.NoError(t, err)
		}
	}
	t.Logf("p99 of %d readers: %v, with one that stands still %v", readers, before, after)
	require.Less(t, after, 3*before+500*time.Millisecond, "a write that waited for it would take its whole timeout")

	c.wait(id, run)
	require.NoError(t, (<-listener.accepted).SetWriteBuffer(1<<20))
	frames := still.rest()
	require.Len(t, frames, 2*rounds+1)
	for i, f := range frames {
		require.Equal(t, fmt.Sprint(i), f.id)
	}
}

// stall opens a stream on a connection of its own; its client takes nothing until it is read.
func (c *client) stall(path string) *reading {
	c.t.Helper()
	transport := &http.Transport{}
	c.t.Cleanup(transport.CloseIdleConnections)
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.url+path, nil)
	require.NoError(c.t, err)
	res, err := (&http.Client{Transport: transport}).Do(request)
	require.NoError(c.t, err)
	c.t.Cleanup(func() { _ = res.Body.Close() })
	return newReading(c.t, res)
}
