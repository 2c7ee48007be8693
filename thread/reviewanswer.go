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

// decisionOf names what an answer decides, and the reviewer's notes in it; "" for what has no name.
func decisionOf(q shown, answer json.RawMessage) (decision, notes string) {
	type one struct {
		Type     string `json:"type"`
		Message  string `json:"message"`
		Decision string `json:"decision"`
		Notes    string `json:"reviewer_notes"`
		Approved *bool  `json:"approved"`
		All      []one  `json:"decisions"`
	}
	var a one
	if exactjson.Unmarshal(answer, &a) != nil { // exactly as the asking node reads it
		if q.kind == KindPlain && len(q.allowed) > 0 {
			own, _ := agent.AllowedDecision(q.allowed, text(answer))
			return own, ""
		}
		return "", ""
	}
	switch q.kind {
	case KindToolCalls:
		if q.single {
			return a.Type, a.Message
		}
		var decisions, messages textWriter
		decisions.left, messages.left = longestReviewText, longestReviewText
		for _, d := range a.All {
			decisions.add(d.Type)
			messages.add(d.Message)
		}
		return strings.ReplaceAll(decisions.b.String(), "\n", ","), messages.b.String()
	case KindForm:
		switch {
		case a.Approved == nil:
			return "", a.Message
		case *a.Approved:
			return "approve", a.Message
		}
		return "reject", a.Message
	case KindUnknownOutcome:
		return a.Type, a.Message
	}
	if own, ok := agent.AllowedDecision(q.allowed, a.Decision); ok {
		return own, a.Notes
	}
	return strings.TrimSpace(a.Decision), a.Notes
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
