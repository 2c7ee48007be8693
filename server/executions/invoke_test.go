package executions_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/auth/keys"
	"github.com/parley-dev/parley/thread"
)

// EX 4, invoke: it waits for the end; the message becomes the user's, the response is what the agent said last.
func TestInvokeWaitsForTheEnd(t *testing.T) {
	t.Parallel()
	on(t, func(_ *testing.T, w *world) {
		c := w.anybody()
		a := c.post(invokePath, `{"message":"hello"}`).is(http.StatusOK)
		o := a.json()
		require.Equal(t, object{
			"success": true, "response": "You said: hello", "status": "completed",
			"execution_id": o["execution_id"], "session_id": o["session_id"],
		}, o)
		require.Equal(t, o["session_id"], a.header.Get("X-Session-ID"), "a fresh session is told")
		e := c.execution(o.text("execution_id"))
		require.Equal(t, "completed", e["status"])
		require.Equal(t, "echo", e["agent"], "the server's first")
		require.Equal(t, "default", e["project_id"])
		require.Equal(t, "default", e["workspace_id"])
		require.Equal(t, "You said: hello", e["response"])
		require.Equal(t, []string{o.text("execution_id")}, e.texts("run_ids"), "the execution's id is that of its first run")
		require.NotEmpty(t, e["completed_at"])
		said := e.at("input").list("messages")
		require.Len(t, said, 1)
		require.Equal(t, "hello", said[0]["content"])
		for _, absent := range []string{"suspend_reason", "suspend_context", "suspended_at", "suspend_generation", "error", "error_code", "waiting_seconds", "expires_at"} {
			require.NotContains(t, e, absent)
		}
	})
}

// decisions 19: the thread's id is a UUIDv5 of project and session, and a session goes on.
func TestASessionIsAConversation(t *testing.T) {
	t.Parallel()
	w := local(t)
	c := w.anybody().with("X-Session-ID", "order-98765_a")
	first, second := c.invoke("echo", "one"), c.invoke("echo", "two")
	require.Equal(t, "order-98765_a", first["session_id"])
	e1, e2 := c.execution(first.text("execution_id")), c.execution(second.text("execution_id"))
	require.Equal(t, e1["thread_id"], e2["thread_id"])
	id := uuid.MustParse(e1.text("thread_id"))
	require.EqualValues(t, 5, id.Version())
	require.Equal(t, thread.SessionThread("default", "order-98765_a"), id.String())
	require.NotEqual(t, id.String(), thread.SessionThread("other", "order-98765_a"))
	require.Equal(t, "You said: one", e1["response"], "each execution has its own response")
	require.Equal(t, "You said: two", e2["response"])
	values := c.do(http.MethodGet, "/threads/"+id.String()+"/state", "").ok().at("values")
	require.Len(t, values.list("messages"), 4)
	require.Equal(t, "order-98765_a", c.do(http.MethodGet, "/threads/"+id.String(), "").ok().at("metadata")["session_id"])
}

