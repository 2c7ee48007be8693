package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The kinds of values that a person is asked for.
type fieldKind int

const (
	anyValue fieldKind = iota // written as JSON
	textValue
	numberValue
	yesOrNo
	oneOfSome
)

// field is one value that an answer is made of.
type field struct {
	name, label, help string
	kind              fieldKind
	// called is what people call the values: "amount in EUR".
	called   string
	bounds   string // "from 0.01 to 1000"; "" for none
	options  []option
	required bool
	// otherwise is the value where nothing is typed; nil for none. fixed is the only one that there is: nobody is asked.
	otherwise, fixed json.RawMessage
}

// option is one of a choice.
type option struct {
	value json.RawMessage
	label string
}

// formFields reads the fields of a form (package form).
func formFields(card json.RawMessage) (list []*field) {
	var shown struct {
		Fields []struct {
			Name, Label, Type, Help string
			Required                bool
			Default                 json.RawMessage
			Options                 []struct{ Value, Label string }
			Currency                string
			Min, Max                json.Number
			MaxLength               int64
		}
	}
	_ = json.Unmarshal(card, &shown) // the server has read it as a form
	for _, in := range shown.Fields {
		f := &field{name: in.Name, label: or(in.Label, in.Name), help: in.Help, required: in.Required}
		if given(in.Default) {
			f.otherwise = in.Default
		}
		switch in.Type {
		case "text", "textarea":
			f.kind, f.called, f.bounds = textValue, "text", atMost(in.MaxLength)
		case "number":
			f.kind, f.called, f.bounds = numberValue, "number", between(in.Min.String(), in.Max.String())
		case "currency":
			f.kind, f.called, f.bounds = numberValue, "amount in "+in.Currency, between(in.Min.String(), in.Max.String())
		case "checkbox":
			f.kind, f.called = yesOrNo, "yes or no"
		case "date":
			f.kind, f.called = textValue, "date, YYYY-MM-DD"
		case "select":
			f.kind = oneOfSome
			for _, o := range in.Options {
				f.options = append(f.options, option{textOf(o.Value), or(o.Label, o.Value)})
			}
			if len(f.options) == 0 { // no card of package form
				f.kind, f.called = textValue, "text"
			}
		default:
			f.called = "JSON"
		}
		list = append(list, f)
	}
	return list
}

func atMost(characters int64) string {
	if characters == 0 {
		return ""
	}
	return fmt.Sprintf("up to %d characters", characters)
}

// between is a range of numbers; "" stands for no bound.
func between(least, most string) string {
	switch {
	case least != "" && most != "":
		return "from " + least + " to " + most
	case least != "":
		return "at least " + least
	case most != "":
		return "at most " + most
	}
	return ""
}

// what says which values there are.
func (f *field) what() string {
	text := f.called
	if f.kind == oneOfSome {
		labels := []string{}
		for _, o := range f.options {
			value := wordOf(o.value)
			if o.label != value {
				value += " (" + o.label + ")"
			}
			labels = append(labels, value)
		}
		text = "one of " + strings.Join(labels, ", ")
	}
	if f.bounds != "" {
		text += ", " + f.bounds
	}
	return oneLine(text)
}

// need says whether it has to be given.
func (f *field) need() string {
	if f.required {
		return "required"
	}
	return "optional"
}

// described is all there is to know of a field, but its name.
func (f *field) described() string {
	text := f.what() + ", " + f.need()
	if f.otherwise != nil {
		text += ", default " + f.shown(f.otherwise)
	}
	if f.help != "" {
		text += ": " + oneLine(f.help)
	}
	return text
}

// shown is a value as it is typed.
func (f *field) shown(value json.RawMessage) string {
	if f.kind == yesOrNo {
		return map[bool]string{true: "yes", false: "no"}[string(value) == "true"]
	}
	if f.kind == textValue {
		return oneLine(wordOf(value))
	}
	return compact(value)
}

// wordOf is a text without its quotes, and other JSON as it is.
func wordOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil && given(value) {
		return text
	}
	return compact(value)
}

// sample is a value that could be.
func (f *field) sample() json.RawMessage {
	switch {
	case f.fixed != nil:
		return f.fixed
	case f.otherwise != nil:
		return f.otherwise
	case f.kind == oneOfSome:
		return f.options[0].value
	case f.kind == yesOrNo:
		return json.RawMessage("true")
	case f.kind == numberValue:
		return json.RawMessage("1")
	}
	return textOf("…")
}

// jsonNumber are the numbers of JSON.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$`)

// read makes a value of a line that isn't empty; wrong says what is the matter with it.
func (f *field) read(line string) (value json.RawMessage, wrong string) {
	switch f.kind {
	case textValue:
		return textOf(line), ""
	case numberValue:
		if !jsonNumber.MatchString(line) {
			return nil, "Please give a number, such as 12 or 12.50."
		}
		return json.RawMessage(line), ""
	case yesOrNo:
		switch word := strings.ToLower(line); {
		case slices.Contains([]string{"yes", "y", "true"}, word):
			return json.RawMessage("true"), ""
		case slices.Contains([]string{"no", "n", "false"}, word):
			return json.RawMessage("false"), ""
		}
		return nil, "Please give yes or no."
	}
	if !json.Valid([]byte(line)) {
		return nil, `Please give JSON, such as 12, "text" or {"key": "value"}.`
	}
	return json.RawMessage(line), ""
}
