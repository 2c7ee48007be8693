package executions_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/redis"
)

// begin invokes without waiting, on a session of that name, or a fresh one, and returns the execution's id.
func (c *client) begin(session, agent, message string) string {
	c.t.Helper()
	if session != "" {
		c = c.with("X-Session-ID", session)
	}
	return c.post("/executions?workspace_id=default", say(agent, message)).is(http.StatusAccepted).json().text("execution_id")
}

func (c *client) interrupt(id, body string) string {
	c.t.Helper()
	return c.post("/executions/"+id+"/interrupt", body).ok().text("outcome")
}

// EX 4, interrupt: the tool's call is aborted; the execution ends cancelled, and the session takes the next invocation.
func TestACallOfAToolIsAborted(t *testing.T) {
	t.Parallel()
	w := local(t)
	c := w.anybody()
	id := c.begin("s", "clerk", "wait Ann")
	c.until("the tool runs", func() bool { return w.effects.count("at tool Ann") == 1 })
	o := c.post("/executions/"+id+"/interrupt", "").ok()
	require.Equal(t, "aborted", o["outcome"])
	require.Equal(t, id, o["execution_id"])
	e := c.becomes(id, "error")
	require.Equal(t, "cancelled", e["error_code"])
	require.NotEmpty(t, e["error"])
	c.until("the tool's context has ended", func() bool { return w.effects.count("aborted tool Ann") == 1 })
	require.Equal(t, "noop_terminal", c.interrupt(id, "{}"), "idempotent")
	steps := c.execution(id).list("steps")
	require.Equal(t, "aborted", steps[len(steps)-1]["status"])
	require.Equal(t, "You said: go on", c.with("X-Session-ID", "s").invoke("echo", "go on")["response"])
}

// EX 4: the model's call is aborted, between two tokens and before the first one.
func TestACallOfAModelIsAborted(t *testing.T) {
	t.Parallel()
	w := local(t)
	c := w.anybody()
	for _, gate := range []string{"gate m", "mute m"} {
		id := c.begin(gate[:4], "talker", gate)
		c.until("the model is asked", func() bool { return w.effects.count("at "+gate) == 1 })
		require.Equal(t, "aborted", c.interrupt(id, `{"step_number":1}`), gate)
		require.Equal(t, "cancelled", c.becomes(id, "error")["error_code"])
		require.Equal(t, 1, w.effects.count("aborted "+gate))
	}
}

// EX 4, step_number: a later step is armed, and aborted as soon as it begins; an earlier one is over.
func TestALaterStepIsArmed(t *testing.T) {
	t.Parallel()
	w := local(t)
	c := w.anybody()
	id := c.begin("s", "clerk", "wait Ann")
	c.until("the tool runs", func() bool { return w.effects.count("at tool Ann") == 1 })
	c.until("the log tells of two steps: the model, the tool", func() bool { return len(c.execution(id).list("steps")) == 2 })
	require.Equal(t, "noop", c.interrupt(id, `{"step_number":1}`), "the model has answered")
	require.Equal(t, "armed", c.interrupt(id, `{"step_number":3}`), "the model's next call")
	require.Equal(t, "already_armed", c.interrupt(id, `{"step_number":3}`))
	require.Contains(t, []any{"running"}, c.execution(id)["status"])
	w.effects.opened("tool Ann")
	e := c.becomes(id, "error")
	require.Equal(t, "cancelled", e["error_code"])
	require.Equal(t, "completed", e.list("steps")[1]["status"], "the tool's call was left alone")
	require.Zero(t, w.effects.count("aborted tool Ann"))
}

// EX 4: what waits for a person, or has ended, has nothing in flight.
func TestNothingIsInFlight(t *testing.T) {
	t.Parallel()
	c := local(t).anybody()
	id := c.suspend("refund", "x")
	require.Equal(t, "noop", c.interrupt(id, "{}"))
	require.Equal(t, "suspended", c.execution(id)["status"])
	c.resume(id, `{"decision":"approve"}`).ok()
	c.becomes(id, "completed")
	require.Equal(t, "noop_terminal", c.interrupt(id, "{}"))
	require.Equal(t, "noop_terminal", c.interrupt(id, `{"step_number":9}`))
	for _, body := range []string{`{"step_number":0}`, `{"step_number":-1}`, `{"step_number":1.5}`, `{"step_number":"1"}`} {
		c.post("/executions/"+id+"/interrupt", body).field("INVALID_ATTRIBUTE", "step_number")
	}
	c.post("/executions/"+id+"/interrupt", `{"step":1}`).field("UNKNOWN_ATTRIBUTE", "step")
}

