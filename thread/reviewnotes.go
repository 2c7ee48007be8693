package thread

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/exactjson"
)

// LongestNotes bounds the notes that a reviewer puts to a decision, in bytes: they are kept with the review, in the
// audit log and by the agent, and are read by people. What respond answers in a tool's place is no note.
const LongestNotes = 16 << 10

// tooLong says that notes are.
func tooLong(notes string) string {
	return fmt.Sprintf("notes have at most %d KiB; these have %d", LongestNotes>>10, (len(notes)+1023)>>10)
}

// checkNotes refuses an answer with notes that are too long. Errors: *agent.ResumeError.
func checkNotes(r Review, answer agent.Answer, pending []OpenInterrupt) error {
	path, notes := longNotes(read(r.Payload, r.ResponseSchema), answer.Value)
	if path == "" {
		return nil
	}
	return &agent.ResumeError{
		Code: agent.InvalidAnswer, IDs: []string{r.InterruptID}, Pending: infosOf(pending), Message: "The answer is not taken: " + tooLong(notes),
		Issues: []agent.Issue{{InterruptID: r.InterruptID, Path: path, Message: tooLong(notes)}},
	}
}

// longNotes finds notes in an answer that are too long: where, as a JSON pointer; "" for nowhere.
func longNotes(q shown, answer json.RawMessage) (path, notes string) {
	var a givenAnswer
	if len(answer) <= LongestNotes || exactjson.Unmarshal(answer, &a) != nil {
		return "", ""
	}
	switch {
	case q.kind == KindToolCalls && q.single:
		return a.longMessage("/message")
	case q.kind == KindToolCalls:
		for i, d := range a.All {
			if path, notes = d.longMessage("/decisions/" + strconv.Itoa(i) + "/message"); path != "" {
				return path, notes
			}
		}
		return "", ""
	case (q.kind == KindForm || q.kind == KindUnknownOutcome) && len(a.Message) > LongestNotes:
		return "/message", a.Message
	case len(a.Notes) > LongestNotes:
		return "/" + notesKey, a.Notes
	}
	return "", ""
}

// longMessage is a decision's message at path, if it is a note and too long.
func (a *givenAnswer) longMessage(path string) (where, notes string) {
	if a.Type == decisionRespond || len(a.Message) <= LongestNotes {
		return "", ""
	}
	return path, a.Message
}
