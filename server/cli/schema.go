package cli

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// schema is what the command line reads of a JSON Schema; all else is checked only.
type schema struct {
	Ref         string            `json:"$ref"`
	Type        json.RawMessage   `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Enum        []json.RawMessage `json:"enum"`
	Const       json.RawMessage   `json:"const"`
	Default     json.RawMessage   `json:"default"`
	Format      string            `json:"format"`
	Minimum     json.RawMessage   `json:"minimum"`
	Maximum     json.RawMessage   `json:"maximum"`
	Above       json.RawMessage   `json:"exclusiveMinimum"`
	Below       json.RawMessage   `json:"exclusiveMaximum"`
	MaxLength   int64             `json:"maxLength"`
	Properties  json.RawMessage   `json:"properties"`
	Required    []string          `json:"required"`
	// Alternatives make a value that can't be asked for in parts.
	OneOf json.RawMessage `json:"oneOf"`
	AnyOf json.RawMessage `json:"anyOf"`
}

// mostRefs bounds the references that are followed.
const mostRefs = 16

// schemaAt reads a schema, or what it refers to within root.
func schemaAt(root, raw json.RawMessage) *schema {
	s := &schema{}
	for range mostRefs {
		at := &schema{}
		_ = json.Unmarshal(raw, at) // true, or in part something else: what there is of it
		at.Title, at.Description = or(s.Title, at.Title), or(s.Description, at.Description)
		if s = at; s.Ref == "" {
			return s
		}
		next, ok := pointed(root, s.Ref)
		if !ok {
			break
		}
		raw = next
	}
	return &schema{Title: s.Title, Description: s.Description}
}

// pointed is what a reference within a document leads to (RFC 6901, as a fragment).
func pointed(root json.RawMessage, ref string) (json.RawMessage, bool) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	for _, key := range strings.Split(path, "/")[1:] {
		var inside map[string]json.RawMessage
		if json.Unmarshal(root, &inside) != nil {
			return nil, false
		}
		if root, ok = inside[strings.NewReplacer("~1", "/", "~0", "~").Replace(key)]; !ok {
			return nil, false
		}
	}
	return root, strings.HasPrefix(path, "/") || path == ""
}

// fields are the properties of an object, in their order; none for anything else.
func (s *schema) fields(root json.RawMessage) (list []*field) {
	if kind := s.kind(); kind != "object" && kind != "" || len(s.OneOf) > 0 || len(s.AnyOf) > 0 {
		return nil
	}
	for _, m := range members(s.Properties) {
		if string(m.value) == "false" { // never there
			continue
		}
		f := schemaAt(root, m.value).field(m.name)
		f.required = slices.Contains(s.Required, m.name)
		if f.required || f.fixed == nil { // what says nothing is left out
			list = append(list, f)
		}
	}
	return list
}

// kind is the one type of a value, besides null; "" for none or several.
func (s *schema) kind() string {
	var one string
	if json.Unmarshal(s.Type, &one) == nil {
		return one
	}
	var some []string
	if json.Unmarshal(s.Type, &some) != nil {
		return ""
	}
	if some = slices.DeleteFunc(some, func(t string) bool { return t == "null" }); len(some) == 1 {
		return some[0]
	}
	return ""
}

// field is how a person is asked for a value.
func (s *schema) field(name string) *field {
	f := &field{name: name, label: or(s.Title, name), help: s.Description, called: "JSON"}
	if given(s.Default) {
		f.otherwise = s.Default
	}
	switch kind := s.kind(); {
	case len(s.Const) > 0:
		f.fixed = s.Const
	case len(s.Enum) > 0:
		f.kind = oneOfSome
		for _, v := range s.Enum {
			f.options = append(f.options, option{v, wordOf(v)})
		}
	case kind == "string":
		f.kind, f.called, f.bounds = textValue, or(map[string]string{"date": "date, YYYY-MM-DD"}[s.Format], "text"), atMost(s.MaxLength)
	case kind == "number", kind == "integer":
		f.kind, f.called, f.bounds = numberValue, map[string]string{"number": "number", "integer": "whole number"}[kind], s.bounds()
	case kind == "boolean":
		f.kind, f.called = yesOrNo, "yes or no"
	case kind == "object":
		f.called = "JSON object"
	case kind == "array":
		f.called = "JSON list"
	}
	return f
}

// bounds are those of a number.
func (s *schema) bounds() string {
	number := func(raw json.RawMessage) string {
		if _, err := strconv.ParseFloat(string(raw), 64); err != nil {
			return ""
		}
		return string(raw)
	}
	list := []string{between(number(s.Minimum), number(s.Maximum))}
	if n := number(s.Above); n != "" {
		list = append(list, "above "+n)
	}
	if n := number(s.Below); n != "" {
		list = append(list, "below "+n)
	}
	return strings.Join(slices.DeleteFunc(list, func(text string) bool { return text == "" }), ", ")
}

// member is one of an object's.
type member struct {
	name  string
	value json.RawMessage
}

// members are those of an object, in their order; none for anything else.
func members(object json.RawMessage) (list []member) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		key, err := d.Token()
		name, ok := key.(string)
		m := member{name: name}
		if err != nil || !ok || d.Decode(&m.value) != nil {
			return nil
		}
		list = append(list, m)
	}
	return list
}
