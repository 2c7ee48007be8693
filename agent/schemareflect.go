package agent

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/parley-dev/parley/agent/message"
)

// draft07 is the dialect of all schemas that clients get (spec/rest-api.md 2.2).
const draft07 = "http://json-schema.org/draft-07/schema#"

// The definitions by which clients recognise messages (spec/conformance-agents.md 3.1).
const (
	messageDefinition       = "BaseMessage<MessageStructure<MessageToolSet>,MessageType>"
	removeMessageDefinition = "RemoveMessage"
)

var (
	messageType     = reflect.TypeFor[message.Message]()
	messageListType = reflect.TypeFor[message.List]()
)

// reflectSchema derives the schema of a Go type. Of a struct it shows the keys
// that keep accepts (nil: all) and requires none of them: a state is seldom
// complete. It returns nil when the type has no JSON form.
func reflectSchema(t reflect.Type, keep func(key string) bool) (schema json.RawMessage) {
	if t == nil {
		return nil
	}
	defer func() {
		if recover() != nil { // the reflector panics on channels and functions
			schema = nil
		}
	}()
	messages := false
	r := &jsonschema.Reflector{
		Anonymous:                 true,
		ExpandedStruct:            true,
		AllowAdditionalProperties: true,
		DoNotReference:            !recursive(t, nil),
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			ref := &jsonschema.Schema{Ref: "#/definitions/" + messageDefinition}
			switch t {
			case messageListType:
				messages = true
				return &jsonschema.Schema{Type: "array", Items: ref}
			case messageType:
				messages = true
				return ref
			}
			return nil
		},
	}
	s := r.ReflectFromType(t)
	if s.Properties != nil && keep != nil {
		for _, key := range slices.Collect(s.Properties.KeysFromOldest()) {
			if !keep(key) {
				s.Properties.Delete(key)
			}
		}
	}
	s.Required = nil
	definitions := map[string]*jsonschema.Schema(s.Definitions)
	s.Definitions = nil
	if messages {
		if definitions == nil {
			definitions = map[string]*jsonschema.Schema{}
		}
		definitions[messageDefinition] = &jsonschema.Schema{
			Description: "Base class for all types of messages in a conversation: human, ai, system, tool and remove.",
			OneOf:       []*jsonschema.Schema{{Ref: "#/definitions/" + removeMessageDefinition}},
		}
		definitions[removeMessageDefinition] = removeMessageSchema()
	}
	toDraft07(s)
	for _, d := range definitions {
		toDraft07(d)
	}
	s.Version = draft07
	if len(definitions) > 0 {
		s.Extras = map[string]any{"definitions": definitions}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return nil
	}
	return bytes.TrimSpace(b.Bytes())
}

// removeMessageSchema describes what every message has; the peer's schema names
// it after the last of its message classes.
func removeMessageSchema() *jsonschema.Schema {
	p := jsonschema.NewProperties()
	for _, key := range []string{"type", "id", "name"} {
		p.Set(key, &jsonschema.Schema{Type: "string"})
	}
	p.Set("content", &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Type: "string"},
		{Type: "array", Items: &jsonschema.Schema{Type: "object"}},
	}})
	for _, key := range []string{"additional_kwargs", "response_metadata"} {
		p.Set(key, &jsonschema.Schema{Type: "object"})
	}
	return &jsonschema.Schema{
		Type:        "object",
		Description: "A message. One of type remove deletes the message with its id.",
		Properties:  p,
	}
}

// toDraft07 rewrites, in place, what the reflector words for draft 2020-12:
// references to $defs. It also sorts enums, so that the order in a Go tag doesn't show.
func toDraft07(s *jsonschema.Schema) {
	if s == nil || s == jsonschema.TrueSchema || s == jsonschema.FalseSchema {
		return
	}
	s.Version = ""
	if rest, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		s.Ref = "#/definitions/" + rest
	}
	slices.SortFunc(s.Enum, compareEnum)
	for _, group := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, {s.Not, s.Items, s.AdditionalProperties}} {
		for _, sub := range group {
			toDraft07(sub)
		}
	}
	for _, sub := range s.PatternProperties {
		toDraft07(sub)
	}
	if s.Properties != nil {
		for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
			toDraft07(pair.Value)
		}
	}
}

func compareEnum(a, b any) int {
	text := func(v any) string {
		if s, ok := v.(string); ok {
			return s
		}
		raw, _ := json.Marshal(v)
		return string(raw)
	}
	return strings.Compare(text(a), text(b))
}

// recursive reports whether a type contains itself, so that its schema needs references.
func recursive(t reflect.Type, path []reflect.Type) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == messageListType || t == messageType {
		return false
	}
	if slices.Contains(path, t) {
		return true
	}
	path = append(slices.Clone(path), t)
	for i := range t.NumField() {
		if f := t.Field(i); (f.IsExported() || f.Anonymous) && recursive(f.Type, path) {
			return true
		}
	}
	return false
}
