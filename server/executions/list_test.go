package executions_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server/auth"
)

// ids lists the executions of a list.
func ids(o object) (out []string) {
	for _, e := range o.list("executions") {
		out = append(out, e.text("execution_id"))
	}
	return out
}

// EX 4, list: newest first, filters, limit and cursor.
func TestListOfExecutions(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		c := w.anybody()
		var all []string
		for i := range 7 {
			agent := []string{"echo", "refund", "fail"}[i%3]
			o := c.with("X-Session-ID", fmt.Sprintf("s%d", i%2*i)).post(invokePath, say(agent, fmt.Sprint(i))).ok()
			all = append([]string{o.text("execution_id")}, all...)
			if o["status"] == "suspended" && i == 1 {
				c.resume(all[0], `{"decision":"approve"}`).ok()
				c.becomes(all[0], "completed")
			}
			if o["status"] == "suspended" && i == 4 {
				break
			}
		}
		require.Len(t, all, 5)
		require.Equal(t, all, ids(c.get("/executions").ok()))
		require.Nil(t, c.get("/executions").ok()["next_cursor"])

		var paged []string
		for cursor := ""; ; {
			o := c.at(len(paged)).get("/executions?limit=2&cursor=" + cursor).ok()
			require.LessOrEqual(t, len(ids(o)), 2)
			paged = append(paged, ids(o)...)
			if cursor = o.text("next_cursor"); cursor == "" {
				break
			}
		}
		require.Equal(t, all, paged)

		require.Equal(t, all[:1], ids(c.get("/executions?status=suspended").ok()))
		require.Equal(t, []string{all[1], all[3], all[4]}, ids(c.get("/executions?status=completed").ok()))
		require.Equal(t, []string{all[2]}, ids(c.get("/executions?status=error").ok()))
		require.Empty(t, ids(c.get("/executions?status=running").ok()))
		require.Equal(t, []string{all[0], all[2], all[4]}, ids(c.get("/executions?session_id=s0").ok()))
		require.Equal(t, []string{all[2]}, ids(c.get("/executions?session_id=s0&status=error").ok()))
		require.Equal(t, all[:2], ids(c.get("/executions?workspace_id=default&limit=2").ok()))
		require.Empty(t, ids(c.get("/executions?session_id=none").ok()))

		waiting := c.get("/executions?status=suspended").ok().list("executions")[0]
		require.Equal(t, "CLM-4821", waiting.at("suspend_context")["claim_id"])
		require.Equal(t, "A refund above the limit", waiting["suspend_reason"])
		require.Equal(t, "4", waiting.at("input").list("messages")[0]["content"])

		c.get("/executions?status=done").field("INVALID_ATTRIBUTE", "status")
		for _, bad := range []string{"0", "-1", "x", "100000"} {
			c.get("/executions?limit="+bad).field("INVALID_ATTRIBUTE", "limit")
		}
		c.get("/executions?cursor=0190163d-8694-739b-aea5-966c26f8ad91").field("INVALID_ATTRIBUTE", "cursor")
		c.get("/executions?workspace_id=nope").code(http.StatusNotFound, "WORKSPACE_NOT_FOUND")
	})
}

// Many that wait are listed page by page, newest first.
func TestSuspendedExecutionsInPages(t *testing.T) {
	t.Parallel()
	w := local(t)
	c := w.anybody()
	var all []string
	for range 5 {
		all = append([]string{c.suspend("both", "x")}, all...)
		c.invoke("echo", "between")
	}
	var paged []string
	for cursor := ""; ; {
		o := c.get("/executions?status=suspended&limit=2&cursor=" + cursor).ok()
		paged = append(paged, ids(o)...)
		if cursor = o.text("next_cursor"); cursor == "" {
			break
		}
	}
	require.Equal(t, all, paged, "each once, though each waits for two decisions")
}

// Executions that other APIs began are executions, too.
func TestExecutionsOfTheClassicAPI(t *testing.T) {
	t.Parallel()
	c := local(t).anybody()
	id := c.do(http.MethodPost, "/threads", "{}").ok().text("thread_id")
	c.do(http.MethodPost, "/threads/"+id+"/runs/wait", `{"assistant_id":"refund","input":{"messages":[{"role":"user","content":"x"}]}}`).is(http.StatusOK)
	e := c.get("/executions").ok().list("executions")[0]
	require.Equal(t, id, e["thread_id"])
	require.Equal(t, "suspended", e["status"])
	require.NotContains(t, e, "session_id")
	c.resume(e.text("execution_id"), `{"decision":"approve"}`).ok()
	require.Equal(t, "Refund Approve.", c.becomes(e.text("execution_id"), "completed")["response"])
}

// EX 4, sessions: runs with their steps, tokens, the slowest step, the time to the first event, and who invoked.
func TestRunsOfASession(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		op := w.person("op", auth.RoleOperator)
		ann := w.person("ann", auth.RoleReviewer)
		c := op.with("X-Session-ID", "s1")
		c.invoke("talker", "hi")
		w.effects.opened("tool Ann")
		id := c.suspend("clerk", "wait Ann, pay Bob")
		ann.resume(id, `{"decision":"approve"}`).ok()
		op.becomes(id, "completed")

		o := ann.at(1).get("/sessions/s1/runs").ok()
		require.Equal(t, "s1", o["session_id"])
		runs := o.list("runs")
		require.Len(t, runs, 3)
		talk, asked, resumed := runs[0], runs[1], runs[2]
		require.Equal(t, "talker", talk["agent"])
		require.Equal(t, talk["run_id"], talk["execution_id"])
		require.Equal(t, map[string]any{"input": 7.0, "output": 3.0, "total": 10.0}, talk["tokens"])
		require.Contains(t, talk.text("invoker_user_id"), "op")
		require.NotNil(t, talk["time_to_first_event_ms"])
		require.Len(t, talk.list("steps"), 1)
		model := talk.list("steps")[0]
		require.Equal(t, "model", model["type"])
		require.Equal(t, "completed", model["status"])
		require.EqualValues(t, 1, model["step_number"])
		require.Equal(t, map[string]any{"input": 7.0, "output": 3.0, "total": 10.0}, model["tokens"])
		require.Contains(t, model, "duration_ms")
		require.Equal(t, "success", talk["status"])

		require.Equal(t, id, asked["execution_id"])
		require.Equal(t, true, asked["suspended"])
		require.Equal(t, id, resumed["execution_id"])
		require.Contains(t, resumed.text("invoker_user_id"), "ann")
		var numbers []any
		for _, run := range runs[1:] {
			longest := 0.0
			for _, s := range run.list("steps") {
				numbers = append(numbers, s["step_number"])
				longest = max(longest, s["duration_ms"].(float64))
			}
			require.Equal(t, longest, run.at("slowest_step")["duration_ms"], o)
		}
		for i, n := range numbers {
			require.EqualValues(t, i+1, n, "numbered through the execution")
		}
		require.Equal(t, ann.execution(id).list("steps"), append(asked.list("steps"), resumed.list("steps")...), "an execution's steps are those of its runs")

		require.Len(t, ann.get("/sessions/s1/runs?limit=1").ok().list("runs"), 1)
		require.Equal(t, resumed["run_id"], ann.get("/sessions/s1/runs?limit=1").ok().list("runs")[0]["run_id"])
		ann.get("/sessions/s1/runs?limit=0").field("INVALID_ATTRIBUTE", "limit")
		ann.get("/sessions/unknown/runs").code(http.StatusNotFound, "SESSION_NOT_FOUND")
	})
}
