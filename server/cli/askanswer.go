package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
)

// ask has a person answer: a form's decision and then its fields, or the parts of what a schema describes. What was
// given is the default when it is asked again.
func (q *question) ask(ctx context.Context, a *asker) (map[string]any, error) {
	body := map[string]any{"suspend_generation": q.r.Generation}
	decision := ""
	if q.form {
		at, err := a.choose(ctx, "Select a decision:", q.labels(), -1)
		if err != nil {
			return nil, err
		}
		decision = q.r.Allowed[at]
	}
	if strings.EqualFold(decision, "reject") { // needs no values
		notes, err := askNotes(ctx, a)
		body["decision"], body["notes"] = decision, notes
		return body, err
	}
	answer, err := q.askParts(ctx, a, decision)
	if err != nil {
		return nil, err
	}
	notes, err := askNotes(ctx, a)
	if err != nil {
		return nil, err
	}
	if q.form && notes != "" { // the agent is told
		var parts map[string]json.RawMessage
		if json.Unmarshal(answer, &parts) == nil && parts["message"] == nil {
			parts["message"] = textOf(notes)
			if with := encoded(parts); len(q.issues(with)) == 0 {
				answer = with
			}
		}
	}
	body["answer"], body["notes"] = answer, notes
	return body, nil
}

// labels are the decisions of a form, with what its buttons say.
func (q *question) labels() []string {
	var card struct{ ApproveLabel, RejectLabel string }
	_ = json.Unmarshal(q.r.Payload, &card) // it may have none
	list := slices.Clone(q.r.Allowed)
	for i, d := range list {
		label := map[string]string{"approve": card.ApproveLabel, "reject": card.RejectLabel}[strings.ToLower(d)]
		if label != "" {
			list[i] = d + " (" + label + ")"
		}
	}
	return list
}

// askParts asks for the fields one by one, and for all of it as JSON where these don't make an answer.
func (q *question) askParts(ctx context.Context, a *asker, decision string) (json.RawMessage, error) {
	if q.form && !strings.EqualFold(decision, "approve") { // one of the agent's own: what it wants with it, the schema says alone
		return q.askWhole(ctx, a, q.sample())
	}
	values := map[string]json.RawMessage{}
	if q.whole != nil {
		return q.askField(ctx, a, q.whole, func(v json.RawMessage) json.RawMessage { return v })
	}
	for _, f := range q.fields {
		value, err := q.askField(ctx, a, f, func(v json.RawMessage) json.RawMessage {
			values[f.name] = v
			return q.answer(values)
		})
		if err != nil {
			return nil, err
		}
		if delete(values, f.name); value != nil {
			values[f.name], f.otherwise = value, value
		}
	}
	answer := q.answer(values)
	if len(q.issues(answer)) == 0 {
		return answer, nil
	}
	return q.askWhole(ctx, a, answer)
}

// askWhole asks for the answer as JSON, and says of the one that there is what is wrong with it.
func (q *question) askWhole(ctx context.Context, a *asker, answer json.RawMessage) (json.RawMessage, error) {
	whole := &field{label: "Answer", called: "JSON", required: true}
	for {
		for _, issue := range q.issues(answer) {
			if err := a.say("  " + oneLine(strings.TrimPrefix(issue.Path+": "+issue.Message, ": ")) + "\n"); err != nil {
				return nil, err
			}
		}
		whole.otherwise = answer
		now, err := whole.ask(ctx, a)
		if err != nil || len(q.issues(now)) == 0 {
			return now, err
		}
		answer = now
	}
}

// askField asks until a value is right; nil for none. in makes the answer that it would be a part of.
func (q *question) askField(ctx context.Context, a *asker, f *field, in func(json.RawMessage) json.RawMessage) (json.RawMessage, error) {
	if f.fixed != nil {
		return f.fixed, nil
	}
	if f.help != "" {
		if err := a.say(printable(f.help) + "\n"); err != nil {
			return nil, err
		}
	}
	for {
		value, err := f.ask(ctx, a)
		if err != nil || value == nil {
			return nil, err
		}
		wrong := q.faults(in(value), f)
		if len(wrong) == 0 {
			return value, nil
		}
		if err := a.say("  " + oneLine(strings.Join(wrong, "; ")) + "\n"); err != nil {
			return nil, err
		}
	}
}

// ask asks for a value; nil for none, where none is needed.
func (f *field) ask(ctx context.Context, a *asker) (json.RawMessage, error) {
	for {
		value, wrong, err := f.askOnce(ctx, a)
		if err != nil || wrong == "" {
			return value, err
		}
		if err := a.say(wrong + "\n"); err != nil {
			return nil, err
		}
	}
}

func (f *field) askOnce(ctx context.Context, a *asker) (value json.RawMessage, wrong string, err error) {
	if f.kind == oneOfSome {
		return f.askChoice(ctx, a)
	}
	prompt := oneLine(f.label) + " (" + f.what() + ", " + f.need() + "): "
	if f.otherwise != nil {
		prompt += "[default: " + f.shown(f.otherwise) + "] "
	}
	line, err := a.line(ctx, prompt)
	switch {
	case err != nil:
		return nil, "", err
	case line == "" && f.otherwise != nil:
		return f.otherwise, "", nil
	case line == "" && f.required:
		return nil, "It is required; /exit leaves the question open.", nil
	case line == "":
		return nil, "", nil
	case line == `""` && f.kind == textValue: // the empty text, in place of a default
		return textOf(""), "", nil
	}
	value, wrong = f.read(line)
	return value, wrong, nil
}

// nothing is the choice of no value.
const nothing = "(none)"

func (f *field) askChoice(ctx context.Context, a *asker) (json.RawMessage, string, error) {
	labels, otherwise := []string{}, -1
	for i, o := range f.options {
		labels = append(labels, o.label)
		if f.otherwise != nil && compact(o.value) == compact(f.otherwise) {
			otherwise = i
		}
	}
	if !f.required {
		labels = append(labels, nothing)
		if otherwise < 0 {
			otherwise = len(labels) - 1
		}
	}
	at, err := a.choose(ctx, oneLine(f.label)+" ("+f.need()+")", labels, otherwise)
	if err != nil || at >= len(f.options) {
		return nil, "", err
	}
	return f.options[at].value, "", nil
}
