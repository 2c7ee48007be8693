package server_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	apikeys "github.com/parley-dev/parley/server/auth/keys"
)

// D-73: whoever loses their key loses what they hold open, and is told so.
func TestARevokedKeyEndsItsStreams(t *testing.T) {
	t.Parallel()
	k := serveKeyed(t, server.Options{})
	owner := k.holder("acme", "ada", "owner")
	id, text := k.make(apikeys.Request{Project: "acme", Name: "bob", Roles: []string{"operator"}})
	bob := k.as(bearer(text))
	thread := owner.thread()
	slow := `{"assistant_id":"slow","input":{"wait":600},"on_disconnect":"cancel","multitask_strategy":"enqueue"}`
	run := owner.post("/threads/"+thread+"/runs", slow).ok().str("run_id")
	others := owner.begun(t, http.MethodGet, "/threads/"+thread+"/runs/"+run+"/stream", "")

	classic := bob.begun(t, http.MethodPost, "/threads/"+thread+"/runs/stream", slow)
	joined := bob.begun(t, http.MethodGet, "/threads/"+thread+"/runs/"+run+"/stream", "")
	all := bob.begun(t, http.MethodGet, "/threads/"+thread+"/stream", "")
	v2 := bob.begun(t, http.MethodPost, "/threads/"+thread+"/stream/events", `{"channels":["values","lifecycle"]}`)
	wait := bob.begun(t, http.MethodPost, "/threads/"+thread+"/runs/wait", slow)
	join := bob.begun(t, http.MethodGet, "/threads/"+thread+"/runs/"+run+"/join", "")
	socket := bob.socket(thread)
	socket.send(`{"id":1,"method":"subscription.subscribe","params":{"channels":["lifecycle"]}}`)
	require.Equal(t, "success", socket.next()["type"])

	owner.do(http.MethodDelete, "/api/v1/projects/acme/keys/"+id, "").ok()
	bob.get("/threads/" + thread).is(http.StatusUnauthorized)
	const said = `{"error":"Unauthorized","message":"401: credentials expired"}`
	for name, res := range map[string]*http.Response{"run": classic, "join": joined, "thread": all} {
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err, name)
		require.Contains(t, string(body), "event: error\ndata: "+said, name)
	}
	body, err := io.ReadAll(v2.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "it has no clean end")
	require.Contains(t, string(body), `{"type":"error","id":null,"error":"permission_denied","message":"401: credentials expired"}`)
	for name, res := range map[string]*http.Response{"wait": wait, "join": join} {
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err, name)
		require.JSONEq(t, `{"__error__":`+said+`}`, strings.TrimSpace(string(body)), name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	for err = nil; err == nil; {
		_, _, err = socket.conn.Read(ctx)
	}
	require.Equal(t, websocket.StatusCode(4401), websocket.CloseStatus(err))

	for _, r := range owner.get("/threads/" + thread + "/runs").ok().list() {
		require.Contains(t, []any{"running", "pending"}, r["status"], "an end of a stream is no disconnect")
	}
	require.NoError(t, others.Body.Close(), "who still has a key is still served until here")
}

// begun opens a reply and has read its first byte, so that it is under way.
func (c *client) begun(t *testing.T, method, path, body string) *http.Response {
	t.Helper()
	res := c.open(t.Context(), method, path, body)
	require.Equal(t, http.StatusOK, res.StatusCode)
	one := make([]byte, 1)
	_, err := io.ReadFull(res.Body, one)
	require.NoError(t, err)
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(strings.NewReader(string(one)), res.Body), res.Body}
	return res
}

func TestAnExpiringKeyEndsItsStreams(t *testing.T) {
	t.Parallel()
	k := serveKeyed(t, server.Options{})
	_, text := k.make(apikeys.Request{Project: "acme", Name: "bob", Roles: []string{"operator"}, ExpiresAt: time.Now().Add(2 * time.Second)})
	bob := k.as(bearer(text))
	a := bob.post("/threads/"+bob.thread()+"/runs/stream", `{"assistant_id":"slow","input":{"wait":600}}`)
	frames := a.frames()
	require.Equal(t, "error", frames[len(frames)-1].event)
	bob.get("/threads/" + missingID).is(http.StatusUnauthorized)
}

func TestAnonymousStreamsEndWithAnonymity(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	thread := c.thread()
	res := c.begun(t, http.MethodPost, "/threads/"+thread+"/runs/stream", `{"assistant_id":"slow","input":{"wait":600}}`)
	c.post("/api/v1/projects/default/keys", `{"roles":["owner"]}`).is(http.StatusCreated)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Contains(t, string(body), "credentials expired")
}
