package thread

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/exactjson"
)

// flatAnswer makes the answer of a decision and notes, in the form that the question wants (spec/executions.md 3).
// Errors: *DecisionError.
func flatAnswer(r Review, decision, notes string) (json.RawMessage, error) {
	q := read(r.Payload, r.ResponseSchema)
	if strings.TrimSpace(decision) == "" {
		return nil, &DecisionError{Code: DecisionMissing, Allowed: r.AllowedDecisions, Message: "decision must be a text that isn't empty"}
	}
	if q.kind == KindToolCalls && len(r.AllowedDecisions) == 0 {
		return nil, &DecisionError{
			Code: DecisionNotCommon, Decision: decision, Allowed: r.AllowedDecisions,
			Message: "no decision is allowed for all of the tool calls; decide on each of them with the reviews API",
		}
	}
	own := strings.TrimSpace(decision)
	if len(r.AllowedDecisions) > 0 {
		var ok bool
		if own, ok = agent.AllowedDecision(r.AllowedDecisions, decision); !ok {
			return nil, notAllowed(decision, r.AllowedDecisions)
		}
	}
	refuse := func(code, message string) (json.RawMessage, error) {
		return nil, &DecisionError{Code: code, Decision: own, Allowed: r.AllowedDecisions, Message: message}
	}
	switch q.kind {
	case KindToolCalls:
		one := map[string]string{"type": own}
		switch own {
		case "edit":
			return refuse(DecisionNeedsMore, "edit needs the changed arguments; give a whole answer with the reviews API")
		case "respond":
			if strings.TrimSpace(notes) == "" {
				return refuse(DecisionNeedsNotes, "respond answers the tool call with the notes; give some")
			}
			one["message"] = notes
		case "reject":
			if notes != "" {
				one["message"] = notes
			}
		}
		if q.single {
			return encodeJSON(one), nil
		}
		all := make([]map[string]string, len(q.calls))
		for i := range all {
			all[i] = one
		}
		return encodeJSON(map[string]any{"decisions": all}), nil
	case KindForm:
		return formAnswer(q, own, notes, refuse)
	case KindUnknownOutcome:
		answer := map[string]any{"type": own}
		if notes != "" {
			answer["message"] = notes
		}
		return encodeJSON(answer), nil
	}
	return plainAnswer(r, own, notes), nil
}

// formAnswer approves or refuses a form as it is shown: with the defaults of its fields.
func formAnswer(q shown, decision, notes string, refuse func(code, message string) (json.RawMessage, error)) (json.RawMessage, error) {
	answer := map[string]any{}
	if notes != "" {
		answer["message"] = notes
	}
	switch {
	case strings.EqualFold(decision, "approve"):
		values := object{}
		for _, f := range q.fields {
			if len(f.Default) > 0 {
				values[f.Name] = f.Default
			}
		}
		answer["approved"], answer["values"] = true, values
	case strings.EqualFold(decision, "reject"):
		answer["approved"] = false
	default:
		return refuse(DecisionNeedsMore, fmt.Sprintf("%s needs the form's values; give a whole answer with the reviews API", decision))
	}
	return encodeJSON(answer), nil
}

// plainAnswer is {"decision", "reviewer_notes"}, or, for a question that takes no object but a text, the decision.
func plainAnswer(r Review, decision, notes string) json.RawMessage {
	answer := map[string]string{"decision": decision}
	if notes != "" {
		answer[notesKey] = notes
	}
	whole := encodeJSON(answer)
	if isNull(r.ResponseSchema) {
		return whole
	}
	checker, err := agent.NewChecker(r.ResponseSchema)
	if err != nil || len(checker.Issues(whole)) == 0 {
		return whole
	}
	if bare := quoted(decision); len(checker.Issues(bare)) == 0 {
		return bare
	}
	return whole
}

// decisionOf names what an answer decides, and the reviewer's notes in it. An answer that names no decision has
// the one that it amounts to: approve or reject of one that agrees or doesn't, submit of a form's values, else respond.
func decisionOf(q shown, answer json.RawMessage) (decision, notes string) {
	var a givenAnswer
	if exactjson.Unmarshal(answer, &a) != nil { // exactly as the asking node reads it
		if q.kind == KindPlain && len(q.allowed) > 0 {
			if own, ok := agent.AllowedDecision(q.allowed, text(answer)); ok && own != "" {
				return own, ""
			}
		}
		return amountsTo(q, answer, nil), ""
	}
	switch q.kind {
	case KindToolCalls:
		decision, notes = a.Type, a.Message
		if !q.single && len(a.All) > 0 {
			var decisions, messages textWriter
			decisions.left, messages.left = longestReviewText, longestReviewText
			for _, d := range a.All {
				decisions.add(d.Type)
				messages.add(d.Message)
			}
			decision, notes = strings.ReplaceAll(decisions.b.String(), "\n", ","), messages.b.String()
		}
	case KindForm:
		notes = a.Message
	case KindUnknownOutcome:
		decision, notes = a.Type, a.Message
	default:
		notes = a.Notes
		var ok bool
		if decision, ok = agent.AllowedDecision(q.allowed, a.Decision); !ok {
			decision = strings.TrimSpace(a.Decision)
		}
	}
	if decision == "" {
		decision = amountsTo(q, answer, a.Approved)
	}
	return decision, notes
}

// givenAnswer is what answers say of themselves.
type givenAnswer struct {
	Type     string        `json:"type"`
	Message  string        `json:"message"`
	Decision string        `json:"decision"`
	Notes    string        `json:"reviewer_notes"`
	Approved *bool         `json:"approved"`
	All      []givenAnswer `json:"decisions"`
}

// The decisions of answers that name none.
const (
	decisionApprove = "approve"
	decisionReject  = "reject"
	decisionSubmit  = "submit"  // values of a form
	decisionRespond = "respond" // anything else
)

// amountsTo is the decision of an answer that names none; approved is what it says under that name.
func amountsTo(q shown, answer json.RawMessage, approved *bool) string {
	if approved == nil {
		var bare *bool
		if json.Unmarshal(answer, &bare) == nil {
			approved = bare
		}
	}
	switch {
	case approved != nil && *approved:
		return decisionApprove
	case approved != nil:
		return decisionReject
	case q.kind == KindForm:
		return decisionSubmit
	}
	return decisionRespond
}

// withNotes puts a reviewer's notes into a whole answer to agent.Review, which hands them to the agent.
func withNotes(r Review, answer json.RawMessage, notes string) json.RawMessage {
	if notes == "" || read(r.Payload, r.ResponseSchema).kind != KindReview {
		return answer
	}
	var o object
	if exactjson.Unmarshal(answer, &o) != nil || o == nil {
		return answer // it will be refused
	}
	o[notesKey] = quoted(notes)
	return encodeJSON(o)
}

// editedTo lists the tools that an answer about tool calls puts in their place.
func editedTo(q shown, answer json.RawMessage) []string {
	type action struct {
		Name string `json:"name"`
	}
	type one struct {
		Camel *action `json:"editedAction"`
		Snake *action `json:"edited_action"`
	}
	var a struct {
		one
		All []one `json:"decisions"`
	}
	if q.kind != KindToolCalls || exactjson.Unmarshal(answer, &a) != nil {
		return nil
	}
	var names []string
	for _, d := range append(a.All, a.one) {
		for _, to := range []*action{d.Camel, d.Snake} {
			if to != nil {
				names = append(names, to.Name)
			}
		}
	}
	return names
}
