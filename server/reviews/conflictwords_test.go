package reviews_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// D-32: whichever way somebody comes too late, they read who decided which review, how and when; no ids of interrupts.
func TestWhoComesTooLateReadsWhoDecidedWhat(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		op, _, ann, bob := w.staff()
		thread, id := op.question("refund", "Refund")
		r := bob.get("/reviews/" + id).ok()
		decided := ann.post("/reviews/"+id+"/decide", `{"decision":"approve"}`).ok()
		op.idle(thread)
		want := "eview " + id + " was decided by ann (Approve) at " + decided.at("decided").text("at")
		interrupt := r.text("interrupt_id")
		late := map[string]string{
			"decide": bob.post("/reviews/"+id+"/decide", `{"decision":"reject"}`).code(http.StatusConflict, "ALREADY_DECIDED").text("detail"),
			"claim":  bob.post("/reviews/"+id+"/claim", "").code(http.StatusConflict, "REVIEW_CLOSED").text("detail"),
			"resume": bob.post("/executions/"+r.text("execution_id")+"/resume?workspace_id=default", `{"decision":"reject"}`).
				code(http.StatusConflict, "EXECUTION_NOT_SUSPENDED").text("detail"),
			"classic": bob.do(http.MethodPost, "/threads/"+thread+"/runs", `{"assistant_id":"refund","command":{"resume":{"`+interrupt+`":{"decision":"reject"}}}}`).
				is(http.StatusConflict).json().text("message"),
			"classic, plain": bob.do(http.MethodPost, "/threads/"+thread+"/runs", `{"assistant_id":"refund","command":{"resume":{"decision":"reject"}}}`).
				is(http.StatusConflict).json().text("message"),
			"v2": bob.do(http.MethodPost, "/threads/"+thread+"/commands", `{"id":1,"method":"input.respond","params":{"interrupt_id":"`+interrupt+`","response":{"decision":"reject"}}}`).
				ok().text("message"),
		}
		for way, text := range late {
			require.Contains(t, text, want, way)
			require.NotContains(t, text, interrupt, way)
		}
	})
}

// Who finds a review claimed reads by whom and until when.
func TestWhoFindsAReviewClaimedReadsByWhom(t *testing.T) {
	t.Parallel()
	w := single(t)
	op, _, ann, bob := w.staff()
	_, id := op.question("refund", "Refund")
	until := ann.post("/reviews/"+id+"/claim", "").ok().text("claimed_until")
	require.NotEmpty(t, until)
	for _, path := range []string{"/decide", "/claim"} {
		body := `{}`
		if path == "/decide" {
			body = `{"decision":"approve"}`
		}
		require.Equal(t, "Review "+id+" is claimed by ann until "+until+".", bob.post("/reviews/"+id+path, body).code(http.StatusConflict, "REVIEW_CLAIMED").text("detail"))
	}
}

// A deadline is nobody's decision.
func TestWhoComesBehindTheDeadlineReadsWhenItWas(t *testing.T) {
	t.Parallel()
	w := single(t)
	op, _, ann, _ := w.staff()
	thread, id := op.question("hurry", "Refund")
	op.idle(thread)
	for _, path := range []string{"/decide", "/claim"} {
		body := `{}`
		if path == "/decide" {
			body = `{"decision":"approve"}`
		}
		text := ann.post("/reviews/"+id+path, body).is(http.StatusConflict).json().text("detail")
		require.Regexp(t, "^Review "+id+" expired at 20.*Z, before anybody decided[.]$", text, path)
	}
}
