package reviews_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// The log says what was carried out, whatever else an answer holds in another casing.
func TestRecordedDecisionIsTheOneThatCounts(t *testing.T) {
	t.Parallel()
	w := single(t)
	op, _, ann, _ := w.staff()
	owner := w.person("olga", "owner")
	for answer, want := range map[string]string{
		`{"type":"approve","TYPE":"reject"}`:                "approve",
		`{"type":"reject","Type":"approve"}`:                "reject",
		`{"type":"approve","Message":"no","TYPE":"reject"}`: "approve",
	} {
		thread, id := op.question("clerk", "pay Bob")
		decided := ann.post("/reviews/"+id+"/decide", `{"decisions":[`+answer+`]}`).ok().at("decided")
		require.Equal(t, want, decided["decision"], answer)
		require.Nil(t, decided["notes"], answer)
		op.idle(thread)
		require.Equal(t, want == "approve", w.effects.count("pay Bob "+thread) == 1, answer)
		entries := owner.get("/audit?action=review.decided&review_id=" + id).ok().list("entries")
		require.Len(t, entries, 1)
		require.Equal(t, want, entries[0]["decision"], answer)
	}
}

// Who may decide on one tool can't make another tool of it.
func TestReviewerOfAToolCanNotEditACallIntoAnother(t *testing.T) {
	t.Parallel()
	w := single(t)
	op, _, _, _ := w.staff()
	payer := w.person("payer", "reviewer:clerk/pay")
	thread, id := op.question("clerk", "pay Bob")
	for _, spelt := range []string{"edited_action", "editedAction"} {
		payer.post("/reviews/"+id+"/decide", `{"decisions":[{"type":"edit","`+spelt+`":{"name":"look","args":{"to":"Eve"}}}]}`).
			code(http.StatusForbidden, "NOT_A_REVIEWER")
	}
	require.Equal(t, "pending", payer.get("/reviews/" + id).ok()["status"])
	payer.post("/reviews/"+id+"/decide", `{"decisions":[{"type":"edit","edited_action":{"name":"pay","args":{"to":"Eve"}}}]}`).ok()
	op.idle(thread)
	require.Equal(t, 1, w.effects.count("pay Eve "+thread))
	require.Zero(t, w.effects.count("look Eve "+thread))
}

// D-102: who puts a request of their own beside an answer asks for what comes of it, and so doesn't decide that.
func TestWhoSteersARunDoesNotDecideWhatItAsksThen(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		op, _, ann, bob := w.staff()
		thread, id := op.question("clerk", "pay Bob")
		ann.post("/reviews/"+id+"/decide",
			`{"decision":"reject","update":{"messages":[{"type":"human","content":"pay Ann"}]}}`).ok()
		var next string
		ann.until("it asks again", func() bool {
			for _, r := range ann.get("/reviews?status=open").ok().list("reviews") {
				if r["thread_id"] == thread {
					next = r.text("review_id")
					require.Equal(t, false, r["may_decide"])
				}
			}
			return next != ""
		})
		ann.post("/reviews/"+next+"/decide", `{"decision":"approve"}`).code(http.StatusForbidden, "SELF_APPROVAL")
		require.Zero(t, w.effects.count("pay Ann "+thread))
		bob.post("/reviews/"+next+"/decide", `{"decision":"approve"}`).ok()
		op.idle(thread)
		require.Equal(t, 1, w.effects.count("pay Ann "+thread))
	})
}
