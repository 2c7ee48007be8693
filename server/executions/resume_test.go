package executions_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/server/auth/keys"
)

// EX 1, 2, 5: pause → review → resume → complete. What was done before the pause isn't done again.
func TestARefundIsApproved(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		op, ann, _ := w.staff()
		o := op.post(invokePath, say("refund", "Refund order #98765")).ok()
		require.Equal(t, true, o["success"])
		require.Equal(t, "suspended", o["status"])
		require.Equal(t, "A refund above the limit", o["suspend_reason"])
		want := map[string]any{
			"claim_id": "CLM-4821", "task_description": "Approve refund of $240 for order #98765", "reason": "A refund above the limit",
			"allowed_decisions": []any{"Approve", "Reject"},
		}
		require.Equal(t, want, o["suspend_context"])
		require.Equal(t, "The mail is sent.", o["response"])
		id := o.text("execution_id")
		e := ann.at(1).execution(id)
		require.Equal(t, "suspended", e["status"])
		require.Equal(t, want, e["suspend_context"])
		require.EqualValues(t, 1, e["suspend_generation"])
		require.NotEmpty(t, e["suspended_at"])
		require.Contains(t, e, "waiting_seconds")
		require.Contains(t, e, "expires_at")
		require.Nil(t, e["expires_at"], "never")
		require.Len(t, e.texts("review_ids"), 1)
		require.NotContains(t, e, "completed_at")

		r := ann.at(1).resume(id, `{"decision":"  aPPROVE ","reviewer_notes":"looks fine","suspend_generation":1}`).ok()
		require.Contains(t, []any{"resuming", "completed"}, r["status"])
		require.NotContains(t, r, "suspend_reason")
		e = ann.becomes(id, "completed")
		require.Equal(t, "Refund Approve.", e["response"])
		require.Len(t, e.texts("run_ids"), 2)
		require.Equal(t, id, e.texts("run_ids")[0])
		require.Equal(t, 1, w.effects.count("mail "+e.text("thread_id")), "the mail went out before the pause, and not again")
		values := op.do(http.MethodGet, "/threads/"+e.text("thread_id")+"/state", "").ok().at("values")
		require.Equal(t, map[string]any{"decision": "Approve", "notes": "looks fine", "reviewer": "key:ann"}, map[string]any(withKeyName(values.at("answer"))), "spelt as declared")
	})
}

// withKeyName shortens the principal of a key to its name.
func withKeyName(answer object) object {
	if r := answer.text("reviewer"); r != "" {
		answer["reviewer"] = "key:ann"
	}
	return answer
}

// EX 1: suspended → resuming → suspended → resuming …; the generation grows with each suspension.
func TestAnyNumberOfSuspensions(t *testing.T) {
	t.Parallel()
	c := local(t).anybody()
	id := c.suspend("twice", "x")
	first := c.execution(id)
	c.resume(id, `{"decision":"approve"}`).ok()
	var second object
	c.until("it asks again", func() bool {
		second = c.execution(id)
		return second["status"] == "suspended" && second["suspend_generation"] != first["suspend_generation"]
	})
	require.Greater(t, second["suspend_generation"], first["suspend_generation"])
	require.NotEqual(t, first["review_ids"], second["review_ids"])
	o := c.resume(id, `{"decision":"approve","suspend_generation":1}`).code(http.StatusConflict, "GENERATION_CHANGED")
	require.Equal(t, second["suspend_generation"], o["suspend_generation"], "the current one is told")
	require.Equal(t, []any{second["suspend_generation"]}, o["parameters"])
	c.resume(id, `{"decision":"reject","suspend_generation":2}`).ok()
	e := c.becomes(id, "completed")
	require.Equal(t, "Second reject.", e["response"])
	require.Len(t, e.texts("run_ids"), 3)
}

