package reviews_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// A flat decision fits every kind of review, in the form that its question wants.
func TestFlatDecisions(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		op, _, ann, _ := w.staff()
		thread, id := op.question("refund", "Refund the order")
		got := ann.post("/reviews/"+id+"/decide", `{"decision":" APPROVE ","reviewer_notes":"fine"}`).ok()
		require.Equal(t, "decided", got["status"])
		require.Equal(t, "ann", got.at("decided")["by"])
		require.Equal(t, "Approve", got.at("decided")["decision"], "as it was declared")
		require.Equal(t, "fine", got.at("decided")["notes"])
		require.NotEmpty(t, got.at("decided")["at"])
		require.NotEmpty(t, got.at("decided")["run_id"])
		require.Equal(t, "ann", op.idle(thread).at("answer")["reviewer"], "the agent knows who decided")

		thread, id = op.question("clerk", "pay Ann, mail Bob")
		ann.post("/reviews/"+id+"/decide", `{"decision":"reject","notes":"no money"}`).ok()
		op.idle(thread)
		require.Zero(t, w.effects.count("pay Ann "+thread))
		thread, id = op.question("booking", "Book")
		ann.post("/reviews/"+id+"/decide", `{"decision":"approve"}`).ok()
		require.Equal(t, map[string]any{"seats": float64(2), "name": "Ann"}, op.idle(thread).at("answer")["values"])
		thread, id = op.question("plain", "Do it")
		ann.post("/reviews/"+id+"/decide", `{"decision":"Go ahead","notes":"slowly"}`).ok()
		require.Equal(t, map[string]any{"decision": "Go ahead", "reviewer_notes": "slowly"}, op.idle(thread)["answer"])
	})
}

// Whole answers are whatever the question's schema takes.
func TestWholeAnswers(t *testing.T) {
	t.Parallel()
	w := single(t)
	op, _, ann, _ := w.staff()
	thread, id := op.question("checked", "How long?")
	e := ann.post("/reviews/"+id+"/decide", `{"answer":{"days":0}}`).code(http.StatusBadRequest, "INVALID_ANSWER")
	require.NotEmpty(t, e.at("badRequestDetail").list("fields"))
	require.Equal(t, "pending", ann.get("/reviews/" + id).ok()["status"], "a refused answer leaves it open")
	ann.post("/reviews/"+id+"/decide", `{"answer":{"days":3},"notes":"not longer"}`).ok()
	require.Equal(t, map[string]any{"days": float64(3)}, op.idle(thread)["answer"])
	require.Equal(t, "not longer", ann.get("/reviews/" + id).ok().at("decided")["notes"])

	require.Equal(t, "respond", ann.get("/reviews/" + id).ok().at("decided")["decision"])

	thread, id = op.question("refund", "Refund")
	ann.post("/reviews/"+id+"/decide", `{"answer":{"decision":"approve"},"notes":"this once"}`).ok()
	require.Equal(t, "this once", op.idle(thread).at("answer")["notes"], "agent.Review hands them on")

	thread, id = op.question("plain", "Well?")
	ann.post("/reviews/"+id+"/decide", `{"answer":null}`).ok()
	require.Nil(t, op.idle(thread)["answer"], "null is an answer")
	thread, id = op.question("booking", "Book")
	ann.post("/reviews/"+id+"/decide", `{"answer":{"approved":true,"values":{"name":"","seats":1}}}`).code(http.StatusBadRequest, "INVALID_ANSWER")
	ann.post("/reviews/"+id+"/decide", `{"answer":{"approved":true,"values":{"name":"Bob","seats":1}}}`).ok()
	require.Equal(t, map[string]any{"seats": float64(1), "name": "Bob"}, op.idle(thread).at("answer")["values"])
}