// Whoever knows how the ids of sessions' threads are made can make threads of those ids in their own project: the session
// has another thread then, and keeps it, whatever becomes of theirs. Nobody learns of anybody.
func TestASessionsThreadCantBeTakenByAnotherProject(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		mallory := w.holder(keys.Request{Project: "other", Name: "mallory", Roles: []string{auth.RoleOwner}})
		victim := w.person("ann", auth.RoleOwner).with("X-Session-ID", "order-1")
		squat := func(id string) {
			mallory.do(http.MethodPost, "/threads", `{"thread_id":"`+id+`"}`).ok()
		}
		first := thread.SessionThread("default", "order-1")
		squat(first)
		e1 := victim.execution(victim.invoke("echo", "one").text("execution_id"))
		require.NotEqual(t, first, e1["thread_id"])
		require.Equal(t, "order-1", e1["session_id"])
		require.Len(t, victim.at(1).get("/executions?session_id=order-1").ok().list("executions"), 1)
		require.Len(t, victim.get("/sessions/order-1/runs").ok().list("runs"), 1)
		for _, path := range []string{"/threads/" + e1.text("thread_id"), "/threads/" + e1.text("thread_id") + "/state"} {
			mallory.do(http.MethodGet, path, "").is(http.StatusNotFound)
		}
		require.Empty(t, mallory.get("/executions?session_id=order-1").ok().list("executions"))
		mallory.do(http.MethodDelete, "/threads/"+first, "").is(http.StatusNoContent)
		e2 := victim.at(1).execution(victim.invoke("echo", "two").text("execution_id"))
		require.Equal(t, e1["thread_id"], e2["thread_id"], "the conversation goes on")
		require.Len(t, victim.get("/sessions/order-1/runs").ok().list("runs"), 2)

		for _, name := range []string{"order-2", "order-2/1", "order-2/2"} {
			squat(thread.SessionThread("default", name))
		}
		taken := victim.with("X-Session-ID", "order-2")
		refused := taken.post(invokePath, say("echo", "x")).field("INVALID_ATTRIBUTE", "X-Session-ID")
		require.NotContains(t, refused["detail"], "mallory")
		taken.post(streamPath, say("echo", "x")).field("INVALID_ATTRIBUTE", "X-Session-ID")
		taken.get("/sessions/order-2/runs").code(http.StatusNotFound, "SESSION_NOT_FOUND")
		require.Empty(t, taken.get("/executions?session_id=order-2").ok().list("executions"))
	})
}

// EX 4: X-Session-ID has 1–128 letters, digits, _ and -.
func TestBadSessionIDsAreRefused(t *testing.T) {
	t.Parallel()
	c := local(t).anybody()
	for _, bad := range []string{"a b", "ä", "a/b", "a.b", strings.Repeat("x", 129)} {
		c.with("X-Session-ID", bad).post(invokePath, `{"message":"x"}`).field("INVALID_ATTRIBUTE", "X-Session-ID")
	}
	c.with("X-Session-ID", strings.Repeat("x", 128)).post(invokePath, `{"message":"x"}`).ok()
}

func TestInvocationBodies(t *testing.T) {
	t.Parallel()
	c := local(t).anybody()
	o := c.post(invokePath, `{"input":{"messages":[{"type":"human","content":"raw"}]},"agent":"`+thread.SystemAssistantID("echo")+`"}`).ok()
	require.Equal(t, "You said: raw", o["response"], "input as it is, an agent by its assistant's id")
	for body, want := range map[string][2]string{
		`{}`:                            {"MISSING_ATTRIBUTE", "message"},
		`{"message":null}`:              {"MISSING_ATTRIBUTE", "message"},
		`{"message":""}`:                {"INVALID_ATTRIBUTE", "message"},
		`{"message":7}`:                 {"INVALID_ATTRIBUTE", "message"},
		`{"input":[]}`:                  {"INVALID_ATTRIBUTE", "input"},
		`{"message":"x","input":{}}`:    {"INVALID_ATTRIBUTE", "input"},
		`{"message":"x","agent":1}`:     {"INVALID_ATTRIBUTE", "agent"},
		`{"message":"x","massage":"y"}`: {"UNKNOWN_ATTRIBUTE", "massage"},
	} {
		c.post(invokePath, body).field(want[0], want[1])
	}
	c.post(invokePath, `[]`).code(http.StatusBadRequest, "INVALID_ATTRIBUTE")
	c.post(invokePath, `{"message":`).code(http.StatusBadRequest, "MALFORMED_JSON")
	c.post(invokePath, say("nobody", "x")).code(http.StatusNotFound, "AGENT_NOT_FOUND")
}

// EX 1: a run that fails ends in error, and says why.
func TestAFailedExecution(t *testing.T) {
	t.Parallel()
	c := local(t).anybody()
	o := c.post(invokePath, say("fail", "x")).ok()
	require.Equal(t, false, o["success"])
	require.Equal(t, "error", o["status"])
	require.Equal(t, "run_failed", o["error_code"])
	require.Equal(t, "BankError: The bank is closed.", o["error"])
	e := c.execution(o.text("execution_id"))
	require.Equal(t, "error", e["status"])
	require.Equal(t, "run_failed", e["error_code"])
	require.NotEmpty(t, e["completed_at"])
	require.NotContains(t, e, "response")
}