// EX 5: a decision that isn't allowed is refused, and the allowed ones are named.
func TestDecisionsThatAreNotAllowed(t *testing.T) {
	t.Parallel()
	c := local(t).anybody()
	id := c.suspend("refund", "x")
	o := c.resume(id, `{"decision":"maybe"}`).field("DECISION_NOT_ALLOWED", "decision")
	require.Equal(t, []any{"Approve", "Reject"}, o["parameters"])
	require.Contains(t, o["detail"], `"Approve", "Reject"`)
	require.Equal(t, "suspended", c.execution(id)["status"])
}

// EX 5: bodies that are refused, each with the name of the field.
func TestBadDecisionBodies(t *testing.T) {
	t.Parallel()
	c := local(t).anybody()
	id := c.suspend("refund", "x")
	for body, want := range map[string][2]string{
		`{}`:                       {"MISSING_ATTRIBUTE", "decision"},
		`{"decision":null}`:        {"MISSING_ATTRIBUTE", "decision"},
		`{"decision":""}`:          {"INVALID_ATTRIBUTE", "decision"},
		`{"decision":"  "}`:        {"INVALID_ATTRIBUTE", "decision"},
		`{"decision":7}`:           {"INVALID_ATTRIBUTE", "decision"},
		`{"decision":["approve"]}`: {"INVALID_ATTRIBUTE", "decision"},
		`{"decision":"approve","reviewer_notes":7}`:         {"INVALID_ATTRIBUTE", "reviewer_notes"},
		`{"decision":"approve","suspend_generation":"one"}`: {"INVALID_ATTRIBUTE", "suspend_generation"},
		`{"decision":"approve","suspend_generation":0}`:     {"INVALID_ATTRIBUTE", "suspend_generation"},
		`{"decision":"approve","suspend_generation":1.5}`:   {"INVALID_ATTRIBUTE", "suspend_generation"},
		`{"decision":"approve","reviewer":"the boss"}`:      {"UNKNOWN_ATTRIBUTE", "reviewer"}, // D-102
		`{"decision":"approve","force":true}`:               {"UNKNOWN_ATTRIBUTE", "force"},
	} {
		c.resume(id, body).field(want[0], want[1])
	}
	o := c.resume(id, `{"human_review":{"decision":"approve"}}`).field("UNKNOWN_ATTRIBUTE", "human_review")
	require.Contains(t, o["detail"], "flat body")
	o = c.resume(id, `{"decision":"approve","human_review":{"decision":"approve"}}`).field("UNKNOWN_ATTRIBUTE", "human_review")
	require.Contains(t, o["detail"], "flat body")
	c.resume(id, `"approve"`).code(http.StatusBadRequest, "INVALID_ATTRIBUTE")
	c.resume(id, `{"decision"`).code(http.StatusBadRequest, "MALFORMED_JSON")
	require.Equal(t, "suspended", c.execution(id)["status"])
}

// EX 5: what isn't suspended takes no decision; if it was decided, it is told by whom, when and what.
func TestExecutionsThatAreNotSuspended(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		op, ann, bob := w.staff()
		o := ann.resume(op.invoke("echo", "x").text("execution_id"), `{"decision":"approve"}`).code(http.StatusConflict, "EXECUTION_NOT_SUSPENDED")
		require.Equal(t, "completed", o["status"])
		require.Equal(t, []any{"completed"}, o["parameters"])
		require.NotContains(t, o, "decided")

		running := op.post("/executions?workspace_id=default", say("slow", "x")).is(http.StatusAccepted).json()
		o = ann.at(1).resume(running.text("execution_id"), `{"decision":"approve"}`).code(http.StatusConflict, "EXECUTION_NOT_SUSPENDED")
		require.Contains(t, []any{"pending", "running"}, o["status"])
		w.effects.opened("node " + running.text("thread_id"))

		id := op.suspend("refund", "x")
		ann.resume(id, `{"decision":"approve","reviewer_notes":"n"}`).ok()
		op.becomes(id, "completed")
		o = bob.at(1).resume(id, `{"decision":"reject"}`).code(http.StatusConflict, "EXECUTION_NOT_SUSPENDED")
		require.Equal(t, "completed", o["status"])
		decided := o.at("decided")
		require.Equal(t, "Approve", decided["decision"])
		require.Contains(t, decided.text("by"), "ann")
		at, err := time.Parse(time.RFC3339, decided.text("at"))
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), at, 5*time.Minute)
		o = bob.resume(id, `{"decision":"approve"}`).code(http.StatusConflict, "EXECUTION_NOT_SUSPENDED")
		require.Contains(t, o.at("decided").text("by"), "ann", "an equal decision of somebody else is no repeat")
	})
}

