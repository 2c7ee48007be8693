package reviews

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server/apierror"
	"github.com/parley-dev/parley/thread"
)

// decide is POST …/reviews/{review_id}/decide. Its 200 comes after the durable commit (D-106).
func (a *API) decide(c echo.Context) error {
	r, err := a.review(c)
	if err != nil {
		return err
	}
	f, err := a.fields(c)
	if err != nil {
		return err
	}
	d, err := decisionOf(f, r)
	if err != nil {
		return err
	}
	d.RespectClaims = true
	a.o.Complete(c, &d.Run)
	d.IdempotencyKey = d.Run.IdempotencyKey
	_, now, err := a.o.Service.DecideReview(c.Request().Context(), d)
	if err != nil {
		return refusal(named(err, f, d), now)
	}
	return a.reply(c, now)
}

// decisionOf reads a decision in one of its three forms.
func decisionOf(f *fields, r thread.Review) (thread.ReviewDecision, error) {
	d := thread.ReviewDecision{ReviewID: r.ID}
	if f.has("human_review") {
		return d, apierror.BadField(apierror.CodeUnknown, "human_review", "The body is flat: give decision and reviewer_notes at its top.")
	}
	f.only("answer", "decision", "decisions", "notes", "reviewer_notes", "suspend_generation", "update", "goto")
	given := 0
	for _, form := range []string{"answer", "decision", "decisions"} {
		if f.has(form) {
			given++
		}
	}
	switch {
	case given == 0:
		f.bad(apierror.CodeMissing, "decision", "Give a decision, decisions for each of the tool calls, or a whole answer.")
	case given > 1:
		f.bad(apierror.CodeInvalid, "decision", "Give one of decision, decisions and answer.")
	}
	if f.has("notes") && f.has("reviewer_notes") {
		f.bad(apierror.CodeInvalid, "notes", "notes and reviewer_notes are the same: give one.")
	}
	d.Notes = f.text("notes") + f.text("reviewer_notes")
	d.Generation = f.positive("suspend_generation")
	d.Update, d.Goto = f.raw("update"), f.raw("goto")
	switch {
	case f.has("answer"):
		d.Answer = f.values["answer"] // null is an answer, too (decisions 8)
	case f.has("decisions"):
		d.Answer = f.decisions(r)
	case f.has("decision"):
		if d.Decision = f.text("decision"); d.Decision == "" {
			f.bad(apierror.CodeInvalid, "decision", "decision must be a text that isn't empty.")
		}
	}
	return d, f.err()
}

// decisions is the answer that a list of decisions is to a review of tool calls.
func (f *fields) decisions(r thread.Review) json.RawMessage {
	var list []json.RawMessage
	if raw := f.values["decisions"]; json.Unmarshal(raw, &list) != nil || bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		f.bad(apierror.CodeInvalid, "decisions", "decisions must be a list, with one decision for each tool call.")
		return nil
	}
	if r.Kind != thread.KindToolCalls {
		f.bad(apierror.CodeInvalid, "decisions", "Only reviews of tool calls take decisions; give a decision or an answer.")
		return nil
	}
	var about struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(r.Payload, &about) != nil || about.Type != "tool_approval" {
		return json.RawMessage(`{"decisions":` + string(f.values["decisions"]) + `}`)
	}
	if len(list) != 1 { // a review of one call is answered without a list (spec/runtime.md 6.8)
		f.bad(apierror.CodeInvalid, "decisions", "The review is about one tool call: give one decision.")
		return nil
	}
	return list[0]
}

// named gives the faults of an answer the names that their parts have in the request's body.
func named(err error, f *fields, d thread.ReviewDecision) error {
	var invalid *agent.ResumeError
	if !errors.As(err, &invalid) || invalid.Code != agent.InvalidAnswer || !f.has("decisions") {
		return err
	}
	e := apierror.Of(err)
	for i := range e.Fields {
		rest := strings.TrimPrefix(e.Fields[i].Field, "answer")
		if bytes.HasPrefix(d.Answer, []byte(`{"decisions":`)) {
			e.Fields[i].Field = strings.TrimPrefix(rest, "/")
		} else {
			e.Fields[i].Field = "decisions/0" + rest
		}
		if e.Fields[i].Field == "" {
			e.Fields[i].Field = "decisions"
		}
	}
	return e
}

// refusal says of a refused change how the review ended: by whom, when, and what was decided (D-32).
func refusal(err error, r thread.Review) error {
	e := apierror.Of(err)
	var closed *thread.ReviewClosedError
	if errors.As(err, &closed) {
		r = closed.Review
	}
	if e.Status != http.StatusConflict || r.ID == "" {
		return err
	}
	e = e.With("review_id", r.ID).With("status", string(r.Status))
	if d := outcome(r); d != nil {
		e = e.With("decided", d).With("by", d.By).With("at", d.At).With("decision", d.Decision)
	}
	if r.Status == thread.ReviewClaimed {
		e = e.With("assignee", r.Assignee)
	}
	return e
}