// EX 4, POST executions: 202, without waiting.
func TestCreateDoesNotWait(t *testing.T) {
	t.Parallel()
	w := local(t)
	c := w.anybody().with("X-Session-ID", "s")
	a := c.post("/executions?workspace_id=default", say("slow", "x")).is(http.StatusAccepted)
	e := a.json()
	require.Contains(t, []any{"pending", "running"}, e["status"])
	require.Equal(t, "s", e["session_id"])
	require.Equal(t, "/api/v1/projects/default/executions/"+e.text("execution_id"), a.header.Get("Location"))
	c.becomes(e.text("execution_id"), "running")
	c.post(invokePath, say("echo", "x")).code(http.StatusConflict, "SESSION_BUSY")
	w.effects.opened("node " + e.text("thread_id"))
	c.becomes(e.text("execution_id"), "completed")
	c.post("/executions", say("echo", "x")).field("MISSING_ATTRIBUTE", "workspace_id")
	c.post("/executions?workspace_id=nope", say("echo", "x")).code(http.StatusNotFound, "WORKSPACE_NOT_FOUND")
}

// decisions 19: a suspended session takes no invocation, and says which reviews it waits for.
func TestInvokeOnASuspendedSession(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		c := w.anybody().with("X-Session-ID", "s")
		id := c.suspend("both", "x")
		e := c.execution(id)
		require.Len(t, e.texts("review_ids"), 2)
		for _, path := range []string{invokePath, streamPath, "/executions?workspace_id=default"} {
			o := c.at(1).post(path, say("echo", "again")).code(http.StatusConflict, "SESSION_SUSPENDED")
			require.ElementsMatch(t, e.texts("review_ids"), o.texts("review_ids"), path)
			require.ElementsMatch(t, e.texts("review_ids"), o.texts("parameters"))
			require.Equal(t, "suspended", o["status"])
		}
		require.Equal(t, "suspended", c.execution(id)["status"])
		c.with("X-Session-ID", "other").invoke("echo", "fine")
	})
}

// A repeated invocation gets the first one's execution, also once that waits for a decision.
func TestInvocationsWithAKeyAreRepeatable(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		c := w.anybody().with("X-Session-ID", "s").with("Idempotency-Key", "k1")
		id := c.suspend("refund", "x")
		require.Equal(t, id, c.at(1).suspend("refund", "x"))
		require.Equal(t, 1, w.effects.count("mail "+thread.SessionThread("default", "s")))
		require.Len(t, c.get("/executions?session_id=s").ok().list("executions"), 1)
		c.with("Idempotency-Key", "k2").post(invokePath, say("refund", "x")).code(http.StatusConflict, "SESSION_SUSPENDED")
	})
}

