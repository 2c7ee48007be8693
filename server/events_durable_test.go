package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// Events and their ids are the thread's for good: after a restart they are
// replayed as they were, a question can be answered, and what comes is numbered
// on. // M-37, M-38, M-51, M-52, M-53, D-02, D-20, D-22
func TestEventsAreTheSameAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, c, served := running(t, server.Options{DataDir: dir})
	p := &protocol{c, uuid.NewString(), 0}
	next := p.events(p.thread, `{"channels":`+allChannels+`}`)
	p.success("run.start", `{"assistant_id":"ask","input":{"note":"x"}}`)
	before := upTo(t, next, "interrupted")
	require.NoError(t, s.Shutdown(t.Context()))
	require.NoError(t, <-served)

	s, c, served = running(t, server.Options{DataDir: dir})
	p.client = c
	next = p.events(p.thread, `{"channels":`+allChannels+`}`)
	require.Equal(t, joined(before), joined(upTo(t, next, "interrupted")))
	p.success("input.respond", fmt.Sprintf(`{"interrupt_id":%q,"response":1}`, p.question()))
	after := upTo(t, next, "completed")
	require.EqualValues(t, len(before)+1, after[0].json(t)["seq"])
	seen := map[string]bool{}
	for _, f := range append(before, after...) {
		require.False(t, seen[f.id], f.id)
		seen[f.id] = true
	}
	require.Equal(t, []string{"running", "input.answered", "checkpoints", "values"}, names(t, after)[:4]) // D-30
	require.NoError(t, s.Shutdown(t.Context()))
	require.NoError(t, <-served)
}

// A shutdown aborts event streams and closes sockets with a code that says come
// again; none ends cleanly. // D-01, M-4
func TestShutdownAbortsEventStreams(t *testing.T) {
	t.Parallel()
	s, c, served := running(t, server.Options{Ephemeral: true})
	thread := uuid.NewString()
	res := c.open(t.Context(), http.MethodPost, "/threads/"+thread+"/stream/events", `{"channels":["values"]}`)
	socket := c.socket(thread)
	socket.send(`{"id":1,"method":"subscription.subscribe","params":{"channels":["values"]}}`)
	socket.next()
	closed := make(chan error, 1)
	go func() {
		_, _, err := socket.conn.Read(context.Background())
		closed <- err
	}()
	require.NoError(t, s.Shutdown(t.Context()))
	require.NoError(t, <-served)
	_, err := io.ReadAll(res.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.NoError(t, res.Body.Close())
	require.Equal(t, websocket.StatusServiceRestart, websocket.CloseStatus(<-closed))
	_, _, err = c.dial(thread)
	require.Error(t, err)
}

// A foreign thread is not found; one that another user creates after the stream
// was opened stays silent. // M-46
func TestEventsOfForeignThreads(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{Auth: tenants()})
	ann, bob := c.as(map[string]string{"x-user": "ann"}), c.as(map[string]string{"x-user": "bob"})
	mine := ann.thread()
	bob.post("/threads/"+mine+"/stream/events", `{"channels":["values"]}`).text(http.StatusNotFound, "Thread with ID "+mine+" not found")
	conn, _, err := bob.dial(mine)
	require.NoError(t, err)
	_, _, err = conn.Read(t.Context())
	require.Equal(t, websocket.StatusCode(4404), websocket.CloseStatus(err))
	c.post("/threads/"+mine+"/stream/events", `{"channels":["values"]}`).is(http.StatusUnauthorized)

	later := uuid.NewString()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	res := bob.open(ctx, http.MethodPost, "/threads/"+later+"/stream/events", `{"channels":`+allChannels+`}`)
	defer res.Body.Close() //nolint:errcheck // it has no end
	spy := bob.socket(later)
	spy.send(`{"id":1,"method":"subscription.subscribe","params":{"channels":["values","lifecycle"]}}`)
	spy.next()
	next := ann.events(later, `{"channels":["lifecycle"]}`)
	p := &protocol{ann, later, 0}
	p.success("run.start", `{"assistant_id":"echo","input":{"note":"`+secret+`"}}`)
	upTo(t, next, "completed")
	spy.send(`{"id":2,"method":"state.get","params":{}}`)
	require.Equal(t, "error", spy.next()["type"], "nothing but the reply comes")
	cancel()
	heard, _ := io.ReadAll(res.Body)
	require.NotContains(t, string(heard), "data:")
}

