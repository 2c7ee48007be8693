package executions_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// EX 3: how an interrupt becomes a suspension, and a decision an answer.
func TestHowInterruptsBecomeSuspensions(t *testing.T) {
	t.Parallel()
	c := local(t).anybody()
	answer := func(e object) any {
		return c.do(http.MethodGet, "/threads/"+e.text("thread_id")+"/state", "").ok().at("values")["answer"]
	}

	t.Run("an object is the context", func(t *testing.T) {
		id := c.suspend("object", "x")
		e := c.execution(id)
		require.Equal(t, "Too much", e["suspend_reason"])
		require.Equal(t, "C1", e.at("suspend_context")["claim_id"])
		require.Equal(t, []any{"Yes", "No"}, e.at("suspend_context")["allowed_decisions"])
		c.resume(id, `{"decision":"maybe"}`).field("DECISION_NOT_ALLOWED", "decision")
		c.resume(id, `{"decision":"YES","reviewer_notes":"n"}`).ok()
		require.Equal(t, map[string]any{"decision": "Yes", "reviewer_notes": "n"}, answer(c.becomes(id, "completed")))
	})
	t.Run("any other value stands under value", func(t *testing.T) {
		id := c.suspend("plain", "x")
		e := c.execution(id)
		require.Equal(t, map[string]any{"value": "Shall I?"}, e["suspend_context"])
		require.NotContains(t, e, "suspend_reason")
		c.resume(id, `{"decision":"sure"}`).ok()
		require.Equal(t, map[string]any{"decision": "sure"}, answer(c.becomes(id, "completed")))
	})
	t.Run("without allowed decisions any that isn't empty will do", func(t *testing.T) {
		id := c.suspend("free", "x")
		require.NotContains(t, c.execution(id).at("suspend_context"), "allowed_decisions")
		c.resume(id, `{"decision":" "}`).field("INVALID_ATTRIBUTE", "decision")
		c.resume(id, `{"decision":"ask again tomorrow"}`).ok()
		require.Equal(t, "Free ask again tomorrow.", c.becomes(id, "completed")["response"])
	})
	t.Run("a form is approved as it is shown", func(t *testing.T) {
		id := c.suspend("booking", "x")
		e := c.execution(id)
		require.Equal(t, "Book seats", e["suspend_reason"])
		require.Equal(t, "booking", e.at("suspend_context")["formType"])
		require.Equal(t, []any{"approve", "reject"}, e.at("suspend_context")["allowed_decisions"])
		c.resume(id, `{"decision":"Approve"}`).ok()
		got, ok := answer(c.becomes(id, "completed")).(map[string]any)
		require.True(t, ok)
		require.EqualValues(t, 2, object(got).at("values")["seats"], got)
	})
}

// EX 3: a review of tool calls shows the calls; each gets the decision.
func TestReviewsOfToolCalls(t *testing.T) {
	t.Parallel()
	w := local(t)
	c := w.anybody()
	t.Run("every call is approved", func(t *testing.T) {
		id := c.suspend("clerk", "pay Ann, pay Bob, look Cid")
		e := c.execution(id)
		shown := e.at("suspend_context")
		require.Len(t, shown.list("action_requests"), 2)
		require.Len(t, shown.list("review_configs"), 2)
		require.Equal(t, map[string]any{"to": "Ann"}, shown.list("action_requests")[0]["args"])
		require.ElementsMatch(t, []any{"approve", "edit", "reject", "respond"}, shown["allowed_decisions"])
		c.resume(id, `{"decision":"approve"}`).ok()
		e = c.becomes(id, "completed")
		require.Equal(t, 1, w.effects.count("pay Ann "+e.text("thread_id")))
		require.Equal(t, 1, w.effects.count("pay Bob "+e.text("thread_id")))
	})
	t.Run("a rejection takes the notes as its message", func(t *testing.T) {
		id := c.suspend("clerk", "pay Ann")
		c.resume(id, `{"decision":"reject","reviewer_notes":"not her"}`).ok()
		e := c.becomes(id, "completed")
		require.Contains(t, e["response"], "not her")
		require.Zero(t, w.effects.count("pay Ann "+e.text("thread_id")))
	})
	t.Run("respond needs notes", func(t *testing.T) {
		id := c.suspend("clerk", "pay Ann")
		c.resume(id, `{"decision":"respond"}`).field("NOTES_MISSING", "reviewer_notes")
		c.resume(id, `{"decision":"respond","reviewer_notes":"paid by hand"}`).ok()
		require.Contains(t, c.becomes(id, "completed")["response"], "paid by hand")
	})
	t.Run("edit needs the richer API", func(t *testing.T) {
		id := c.suspend("clerk", "pay Ann")
		o := c.resume(id, `{"decision":"edit"}`).field("ANSWER_NEEDED", "decision")
		require.Contains(t, o["detail"], "reviews API")
	})
	t.Run("decisions 14: no decision fits all calls", func(t *testing.T) {
		id := c.suspend("clerk", "wire Ann, mail Bob")
		require.Equal(t, []any{}, c.execution(id).at("suspend_context")["allowed_decisions"])
		c.resume(id, `{"decision":"approve"}`).field("NO_COMMON_DECISION", "decision")
	})
}