// EX 4: the workspace's agent, and workspaces of the options and of keys.
func TestWorkspaces(t *testing.T) {
	t.Parallel()
	w := local(t, func(o *server.Options) {
		o.Projects = map[string]server.Project{"default": {Workspaces: map[string]server.Workspace{"refunds": {Agent: "refund"}, "empty": {}}}}
	})
	bound := w.holder(keys.Request{Name: "bound", Roles: []string{auth.RoleOwner}, Workspace: "night"})
	c := w.person("boss", auth.RoleOwner)
	o := c.with("X-Session-ID", "s").post("/workspaces/refunds/invoke", `{"message":"x"}`).ok()
	require.Equal(t, "suspended", o["status"])
	e := c.execution(o.text("execution_id"))
	require.Equal(t, "refund", e["agent"])
	require.Equal(t, "refunds", e["workspace_id"])
	c.post("/workspaces/empty/invoke", `{"message":"x"}`).field("MISSING_ATTRIBUTE", "agent")
	require.Equal(t, "echo", c.execution(c.post("/workspaces/empty/invoke", say("echo", "x")).ok().text("execution_id"))["agent"])
	c.post("/workspaces/unknown/invoke", `{"message":"x"}`).code(http.StatusNotFound, "WORKSPACE_NOT_FOUND")
	c.with("X-Session-ID", "s").post("/workspaces/empty/invoke", say("echo", "x")).code(http.StatusConflict, "SESSION_OF_OTHER_WORKSPACE")

	o = bound.post("/workspaces/night/invoke", say("echo", "x")).ok()
	require.Equal(t, "night", bound.execution(o.text("execution_id"))["workspace_id"])
	bound.post(invokePath, `{"message":"x"}`).is(http.StatusNotFound)
	bound.get("/executions/"+e.text("execution_id")).code(http.StatusNotFound, "EXECUTION_NOT_FOUND")
	require.Len(t, bound.get("/executions").ok().list("executions"), 1, "of its workspace only")
	bound.get("/executions?workspace_id=refunds").is(http.StatusNotFound)
	bound.get("/sessions/s/runs").code(http.StatusNotFound, "SESSION_NOT_FOUND")
}

// EX 4: the version pin. Known or absent → served; unknown → 406.
func TestVersionPin(t *testing.T) {
	t.Parallel()
	c := local(t).anybody()
	for accept, status := range map[string]int{
		"application/vnd.agent-engine-2026-06-30-preview+json":        200,
		"application/vnd.agent-engine-2025-01-01-preview+json":        200,
		"application/vnd.agent-engine-2026-11-30-preview+json; q=0.9": 200,
		"APPLICATION/VND.agent-engine-2026-06-30-preview+json":        200,
		"application/json": 200,
		"*/*":              200,
		"application/vnd.agent-engine-2099-01-01-preview+json, application/json": 200,
		"application/vnd.agent-engine-2099-01-01-preview+json":                   406,
		"application/vnd.agent-engine-1999-01-01-preview+json":                   406,
		"application/vnd.agent-engine-2026-02-30-preview+json":                   406,
		"application/vnd.agent-engine-latest-preview+json":                       406,
		"application/vnd.agent-engine-2026-06-30+json":                           406,
	} {
		a := c.with("Accept", accept).get("/executions")
		a.is(status)
		if status == http.StatusNotAcceptable {
			a.code(status, "INVALID_VERSION_DATE")
		}
	}
	id := c.invoke("echo", "x").text("execution_id")
	pinned := c.with("Accept", "application/vnd.agent-engine-2099-01-01-preview+json")
	for _, a := range []answer{
		pinned.post(invokePath, `{"message":"x"}`), pinned.post(streamPath, `{"message":"x"}`), pinned.get("/executions/" + id),
		pinned.resume(id, `{"decision":"x"}`), pinned.post("/executions/"+id+"/interrupt", "{}"), pinned.post("/executions?workspace_id=default", `{"message":"x"}`),
		pinned.get("/sessions/s/runs"),
	} {
		a.code(http.StatusNotAcceptable, "INVALID_VERSION_DATE")
	}
}

// EX 4: custom headers reach the agent of that request, with either prefix; they aren't kept over a suspension (D-75),
// not stored, and not copied to where other headers go.
func TestCustomHeadersAreOfOneRequest(t *testing.T) {
	t.Parallel()
	for prefix, resent := range map[string]bool{"X-Mdb-Agent-Engine-Custom-": false, "X-Parley-Custom-": true} {
		w := local(t)
		c := w.anybody()
		with := c.with(prefix+"Authorization", "Bearer secret-7")
		id := with.suspend("header", "x")
		back := c
		if resent {
			back = with
		}
		back.resume(id, `{"decision":"approve"}`).ok()
		e := c.becomes(id, "completed")
		state := c.do(http.MethodGet, "/threads/"+e.text("thread_id")+"/state", "").ok()
		want := []string{"Bearer secret-7", ""}
		if resent {
			want[1] = want[0]
		}
		require.Equal(t, want, state.at("values").texts("seen"))
		runs := c.do(http.MethodGet, "/threads/"+e.text("thread_id")+"/runs", "").is(http.StatusOK).body
		require.NotContains(t, runs, "secret-7")
		require.NotContains(t, strings.ToLower(runs), "custom-authorization")
	}
}