// The end of a user's credentials ends the stream with an error that clients
// show, and a socket with the code of a 401. // D-73
func TestExpiredCredentialsEndEventStreams(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{Auth: tenants()})
	ann := c.as(map[string]string{"x-user": "ann", "x-expires": "soon"})
	thread := uuid.NewString()
	socket := ann.socket(thread)
	res := ann.open(t.Context(), http.MethodPost, "/threads/"+thread+"/stream/events", `{"channels":["values"]}`)
	heard, err := io.ReadAll(res.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.NoError(t, res.Body.Close())
	require.Contains(t, string(heard), `data: {"type":"error","id":null,"error":"permission_denied","message":"401: credentials expired"}`)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, _, err = socket.conn.Read(ctx)
	require.Equal(t, websocket.StatusCode(4401), websocket.CloseStatus(err))
}

// When the log of a thread has been dropped, a reader is told so, and gets its
// state and how its newest run ended. // M-50, D-03, D-06
func TestDroppedLogIsToldByTheState(t *testing.T) {
	t.Parallel()
	p := newProtocol(t, server.Options{LogRetention: time.Millisecond, SweepEvery: 20 * time.Millisecond})
	p.success("run.start", `{"assistant_id":"echo","input":{"note":"x"}}`)
	p.ended()
	var got []string
	p.until("the log is dropped", func() bool {
		got = names(t, upTo(t, p.events(p.thread, `{"channels":`+allChannels+`}`), "completed"))
		return got[0] != "running"
	})
	require.Equal(t, []string{"custom", "checkpoints", "values", "running", "completed"}, got)
	frames := upTo(t, p.events(p.thread, `{"channels":`+allChannels+`}`), "completed")
	gap := frames[0].json(t)["params"].(map[string]any)["data"].(map[string]any)
	require.Equal(t, "parley.gap", gap["name"])
	require.Equal(t, map[string]any{"from": 1.0, "to": 16.0}, gap["payload"])
	values := frames[2].json(t)["params"].(map[string]any)["data"].(map[string]any)
	require.Equal(t, "x", values["note"])
	require.Len(t, values["messages"], 1)
	var last float64
	for _, f := range frames {
		require.True(t, strings.HasPrefix(f.id, "synth:"), f.id)
		seq := f.json(t)["seq"].(float64)
		require.Greater(t, seq, last)
		last = seq
	}
	require.Equal(t, 16.0, last)
	next := p.events(p.thread, `{"channels":["lifecycle"],"since":16}`)
	p.success("run.start", `{"assistant_id":"echo","input":{"note":"y"}}`)
	require.EqualValues(t, 17, next().json(t)["seq"])
}

// A client that goes away ends nothing. // M-10, D-56
func TestLeavingAnEventStreamLeavesTheRun(t *testing.T) {
	t.Parallel()
	p := newProtocol(t, server.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	res := p.open(ctx, http.MethodPost, "/threads/"+p.thread+"/stream/events", `{"channels":["custom"]}`)
	socket := p.socket(p.thread)
	socket.send(`{"id":1,"method":"run.start","params":{"assistant_id":"slow","input":{"wait":0.2}}}`)
	socket.next()
	require.Len(t, parseFrames(t, res.Body, 1), 1)
	cancel()
	require.NoError(t, res.Body.Close())
	require.NoError(t, socket.conn.CloseNow())
	require.Equal(t, []any{"waited"}, p.ended()["values"].(map[string]any)["log"])
	runs := p.get("/threads/" + p.thread + "/runs").ok().list()
	require.Equal(t, "success", runs[0]["status"])
}
