package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// socket is a client's end of a WebSocket.
type socket struct {
	t    *testing.T
	conn *websocket.Conn
}

func (c *client) dial(thread string, headers ...string) (*websocket.Conn, *http.Response, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Second)
	defer cancel()
	h := http.Header{}
	for k, v := range c.headers {
		h.Set(k, v)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return websocket.Dial(ctx, strings.Replace(c.url, "http", "ws", 1)+"/threads/"+thread+"/stream/events", &websocket.DialOptions{HTTPHeader: h})
}

func (c *client) socket(thread string) *socket {
	c.t.Helper()
	conn, _, err := c.dial(thread)
	require.NoError(c.t, err)
	conn.SetReadLimit(-1)
	c.t.Cleanup(func() { _ = conn.CloseNow() })
	return &socket{c.t, conn}
}

func (s *socket) send(text string) {
	s.t.Helper()
	require.NoError(s.t, s.conn.Write(s.t.Context(), websocket.MessageText, []byte(text)))
}

// next reads the next message, a reply or an event.
func (s *socket) next() map[string]any {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	kind, b, err := s.conn.Read(ctx)
	require.NoError(s.t, err)
	require.Equal(s.t, websocket.MessageText, kind)
	var v map[string]any
	require.NoError(s.t, json.Unmarshal(b, &v))
	return v
}

// until reads up to the message that is looked for.
func (s *socket) until(found func(map[string]any) bool) []map[string]any {
	s.t.Helper()
	var all []map[string]any
	for {
		v := s.next()
		all = append(all, v)
		if found(v) {
			return all
		}
	}
}

// terminal reports whether a message is the end of a run.
func terminal(v map[string]any) bool {
	if v["method"] != "lifecycle" {
		return false
	}
	params := v["params"].(map[string]any)
	event := params["data"].(map[string]any)["event"]
	return len(params["namespace"].([]any)) == 0 && event != "running"
}

func eventIDs(all []map[string]any) (found []string) {
	for _, v := range all {
		if v["type"] == "event" {
			found = append(found, v["event_id"].(string))
		}
	}
	return found
}

// Replies precede the events of their subscriptions; an event that matches several
// comes once; what the thread has had is replayed. // M-9
func TestSocketCarriesCommandsAndEvents(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	thread := uuid.NewString()
	s := c.socket(thread)
	s.send(`{"id":1,"method":"subscription.subscribe","params":{"channels":["lifecycle","input"]}}`)
	s.send(`{"id":2,"method":"subscription.subscribe","params":{"channels":["values","lifecycle"],"namespaces":[[]],"depth":1}}`)
	for id := 1; id <= 2; id++ {
		reply := s.next()
		require.Equal(t, "success", reply["type"], reply)
		require.EqualValues(t, id, reply["id"])
		require.EqualValues(t, 0, reply["result"].(map[string]any)["replayed_events"])
		require.NotEmpty(t, reply["result"].(map[string]any)["subscription_id"])
		require.Equal(t, map[string]any{"thread_id": thread, "applied_through_seq": 0.0}, reply["meta"])
	}
	s.send(`{"id":3,"method":"run.start","params":{"assistant_id":"echo","input":{"note":"x"}}}`)
	var started bool
	all := s.until(func(v map[string]any) bool {
		started = started || v["type"] == "success" && v["id"] == 3.0
		return terminal(v)
	})
	if !started {
		s.until(func(v map[string]any) bool { return v["id"] == 3.0 })
	}
	live := eventIDs(all)
	require.Len(t, live, 6, "running, two values, started, completed, and the terminal: each once")

	// A late subscription gets what the connection has not had.
	s.send(`{"id":4,"method":"subscription.subscribe","params":{"channels":["messages","lifecycle"]}}`)
	reply := s.next()
	require.EqualValues(t, 4, reply["id"])
	require.EqualValues(t, 9, reply["result"].(map[string]any)["replayed_events"])
	for range 5 {
		require.Equal(t, "messages", s.next()["method"])
	}
	// Another connection gets all of it, under the same ids.
	other := c.socket(thread)
	other.send(`{"id":1,"method":"subscription.subscribe","params":{"channels":["lifecycle","values"]}}`)
	require.EqualValues(t, 6, other.next()["result"].(map[string]any)["replayed_events"])
	require.Equal(t, live, eventIDs(other.until(terminal)))

	// What is unsubscribed comes no more.
	id := reply["result"].(map[string]any)["subscription_id"].(string)
	s.send(fmt.Sprintf(`{"id":5,"method":"subscription.unsubscribe","params":{"subscription_id":%q}}`, id))
	require.Equal(t, map[string]any{}, s.next()["result"])
	s.send(`{"id":6,"method":"run.start","params":{"assistant_id":"echo","input":{"note":"y"}}}`)
	for _, v := range s.until(terminal) {
		require.NotEqual(t, "messages", v["method"])
	}
}

