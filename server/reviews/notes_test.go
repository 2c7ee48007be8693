package reviews_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
)

// Notes are read by people and kept for ever: whichever way they come, they are bounded, and the refusal says how.
func TestNotesAreBounded(t *testing.T) {
	t.Parallel()
	w := single(t)
	op, _, ann, _ := w.staff()
	long, fits := strings.Repeat("ä", thread.LongestNotes/2)+"x", strings.Repeat("ä", thread.LongestNotes/2)
	const want = "at most 16 KiB"

	id, review := op.question("refund", "Refund")
	for _, key := range []string{"reviewer_notes", "notes"} {
		got := ann.post("/reviews/"+review+"/decide", `{"decision":"approve","`+key+`":"`+long+`"}`)
		require.Contains(t, got.field(http.StatusBadRequest, "reviewer_notes").text("detail"), want)
	}
	ann.post("/reviews/"+review+"/decide", `{"answer":{"decision":"approve"},"notes":"`+long+`"}`).code(http.StatusBadRequest, "NOTES_TOO_LONG")
	ann.post("/reviews/"+review+"/decide", `{"answer":{"decision":"approve","reviewer_notes":"`+long+`"}}`).field(http.StatusBadRequest, "answer/reviewer_notes")
	execution := ann.get("/reviews/" + review).ok().text("execution_id")
	ann.post("/executions/"+execution+"/resume?workspace_id=default", `{"decision":"approve","reviewer_notes":"`+long+`"}`).field(http.StatusBadRequest, "reviewer_notes")
	classic := ann.do(http.MethodPost, "/threads/"+id+"/runs", `{"assistant_id":"refund","command":{"resume":{"decision":"approve","reviewer_notes":"`+long+`"}}}`)
	require.Contains(t, classic.is(http.StatusUnprocessableEntity).body, want)
	v2 := ann.do(http.MethodPost, "/threads/"+id+"/commands",
		`{"id":1,"method":"input.respond","params":{"interrupt_id":"`+ann.get("/reviews/"+review).ok().text("interrupt_id")+`","response":{"decision":"approve","reviewer_notes":"`+long+`"}}}`)
	require.Contains(t, v2.ok().text("message"), want)
	ann.post("/reviews/"+review+"/decide", `{"decision":"approve","notes":"`+fits+`"}`).ok()
	require.Equal(t, fits, op.idle(id).at("answer")["notes"])

	id, review = op.question("clerk", "pay Bob")
	ann.post("/reviews/"+review+"/decide", `{"decisions":[{"type":"reject","message":"`+long+`"}]}`).field(http.StatusBadRequest, "decisions/0/message")
	ann.post("/reviews/"+review+"/decide", `{"decisions":[{"type":"respond","message":"`+long+`"}]}`).ok() // what a tool would have answered
	op.idle(id)

	_, review = op.question("plain", "Well?")
	ann.post("/reviews/"+review+"/decide", `{"answer":{"reviewer_notes":"`+long+`"}}`).field(http.StatusBadRequest, "answer/reviewer_notes")
	ann.post("/reviews/"+review+"/comments", `{"text":"`+strings.Repeat("x", thread.LongestComment+1)+`"}`).field(http.StatusBadRequest, "text")
}
