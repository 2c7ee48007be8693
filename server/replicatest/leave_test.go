package replicatest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// TestReplicaLeavesWhileReadersWait: neither readers of silent threads (D-87) nor those that have
// stopped taking what they are sent (D-88) keep a replica from leaving before its deadline.
func TestReplicaLeavesWhileReadersWait(t *testing.T) {
	t.Parallel()
	prefix := newPrefix()
	stays := start(t, options(prefix))
	s, err := server.New(options(prefix))
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context()))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	leaves := &replica{t: t, url: "http://" + l.Addr().String(), s: s}

	var waiting []*http.Response
	for range 10 {
		id := leaves.thread()
		waiting = append(waiting,
			leaves.open(t.Context(), http.MethodGet, "/threads/"+id+"/stream", ""),
			leaves.open(t.Context(), http.MethodPost, "/threads/"+id+"/stream/events", `{"channels":["values","lifecycle"]}`))
	}
	loud := leaves.thread()
	var dead []io.Closer
	for range 5 {
		dead = append(dead, deadReader(t, l.Addr().String(), loud), deadSocket(t, l.Addr().String(), loud))
	}
	run := stays.start(loud, `{"assistant_id":"ticks","input":{"count":2500}}`)
	stays.until("it has ended", func() bool { return stays.status(loud, run) == "success" })

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	require.NoError(t, s.Shutdown(ctx))
	require.NoError(t, ctx.Err(), "before its deadline")
	require.NoError(t, <-served)
	for _, res := range waiting {
		require.Equal(t, http.StatusOK, res.StatusCode)
		_, err := io.ReadAll(res.Body)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "no clean end: the client must come again")
		require.NoError(t, res.Body.Close())
	}
	for _, c := range dead {
		_ = c.Close() // the server has ended it
	}
}

// narrow connects so that little is on its way at a time.
func narrow(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return c, c.(*net.TCPConn).SetReadBuffer(4096)
}

// deadSocket subscribes to a thread's events and takes none of them, nor the server's goodbye.
func deadSocket(t *testing.T, addr, id string) io.Closer {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: narrow}}
	c, _, err := websocket.Dial(t.Context(), "ws://"+addr+"/threads/"+id+"/stream/events", &websocket.DialOptions{HTTPClient: client}) //nolint:bodyclose // the library's
	require.NoError(t, err)
	require.NoError(t, c.Write(t.Context(), websocket.MessageText, []byte(`{"id":1,"method":"subscription.subscribe","params":{"channels":["custom"]}}`)))
	_, reply, err := c.Read(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(reply), `"id":1`)
	return now{c}
}

// now closes a socket without a goodbye.
type now struct{ *websocket.Conn }

func (c now) Close() error { return c.CloseNow() }

// deadReader asks for a thread's events and takes no more of them than the answer's head.
func deadReader(t *testing.T, addr, id string) io.Closer {
	t.Helper()
	c, err := narrow(t.Context(), "tcp", addr)
	require.NoError(t, err)
	const body = `{"channels":["custom"]}`
	_, err = fmt.Fprintf(c, "POST /threads/%s/stream/events HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", id, addr, len(body), body)
	require.NoError(t, err)
	head := make([]byte, 0, 4096)
	for !strings.Contains(string(head), "\r\n\r\n") {
		n, err := c.Read(head[len(head) : len(head)+1])
		require.NoError(t, err)
		head = head[:len(head)+n]
	}
	require.Contains(t, string(head), " 200 ")
	return c
}