// EX 5: the same decision again by the same reviewer gets the first answer again (decisions 8: notes aren't compared).
func TestTheSameDecisionAgain(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		op, ann, _ := w.staff()
		id := op.suspend("refund", "x")
		ann.resume(id, `{"decision":"approve","reviewer_notes":"a"}`).ok()
		ann.at(1).resume(id, `{"decision":"APPROVE","reviewer_notes":"b"}`).ok()
		e := op.becomes(id, "completed")
		r := ann.resume(id, `{"decision":"Approve","suspend_generation":1}`).ok()
		require.Equal(t, "completed", r["status"])
		require.Len(t, op.execution(id).texts("run_ids"), 2)
		require.Equal(t, 1, w.effects.count("Approve "+e.text("thread_id")))
		ann.resume(id, `{"decision":"reject"}`).code(http.StatusConflict, "EXECUTION_NOT_SUSPENDED")
	})
}

// EX 5, Idempotency-Key: the repeat of a decision is never taken for one on what was asked since.
func TestARepeatWithAKeyDecidesNothingElse(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		c := w.anybody().with("Idempotency-Key", "k1")
		id := c.suspend("twice", "x")
		c.resume(id, `{"decision":"approve"}`).ok()
		c.until("it asks again", func() bool { return c.execution(id)["suspend_generation"] == float64(2) })
		require.Equal(t, "suspended", c.at(1).resume(id, `{"decision":"approve"}`).ok()["status"])
		require.Equal(t, "suspended", c.execution(id)["status"])
		c.with("Idempotency-Key", "k2").resume(id, `{"decision":"approve"}`).ok()
		require.Equal(t, "Second approve.", c.becomes(id, "completed")["response"])
	})
}

// Issue 6, "two reviewers can't both decide": one of many is accepted, all others are told who and what.
func TestConcurrentDecisions(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		op, ann, bob := w.staff()
		id := op.suspend("refund", "x")
		var wg sync.WaitGroup
		answers := make([]answer, 12)
		for i := range answers {
			c, body := ann, `{"decision":"approve"}`
			if i%2 == 1 {
				c, body = bob, `{"decision":"reject"}`
			}
			wg.Go(func() { answers[i] = c.at(i).resume(id, body) })
		}
		wg.Wait()
		accepted := [2]int{}
		for i, a := range answers {
			if a.status == http.StatusOK {
				accepted[i%2]++
				continue
			}
			o := a.code(http.StatusConflict, "EXECUTION_NOT_SUSPENDED")
			require.NotEmpty(t, o.at("decided")["by"], a.body)
			require.NotEmpty(t, o.at("decided")["decision"])
		}
		e := op.becomes(id, "completed")
		require.Contains(t, [][2]int{{6, 0}, {0, 6}}, accepted, "the same decision again is a repeat, the other one is too late")
		require.Equal(t, 1, w.effects.count("Approve "+e.text("thread_id"))+w.effects.count("Reject "+e.text("thread_id")))
		require.Len(t, e.texts("run_ids"), 2)
	})
}

// decisions 14: several reviews wait → the flat decision doesn't say which one it is for.
func TestSeveralReviewsWait(t *testing.T) {
	t.Parallel()
	c := local(t).anybody()
	id := c.suspend("both", "x")
	e := c.execution(id)
	o := c.resume(id, `{"decision":"yes"}`).code(http.StatusConflict, "SEVERAL_REVIEWS")
	require.ElementsMatch(t, e.texts("review_ids"), o.texts("review_ids"))
	require.ElementsMatch(t, e.texts("review_ids"), o.texts("parameters"))
	c.post("/reviews/"+e.texts("review_ids")[0]+"/decide", `{"decision":"yes"}`).ok()
	c.until("one is left", func() bool { e = c.execution(id); return e["status"] == "suspended" && len(e.texts("review_ids")) == 1 })
	c.resume(id, `{"decision":"no"}`).ok()
	c.becomes(id, "completed")
}