// EX 4: another process than the one that was asked carries the call out: it aborts it.
func TestACallInFlightElsewhere(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		c := w.anybody()
		id := c.begin("s", "slow", "x")
		gate := "node " + thread.SessionThread("default", "s")
		c.until("it waits", func() bool { return w.effects.count("at "+gate) == 1 })
		outcomes := []string{}
		for i := range w.urls { // whichever is asked
			outcomes = append(outcomes, c.at(i).interrupt(id, `{"step_number":7}`))
		}
		require.Equal(t, []string{"armed", "already_armed"}[:len(w.urls)], outcomes)
		require.Equal(t, "armed", c.interrupt(id, `{"step_number":8}`), "another step takes its place")
		require.Equal(t, "running", c.execution(id)["status"])
		const other = 1
		require.Contains(t, []string{"aborted", "in_flight_elsewhere"}, c.at(other).interrupt(id, "{}"))
		require.Contains(t, []string{"already_armed", "noop_terminal"}, c.at(other).interrupt(id, "{}"))
		require.Equal(t, "cancelled", c.becomes(id, "error")["error_code"])
		require.Equal(t, 1, w.effects.count("aborted "+gate))
	})
}

// EX 4, step_number: what another process was asked to arm is stored with the run, and counts for who goes on with it.
func TestAnArmedStepOutlivesItsOwner(t *testing.T) {
	t.Parallel()
	if shared == nil {
		t.Skip("install redis-server (Debian: apt-get install redis-server)")
	}
	w := empty(t)
	o := server.Options{Redis: redis.Options{URL: shared.URL(), Prefix: "test:" + uuid.NewString()[:8] + ":"}}
	w.start(o, nil) // the owner
	c := w.anybody()
	id := c.begin("s", "clerk", "wait Ann")
	c.until("the tool runs", func() bool { return w.effects.count("at tool Ann") == 1 })
	w.start(o, nil)
	c = c.at(1)
	c.until("the log tells of two steps: the model, the tool", func() bool { return len(c.execution(id).list("steps")) == 2 })
	require.Equal(t, "noop", c.interrupt(id, `{"step_number":1}`), "the model has answered")
	require.Equal(t, "armed", c.interrupt(id, `{"step_number":3}`), "the next call, whosever")
	require.Equal(t, "already_armed", c.interrupt(id, `{"step_number":3}`))
	w.stops[0]()
	e := c.becomes(id, "error") // the tool is called again, and nobody opens its gate
	require.Equal(t, "cancelled", e["error_code"])
	require.Len(t, e.list("steps"), 3)
	require.Equal(t, "go on", c.with("X-Session-ID", "s").invoke("echo", "go on")["response"].(string)[len("You said: "):])
}

// EX 4, step_number: a run that waits for a worker is armed, too, in every process that may begin it.
func TestAStepOfAWaitingRunIsArmed(t *testing.T) {
	t.Parallel()
	w := local(t, func(o *server.Options) { o.Workers = 1 })
	c := w.anybody()
	first := c.begin("a", "clerk", "wait Ann")
	c.until("the tool runs", func() bool { return w.effects.count("at tool Ann") == 1 })
	id := c.begin("b", "clerk", "wait Bob")
	require.Equal(t, "armed", c.interrupt(id, `{"step_number":2}`))
	require.Equal(t, "already_armed", c.interrupt(id, `{"step_number":2}`))
	require.Equal(t, "pending", c.execution(id)["status"])
	w.effects.opened("tool Ann")
	c.becomes(first, "completed")
	e := c.becomes(id, "error") // nobody opens the gate of its tool
	require.Equal(t, "cancelled", e["error_code"])
	require.Equal(t, "completed", e.list("steps")[0]["status"])
}
