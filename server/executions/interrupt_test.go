package executions_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
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
		outcomes := map[string]int{}
		for i := range w.urls {
			outcomes[c.at(i).interrupt(id, `{"step_number":7}`)]++
		}
		if len(w.urls) > 1 {
			require.Equal(t, map[string]int{"armed": 1, "in_flight_elsewhere": 1}, outcomes)
		}
		other := 0
		for i := range w.urls {
			if c.at(i).interrupt(id, `{"step_number":8}`) == "in_flight_elsewhere" {
				other = i
			}
		}
		outcome := c.at(other).interrupt(id, "{}")
		if len(w.urls) > 1 {
			require.Equal(t, "in_flight_elsewhere", outcome)
		}
		require.Contains(t, []string{"already_armed", "noop_terminal"}, c.at(other).interrupt(id, "{}"))
		require.Equal(t, "cancelled", c.becomes(id, "error")["error_code"])
		require.Equal(t, 1, w.effects.count("aborted "+gate))
	})
}
