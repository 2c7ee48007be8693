package feeds_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/parley-dev/parley/server/feeds"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const project = feeds.DefaultProject

// bundle is a feed that is served over real connections.
type bundle struct {
	*feeds.Feed
	t    *testing.T
	http *httptest.Server
	// ended gets how each handler ended: its error, or the panic's value.
	ended chan any
}

// setup serves a feed. With small, the kernel buffers little, so that clients
// that don't read stall soon.
func setup(t *testing.T, o feeds.Options, small bool) *bundle {
	t.Helper()
	b := &bundle{t: t, Feed: feeds.New(o), ended: make(chan any, 10_000)}
	b.Create(project)
	b.http = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p != nil {
				b.ended <- p
				panic(p)
			}
		}()
		b.ended <- b.Serve(w, r, project)
	}))
	if small {
		b.http.Listener = smallBuffers{b.http.Listener}
	}
	b.http.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		require.NoError(t, b.Close(ctx))
		b.http.Close()
	})
	return b
}

// smallBuffers is a listener whose connections hold little that isn't read.
type smallBuffers struct{ net.Listener }

func (l smallBuffers) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		err = c.(*net.TCPConn).SetWriteBuffer(4 << 10)
	}
	return c, err
}

// connect opens a connection of its own and sends the request, without reading.
func (b *bundle) connect(path string, headers ...string) net.Conn {
	b.t.Helper()
	c, err := net.Dial("tcp", b.http.Listener.Addr().String())
	require.NoError(b.t, err)
	require.NoError(b.t, c.(*net.TCPConn).SetReadBuffer(4<<10))
	b.t.Cleanup(func() { _ = c.Close() })
	require.NoError(b.t, c.SetReadDeadline(time.Now().Add(time.Minute)))
	request := "GET " + path + " HTTP/1.1\r\nHost: x\r\n" + strings.Join(append(headers, "", ""), "\r\n")
	_, err = c.Write([]byte(request))
	require.NoError(b.t, err)
	return c
}

// reader reads a feed's events.
type reader struct {
	t     *testing.T
	res   *http.Response
	lines *bufio.Scanner
}

// read waits for the headers of a connection's reply.
func (b *bundle) read(c net.Conn) *reader {
	b.t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(b.t, err)
	require.Equal(b.t, http.StatusOK, res.StatusCode)
	return &reader{b.t, res, bufio.NewScanner(res.Body)}
}

// next is the next event's version; ok is false at the stream's end. It checks
// each line: nothing but hints and heartbeats is ever sent.
func (r *reader) next() (version int64, ok bool) {
	r.t.Helper()
	for r.lines.Scan() {
		if r.lines.Text() == ": heartbeat" {
			continue
		}
		id, isID := strings.CutPrefix(r.lines.Text(), "id: ")
		require.True(r.t, isID, r.lines.Text())
		if !r.lines.Scan() {
			return 0, false
		}
		data, isData := strings.CutPrefix(r.lines.Text(), "data: ")
		require.True(r.t, isData, r.lines.Text())
		if !r.lines.Scan() {
			return 0, false
		}
		require.Empty(r.t, r.lines.Text())
		var v struct{ Version json.Number }
		require.NoError(r.t, json.Unmarshal([]byte(data), &v))
		require.Equal(r.t, id, v.Version.String())
		require.Equal(r.t, `{"version":`+id+`}`, data)
		version, err := v.Version.Int64()
		require.NoError(r.t, err)
		return version, true
	}
	return 0, false
}

// until reads until a version, which is behind none that was read before.
func (r *reader) until(want int64) {
	r.t.Helper()
	for last := int64(0); last < want; {
		v, ok := r.next()
		require.True(r.t, ok, "the stream ended after %d: %v", last, r.lines.Err())
		require.Greater(r.t, v, last)
		last = v
	}
}