// EX 5: the workspace is missing, or not the execution's.
func TestResumeWantsTheWorkspace(t *testing.T) {
	t.Parallel()
	c := local(t).anybody()
	id := c.suspend("refund", "x")
	c.post("/executions/"+id+"/resume", `{"decision":"approve"}`).field("MISSING_ATTRIBUTE", "workspace_id")
	c.post("/executions/"+id+"/resume?workspace_id=other", `{"decision":"approve"}`).code(http.StatusNotFound, "EXECUTION_NOT_FOUND")
}

// EX 5: unknown and invisible projects and executions are the same to a caller.
func TestUnknownAndInvisible(t *testing.T) {
	t.Parallel()
	w := local(t)
	op, ann, _ := w.staff()
	stranger := w.holder(keys.Request{Name: "stranger", Roles: []string{auth.RoleOwner}, Project: "other"})
	id := op.suspend("refund", "x")
	unknown := "0190163d-8694-739b-aea5-966c26f8ad91"
	for _, c := range []struct {
		c      *client
		id     string
		code   string
		prefix string
	}{
		{ann, unknown, "EXECUTION_NOT_FOUND", ann.base},
		{ann, "nonsense", "EXECUTION_NOT_FOUND", ann.base},
		{stranger, id, "EXECUTION_NOT_FOUND", stranger.base},
		{stranger, id, "PROJECT_NOT_FOUND", ann.base},
		{ann, id, "PROJECT_NOT_FOUND", "/api/v1/projects/unknown"},
	} {
		role := c.c
		role.do(http.MethodGet, c.prefix+"/executions/"+c.id, "").code(http.StatusNotFound, c.code)
		role.do(http.MethodPost, c.prefix+"/executions/"+c.id+"/resume?workspace_id=default", `{"decision":"approve"}`).code(http.StatusNotFound, c.code)
		if role == stranger {
			role.do(http.MethodPost, c.prefix+"/executions/"+c.id+"/interrupt", `{}`).code(http.StatusNotFound, c.code)
		}
	}
	resumed := op.execution(id).texts("run_ids")
	require.Len(t, resumed, 1)
	ann.resume(resumed[0], `{"decision":"approve"}`).ok()
	e := op.becomes(id, "completed")
	op.get("/executions/"+e.texts("run_ids")[1]).code(http.StatusNotFound, "EXECUTION_NOT_FOUND")
	require.Empty(t, stranger.get("/executions").ok().list("executions"))
}

// EX 5: no credentials → 401; not allowed → 403: the role PROJECT_OWNER, or a reviewer's for this agent.
func TestWhoMayResume(t *testing.T) {
	t.Parallel()
	w := local(t)
	op := w.person("op", auth.RoleOperator)
	id := op.suspend("refund", "x")
	body := `{"decision":"approve"}`
	a := (&client{w: w, t: t, base: op.base}).resume(id, body)
	a.code(http.StatusUnauthorized, "UNAUTHENTICATED")
	require.NotEmpty(t, a.header.Get("WWW-Authenticate"))
	op.resume(id, body).code(http.StatusForbidden, "MISSING_ROLE")
	w.person("viewer", auth.RoleViewer).resume(id, body).code(http.StatusForbidden, "MISSING_ROLE")
	w.person("other", "reviewer:twice").resume(id, body).code(http.StatusForbidden, "NOT_A_REVIEWER")
	w.holder(keys.Request{Name: "robot", Roles: []string{auth.RoleOwner}, Agent: true}).resume(id, body).code(http.StatusForbidden, "AGENT_CANNOT_DECIDE") // D-102
	mine := w.person("boss", "PROJECT_OWNER")
	own := mine.suspend("refund", "y")
	mine.resume(own, body).code(http.StatusForbidden, "SELF_APPROVAL") // D-102: requester ≠ approver
	require.Equal(t, "suspended", op.execution(id)["status"])
	w.person("theirs", "reviewer:refund").resume(id, body).ok()
	w.person("owner", "PROJECT_OWNER").resume(own, body).ok()
	op.becomes(own, "completed")
}