func TestSocketRefusesWhatIsNoCommand(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	s := c.socket(uuid.NewString())
	refused := func(send, code, message string, id any) {
		t.Helper()
		s.send(send)
		v := s.next()
		require.Equal(t, map[string]any{"type": "error", "id": id, "error": code, "message": message}, v)
	}
	const noCommand = "Protocol commands must include an integer id and string method."
	refused(`nope`, "invalid_argument", "Protocol commands must be valid JSON.", nil)
	refused(``, "invalid_argument", "Protocol commands must be valid JSON.", nil)
	refused(`[]`, "invalid_argument", noCommand, nil)
	refused(`{}`, "invalid_argument", noCommand, nil)
	refused(`{"id":1.5,"method":"x"}`, "invalid_argument", noCommand, nil)
	refused(`{"id":"1","method":"x"}`, "invalid_argument", noCommand, nil)
	refused(`{"id":1}`, "invalid_argument", noCommand, nil)
	refused(`{"id":1,"method":"x.y"}`, "unknown_command", "Unknown protocol command: x.y", 1.0)
	refused(`{"id":2,"method":"subscription.unsubscribe","params":{"subscription_id":"x"}}`, "no_such_subscription", "Unknown subscription: x", 2.0)
	refused(`{"id":3,"method":"subscription.unsubscribe"}`, "invalid_argument", "subscription.unsubscribe requires a subscription_id.", 3.0)
	refused(`{"id":4,"method":"subscription.subscribe"}`, "invalid_argument", "subscription.subscribe requires channels.", 4.0)
	refused(`{"id":5,"method":"run.start","params":{}}`, "invalid_argument", "run.start requires an assistant_id.", 5.0)
	refused(`{"id":6,"method":"run.start","params":{"assistant_id":"none"}}`, "unknown_error",
		`No assistant found for "none". Make sure the assistant ID is for a valid assistant or a valid graph ID.`, 6.0)
	require.NoError(t, s.conn.Write(t.Context(), websocket.MessageBinary, []byte(`{"id":7,"method":"subscription.subscribe","params":{"channels":[]}}`)))
	require.EqualValues(t, 7, s.next()["id"])
}

// A socket is only for pages of allowed origins, which then can tell why it closes.
func TestSocketOrigin(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{CORS: server.CORS{AllowOrigins: []string{"https://app.example"}}})
	thread := uuid.NewString()
	for origin, allowed := range map[string]bool{"": true, "https://app.example": true, c.url: true, "https://evil.example": false, "null": false} {
		conn, res, err := c.dial(thread, "Origin", origin)
		if allowed {
			require.NoError(t, err, origin)
			_ = conn.CloseNow()
			continue
		}
		require.Error(t, err, origin)
		require.Equal(t, http.StatusForbidden, res.StatusCode)
	}
	conn, _, err := c.dial("nope")
	require.NoError(t, err)
	_, _, err = conn.Read(t.Context())
	require.Equal(t, websocket.StatusCode(4422), websocket.CloseStatus(err))
}

// Subscriptions that are made together share one past, in order: a page that learns
// of a run's end before the rest would stop listening (SDK 1.9.28). // M-9, M-36
func TestSocketSubscriptionsMadeTogetherShareOnePast(t *testing.T) {
	t.Parallel()
	c := serveTest(t, server.Options{})
	thread := uuid.NewString()
	first := c.socket(thread)
	first.send(`{"id":1,"method":"subscription.subscribe","params":{"channels":["lifecycle"]}}`)
	first.send(`{"id":2,"method":"run.start","params":{"assistant_id":"echo","input":{"note":"x"}}}`)
	first.until(terminal)

	s := c.socket(thread)
	s.send(`{"id":1,"method":"subscription.subscribe","params":{"channels":["lifecycle","input"]}}`)
	s.send(`{"id":2,"method":"subscription.subscribe","params":{"channels":["values","messages","lifecycle"],"namespaces":[[]],"depth":1}}`)
	for id := 1; id <= 2; id++ {
		require.EqualValues(t, id, s.next()["id"], "replies precede events")
	}
	all := s.until(terminal)
	var last float64
	var values int
	for _, v := range all {
		require.Greater(t, v["seq"].(float64), last, "in order, each once")
		last = v["seq"].(float64)
		if v["method"] == "values" {
			values++
		}
	}
	require.Equal(t, 2, values, "all of the run comes before its end")
}
