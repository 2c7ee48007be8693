package server_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// A client that sends half a body and then nothing must not hold it in memory for ever.
func TestABodyThatNeverEndsIsGivenUp(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{Limits: server.Limits{BodyTime: 50 * time.Millisecond}})
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
	require.NoError(t, err)
	defer conn.Close() //nolint:errcheck // the test is over
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = io.WriteString(conn, "POST /threads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n{\"metadata\":")
	require.NoError(t, err)
	in := bufio.NewReader(conn)
	res, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusRequestTimeout, res.StatusCode)
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
	_, err = in.ReadByte()
	require.ErrorIs(t, err, io.EOF, "the connection is closed")
}

func TestTheTimeForTheBodyDoesNotBoundItsStream(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{Limits: server.Limits{BodyTime: 50 * time.Millisecond}})
	th := c.thread()
	frames := c.post("/threads/"+th+"/runs/stream", `{"assistant_id":"slow","input":{"wait":0.3},"stream_mode":"updates","on_disconnect":"cancel"}`).frames()
	require.Equal(t, "updates", frames[len(frames)-1].event)
	require.Equal(t, "success", c.get("/threads/" + th + "/runs").ok().list()[0]["status"])
}
