package agent

import (
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

// property is what a channel adds to the schema of its state key.
type property struct {
	// messages: the key holds a list of messages, whatever its Go type.
	messages bool
	// initial is the key's default as JSON; nil for none.
	initial json.RawMessage
}

// reflectSchema derives the schema of a Go type. Of a state struct it shows the
// keys that are in properties (nil: all). It requires no key of the outermost struct:
// a state is seldom complete. It returns nil when the type has no JSON form.
func reflectSchema(t reflect.Type, properties map[string]property) (schema json.RawMessage) {
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
			switch t {
			case messageListType:
				messages = true
				return messageListSchema()
			case messageType:
				messages = true
				return messageListSchema().Items
			}
			return nil
		},
	}
	s := r.ReflectFromType(t)
	if s.Properties != nil && properties != nil {
		for _, key := range slices.Collect(s.Properties.KeysFromOldest()) {
			p, ok := properties[key]
			if !ok {
				s.Properties.Delete(key)
				continue
			}
			shown := s.Properties.Value(key)
			if p.messages {
				messages = true
				list := messageListSchema()
				shown.Type, shown.Items, shown.Ref = list.Type, list.Items, ""
				if shown.Extras == nil {
					shown.Extras = map[string]any{}
				}
				shown.Extras["langgraph_type"] = "messages"
			}
			if p.initial != nil {
				shown.Default = p.initial
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
	raw, err := json.Marshal(s)
	if err != nil {
		return nil
	}
	return raw
}

func messageListSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Ref: "#/definitions/" + messageDefinition}}
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
	if s.Type == "array" {
		s.Default = arrayDefault(s.Default)
	}
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

// arrayDefault reads the tag default=[…], which the reflector takes for an element of the list.
func arrayDefault(v any) any {
	if list, ok := v.([]any); ok && len(list) == 1 {
		if text, ok := list[0].(string); ok && isArray([]byte(text)) && json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
	}
	return v
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
	if t == messageListType || t == messageType {
		return false
	}
	if t.Name() != "" {
		if slices.Contains(path, t) {
			return true
		}
		path = append(slices.Clone(path), t)
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return recursive(t.Elem(), path)
	case reflect.Struct:
	default:
		return false
	}
	for i := range t.NumField() {
		if f := t.Field(i); (f.IsExported() || f.Anonymous) && recursive(f.Type, path) {
			return true
		}
	}
	return false
}
