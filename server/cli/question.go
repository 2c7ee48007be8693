package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-dev/parley/agent"
)

// The kinds of reviews that the command line tells apart (decisions 20).
const (
	kindForm  = "form"
	kindPlain = "plain"
)

// question is a review that takes more than a word as its answer: the values of a form, or what a schema says.
type question struct {
	r      *review
	form   bool
	fields []*field
	// whole is the answer that isn't asked for in parts; nil where there are fields.
	whole *field
	check *agent.Checker // nil where the schema can't be used here: the server checks alone
}

// questionOf is what a review asks for; nil if decisions are all that it takes.
func questionOf(r *review) *question {
	q := &question{r: r, form: r.Kind == kindForm}
	if len(r.Actions) > 0 || !q.form && r.Kind != kindPlain || !q.form && !given(r.Schema) {
		return nil
	}
	if given(r.Schema) {
		q.check, _ = agent.NewChecker(r.Schema) // the server has the last word
	}
	if q.form {
		q.fields = formFields(r.Payload)
		return q
	}
	if q.takesWords() {
		return nil
	}
	root := schemaAt(r.Schema, r.Schema)
	if q.fields = root.fields(r.Schema); len(q.fields) == 0 {
		q.whole = root.field("")
		q.whole.label, q.whole.required = "Answer", true
	}
	return q
}

// given reports whether JSON is there and not null.
func given(raw json.RawMessage) bool {
	return len(raw) > 0 && !bytes.Equal(bytes.TrimSpace(raw), []byte("null"))
}

// takesWords reports whether the allowed decisions are answers as they stand, in a form that the server makes of them.
func (q *question) takesWords() bool {
	if len(q.r.Allowed) == 0 || q.check == nil {
		return false
	}
	return !slices.ContainsFunc(q.r.Allowed, func(word string) bool {
		return len(q.check.Issues(object("decision", textOf(word)))) > 0 && len(q.check.Issues(textOf(word))) > 0
	})
}

// answer is the whole answer, with what was given so far.
func (q *question) answer(values map[string]json.RawMessage) json.RawMessage {
	all := encoded(values)
	if q.form {
		return object("approved", json.RawMessage("true"), "values", all)
	}
	return all
}

// faults are what is wrong with a field, or a part of it.
func (q *question) faults(answer json.RawMessage, f *field) (texts []string) {
	at := ""
	if q.form {
		at = "/values"
	}
	if q.whole == nil {
		at += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(f.name)
	}
	for _, issue := range q.issues(answer) {
		if rest, ok := strings.CutPrefix(issue.Path, at); ok && (rest == "" || rest[0] == '/') {
			texts = append(texts, strings.TrimPrefix(strings.TrimPrefix(rest, "/")+": "+issue.Message, ": "))
		}
	}
	return texts
}

func (q *question) issues(answer json.RawMessage) []agent.Issue {
	if q.check == nil {
		return nil
	}
	return q.check.Issues(answer)
}

// sample is an answer of the right form, with what has to be in it.
func (q *question) sample() json.RawMessage {
	if q.whole != nil {
		return q.whole.sample()
	}
	values := map[string]json.RawMessage{}
	for _, f := range q.fields {
		if f.required || f.fixed != nil {
			values[f.name] = f.sample()
		}
	}
	return q.answer(values)
}

// elsewhere is the command that answers without being asked.
func (q *question) elsewhere() string {
	return "parley reviews decide " + q.r.ID + " --answer " + quoted(oneLine(string(q.sample())))
}

// hint says how not to answer here.
func (q *question) hint() string {
	return "/exit leaves it open. Elsewhere, or by a program, it is answered by\n  " + q.elsewhere() + "\n"
}

// expected says what is to be given.
func (q *question) expected() string {
	var b strings.Builder
	switch {
	case q.form && len(q.fields) > 0:
		b.WriteString("Approving it takes:\n")
	case q.form:
	case q.whole != nil:
		b.WriteString("Expected: " + q.whole.what() + "\n")
	default:
		b.WriteString("Expected:\n")
	}
	for _, f := range q.fields {
		if f.fixed == nil {
			fmt.Fprintf(&b, "  %s: %s\n", oneLine(f.name), f.described())
		}
	}
	return b.String()
}

// decisions tells what is expected, and the command that gives it.
func (q *question) decisions() string {
	text := q.expected()
	if q.form {
		text = "Allowed decisions: " + oneLine(strings.Join(q.r.Allowed, ", ")) + "\n" + text
	}
	if q.r.Decided == nil {
		text += "Answered by a terminal's prompts (parley reviews decide " + q.r.ID + "), or by\n  " + q.elsewhere() + "\n"
	}
	return text
}

// object is a JSON object of keys and values, in their order.
func object(members ...any) json.RawMessage {
	var b bytes.Buffer
	for i := 0; i+1 < len(members); i += 2 {
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		b.Write(encoded(members[i]))
		b.WriteByte(':')
		b.Write(encoded(members[i+1]))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// encoded is JSON as people write it; what is encoded here can always be.
func encoded(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return bytes.TrimSpace(b.Bytes())
}

func textOf(text string) json.RawMessage { return encoded(text) }