// D-104: an expired question is an outcome of its own, of nobody, and the execution's end says so.
func TestAnExpiredReview(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		op, ann, _ := w.staff()
		id := op.suspend("hurry", "x")
		e := op.execution(id)
		if e["status"] == "suspended" { // D-96: the deadline is in it
			expires, err := time.Parse(time.RFC3339, e.text("expires_at"))
			require.NoError(t, err)
			suspended, err := time.Parse(time.RFC3339, e.text("suspended_at"))
			require.NoError(t, err)
			require.Equal(t, time.Second, expires.Sub(suspended))
		}
		e = op.becomes(id, "error")
		require.Equal(t, "review_expired", e["error_code"])
		require.Equal(t, "Hurry expired.", e["response"], "the agent went on, and said so")
		require.Len(t, e.texts("run_ids"), 2)
		o := ann.resume(id, `{"decision":"approve"}`).code(http.StatusConflict, "EXECUTION_NOT_SUSPENDED")
		require.Equal(t, "error", o["status"])
		require.Nil(t, o.at("decided")["by"])
		require.Equal(t, "expired", o.at("decided")["status"])
	})
}

// D-106: the decision is stored when it is acknowledged.
func TestAnAcceptedDecisionIsStored(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		op, ann, _ := w.staff()
		id := op.suspend("refund", "x")
		review := op.execution(id).texts("review_ids")[0]
		ann.resume(id, `{"decision":"reject","reviewer_notes":"too much"}`).ok()
		r, err := w.servers[0].Service().Review(t.Context(), review)
		require.NoError(t, err)
		require.NotNil(t, r.Decided)
		require.Equal(t, "Reject", r.Decided.Decision)
		require.Equal(t, "too much", r.Decided.Notes)
		op.becomes(id, "completed")
	})
}

// decisions 13: new input of another API takes the question's place, and the execution ends superseded.
func TestASupersededExecution(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		c := w.anybody()
		id := c.suspend("refund", "x")
		e := c.execution(id)
		c.do(http.MethodPost, "/threads/"+e.text("thread_id")+"/runs/wait", `{"assistant_id":"echo","input":{"messages":[{"role":"user","content":"forget it"}]}}`).is(http.StatusOK)
		e = c.execution(id)
		require.Equal(t, "error", e["status"])
		require.Equal(t, "superseded", e["error_code"])
		require.NotEmpty(t, e["completed_at"])
		o := c.resume(id, `{"decision":"approve"}`).code(http.StatusConflict, "EXECUTION_NOT_SUSPENDED")
		require.Equal(t, "error", o["status"])
	})
}

// Somebody who has claimed a review isn't passed over.
func TestAClaimedReview(t *testing.T) {
	t.Parallel()
	w := local(t)
	op, ann, bob := w.staff()
	id := op.suspend("refund", "x")
	ann.post("/reviews/"+op.execution(id).texts("review_ids")[0]+"/claim", `{}`).ok()
	o := bob.resume(id, `{"decision":"approve"}`).code(http.StatusConflict, "REVIEW_CLAIMED")
	require.Contains(t, o.text("assignee"), "ann")
	ann.resume(id, `{"decision":"approve"}`).ok()
	op.becomes(id, "completed")
}

// EX 5: an answer of any other API counts as well (design 8), and its author is told.
func TestADecisionOfTheClassicAPI(t *testing.T) {
	t.Parallel()
	c := local(t).anybody()
	id := c.suspend("refund", "x")
	e := c.execution(id)
	c.do(http.MethodPost, "/threads/"+e.text("thread_id")+"/runs/wait", `{"assistant_id":"refund","command":{"resume":{"decision":"Reject"}}}`).is(http.StatusOK)
	e = c.execution(id)
	require.Equal(t, "completed", e["status"])
	require.Equal(t, "Refund Reject.", e["response"])
	require.Len(t, e.texts("run_ids"), 2)
}