// The classic API gives agents custom headers, too, and stores none.
func TestCustomHeadersOfTheClassicAPI(t *testing.T) {
	t.Parallel()
	w := local(t, func(o *server.Options) { o.CustomHeaders = []string{"X-Acme-"} })
	c := w.anybody().with("X-Acme-Authorization", "secret-8").with("X-Trace", "t1")
	id := c.do(http.MethodPost, "/threads", "{}").ok().text("thread_id")
	c.do(http.MethodPost, "/threads/"+id+"/runs/wait", `{"assistant_id":"header","input":{}}`).is(http.StatusOK)
	require.Equal(t, []string{"secret-8"}, c.do(http.MethodGet, "/threads/"+id+"/state", "").ok().at("values").texts("seen"))
	runs := c.do(http.MethodGet, "/threads/"+id+"/runs", "").is(http.StatusOK).body
	require.Contains(t, runs, "t1")
	require.NotContains(t, runs, "secret-8")
}

// A call that takes long is kept alive by white space, which is legal before JSON.
func TestALongInvocationIsKeptAlive(t *testing.T) {
	t.Parallel()
	w := local(t)
	c := w.anybody().with("X-Session-ID", "s")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	res := c.open(ctx, http.MethodPost, c.base+invokePath, say("slow", "x"))
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Equal(t, "s", res.Header.Get("X-Session-ID"))
	first := make([]byte, 1)
	_, err := io.ReadFull(res.Body, first)
	require.NoError(t, err)
	require.Equal(t, "\n", string(first), "while the agent still works")
	w.effects.opened("node " + thread.SessionThread("default", "s"))
	rest, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, "completed", answer{t, res.StatusCode, res.Header, string(rest)}.json()["status"])
}

// EX 4: an agent that belongs to another project isn't there.
func TestAssistantsOfOtherProjectsAreNotThere(t *testing.T) {
	t.Parallel()
	w := local(t)
	red := w.holder(keys.Request{Name: "red", Roles: []string{auth.RoleOwner}, Project: "red"})
	blue := w.holder(keys.Request{Name: "blue", Roles: []string{auth.RoleOwner}, Project: "blue"})
	mine := red.do(http.MethodPost, "/assistants", `{"graph_id":"echo"}`).ok().text("assistant_id")
	require.Equal(t, "You said: x", red.post(invokePath, say(mine, "x")).ok()["response"])
	blue.post(invokePath, say(mine, "x")).code(http.StatusNotFound, "AGENT_NOT_FOUND")
}

// decisions 19: of many invocations at once one is taken, and what it asks isn't dropped by another, whichever replica is asked.
func TestConcurrentInvocationsOfASession(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		c := w.anybody().with("X-Session-ID", "s")
		for range 5 {
			var wg sync.WaitGroup
			answers := make([]answer, 8)
			for i := range answers {
				wg.Go(func() { answers[i] = c.at(i).post(invokePath, say("free", "x")) })
			}
			wg.Wait()
			var taken []string
			for _, a := range answers {
				if a.status == http.StatusOK {
					require.Equal(t, "suspended", a.json()["status"], a.body)
					taken = append(taken, a.json().text("execution_id"))
					continue
				}
				a.is(http.StatusConflict)
				require.Contains(t, []any{"SESSION_BUSY", "SESSION_SUSPENDED"}, a.json()["errorCode"])
			}
			require.Len(t, taken, 1)
			require.Equal(t, "suspended", c.execution(taken[0])["status"])
			c.resume(taken[0], `{"decision":"yes"}`).ok()
			c.becomes(taken[0], "completed")
		}
	})
}