// Tool calls are decided one by one, in both modes; each decision is held against its own call.
func TestDecisionsForEachCall(t *testing.T) {
	t.Parallel()
	w := single(t)
	op, _, ann, _ := w.staff()
	thread, id := op.question("clerk", "pay Ann, mail Bob")
	r := ann.get("/reviews/" + id).ok()
	require.Equal(t, []any{"approve", "reject"}, r["allowed_decisions"])
	require.Len(t, r.list("actions"), 2)
	require.Equal(t, []any{"approve", "edit", "reject", "respond"}, r.list("actions")[0]["allowed_decisions"])
	for body, field := range map[string]string{
		`{"decisions":[{"type":"approve"}]}`:                                  "decisions",
		`{"decisions":[{"type":"approve"},{"type":"respond","message":"x"}]}`: "decisions/1/type",
		`{"decisions":[{"type":"edit"},{"type":"approve"}]}`:                  "decisions/0",
		`{"decisions":{}}`:                                "decisions",
		`{"decisions":null}`:                              "decisions",
		`{"decision":"edit"}`:                             "decision",
		`{"decision":"nonsense"}`:                         "decision",
		`{"decision":1}`:                                  "decision",
		`{"decision":""}`:                                 "decision",
		`{"decision":"approve","decisions":[]}`:           "decision",
		`{"decision":"approve","why":1}`:                  "why",
		`{"decision":"approve","Decision":"reject"}`:      "Decision",
		`{"human_review":{"decision":"approve"}}`:         "human_review",
		`{"decision":"approve","suspend_generation":"1"}`: "suspend_generation",
		`{}`: "decision",
	} {
		ann.post("/reviews/"+id+"/decide", body).field(http.StatusBadRequest, field)
	}
	require.Equal(t, "pending", ann.get("/reviews/" + id).ok()["status"])
	ann.post("/reviews/"+id+"/decide", `{"decisions":[{"type":"edit","edited_action":{"name":"pay","args":{"to":"Eve"}}},{"type":"reject","message":"no"}]}`).ok()
	op.idle(thread)
	require.Equal(t, 1, w.effects.count("pay Eve "+thread))
	require.Zero(t, w.effects.count("pay Ann "+thread))
	require.Zero(t, w.effects.count("mail Bob "+thread))

	thread, ids := op.suspend("each", "pay Ann, mail Bob")
	require.Len(t, ids, 2)
	ann.post("/reviews/"+ids[0]+"/decide", `{"decisions":[{"type":"approve"},{"type":"approve"}]}`).field(http.StatusBadRequest, "decisions")
	ann.post("/reviews/"+ids[0]+"/decide", `{"decisions":[{"type":"nonsense"}]}`).field(http.StatusBadRequest, "decisions/0/type")
	ann.post("/reviews/"+ids[0]+"/decide", `{"decisions":[{"type":"approve"}]}`).ok()
	require.Equal(t, "pending", ann.get("/reviews/" + ids[1]).ok()["status"], "the other one still waits")
	ann.post("/reviews/"+ids[1]+"/decide", `{"decision":"approve"}`).ok()
	op.idle(thread)
	require.Equal(t, 1, w.effects.count("pay Ann "+thread))
	require.Equal(t, 1, w.effects.count("mail Bob "+thread))
}

// Messages go with the answer, in the same superstep.
func TestDecisionWithUpdate(t *testing.T) {
	t.Parallel()
	w := single(t)
	op, _, ann, _ := w.staff()
	thread, id := op.question("refund", "Refund")
	ann.post("/reviews/"+id+"/decide", `{"decision":"approve","update":{"messages":[{"type":"nonsense"}]}}`).is(http.StatusBadRequest)
	ann.post("/reviews/"+id+"/decide", `{"decision":"approve","goto":"nowhere"}`).code(http.StatusBadRequest, "INVALID_COMMAND")
	ann.post("/reviews/"+id+"/decide", `{"decision":"approve","update":{"note":"seen","messages":[{"type":"ai","id":"card","content":"reviewed"}]}}`).ok()
	values := op.idle(thread)
	require.Equal(t, "seen", values["note"])
	require.Equal(t, "reviewed", values.list("messages")[1]["content"])
}

// The same decision again is the first one's result; another one learns who was faster (D-32).
func TestRepeatsAndConflicts(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, w *world) {
		op, _, ann, bob := w.staff()
		_, id := op.question("refund", "Refund")
		path := "/reviews/" + id + "/decide"
		first := ann.with("Idempotency-Key", "k").post(path, `{"decision":"approve","notes":"a"}`).ok()
		for _, again := range []object{
			ann.at(1).with("Idempotency-Key", "k").post(path, `{"decision":"approve","notes":"a"}`).ok(),
			ann.at(1).post(path, `{"decision":"Approve","notes":"other words"}`).ok(),
			ann.post(path, `{"answer":{"decision":"Approve"}}`).ok(),
		} {
			require.Equal(t, first["decided"], again["decided"])
		}
		for _, late := range []*client{bob, bob.at(1), ann} {
			e := late.post(path, `{"decision":"reject"}`).code(http.StatusConflict, "ALREADY_DECIDED")
			require.Equal(t, "ann", e["by"])
			require.Equal(t, first.at("decided")["at"], e["at"])
			require.Equal(t, "Approve", e["decision"])
			require.Equal(t, "a", e.at("decided")["notes"])
			require.Equal(t, "decided", e["status"])
		}
		bob.post(path, `{"decision":"approve"}`).code(http.StatusConflict, "ALREADY_DECIDED")
		bob.post("/reviews/"+id+"/claim", "").code(http.StatusConflict, "REVIEW_CLOSED")
		e := bob.post("/reviews/"+id+"/comments", `{"text":"too late"}`).code(http.StatusConflict, "REVIEW_CLOSED")
		require.Equal(t, "ann", e["by"])
	})
}
