package message

import (
	"encoding/json"
	"fmt"
	"strings"
)

// CoercionError says why something isn't a message.
type CoercionError struct{ Reason string }

func (e *CoercionError) Error() string {
	return "Unable to coerce message: " + e.Reason + ". Allowed roles: human, user, ai, assistant, system, developer, tool, remove."
}

func refuse(format string, args ...any) error {
	return &CoercionError{Reason: fmt.Sprintf(format, args...)}
}

// typeNames maps roles, types and class names to Type names (spec/runtime.md 4.2).
var typeNames = map[string]string{
	"human": Human, "user": Human, "HumanMessage": Human, "HumanMessageChunk": Human,
	"ai": AI, "assistant": AI, "AIMessage": AI, "AIMessageChunk": AI,
	"system": System, "developer": System, "SystemMessage": System, "SystemMessageChunk": System,
	"tool": Tool, "ToolMessage": Tool, "ToolMessageChunk": Tool,
	"remove": Remove, "RemoveMessage": Remove,
}

// Coerce reads one message in any of the forms that clients send
// (spec/runtime.md 4.2): a string, an object with type or role, a [role, content]
// pair or a serialized constructor. Errors: *CoercionError, JSON syntax.
func Coerce(raw json.RawMessage) (Message, error) {
	raw, err := compact(raw)
	if err != nil {
		return Message{}, err
	}
	return coerce(raw)
}

// CoerceList reads a list of messages, or a single one. Errors: as Coerce.
func CoerceList(raw json.RawMessage) ([]Message, error) {
	raw, err := compact(raw)
	if err != nil {
		return nil, err
	}
	var messages []Message
	err = eachMessage(raw, func(v json.RawMessage) error {
		m, err := coerce(v)
		messages = append(messages, m)
		return err
	})
	return messages, err
}

// eachMessage calls fn for each element of a list, or once for anything else.
func eachMessage(raw json.RawMessage, fn func(json.RawMessage) error) error {
	if !isArray(raw) {
		return fn(raw)
	}
	return eachElement(raw, fn)
}

// coerce is Coerce for checked, compact JSON.
func coerce(raw json.RawMessage) (Message, error) {
	switch {
	case isString(raw):
		return Message{Type: Human, Content: raw}, nil
	case isArray(raw):
		return coercePair(raw)
	case isObject(raw):
		return coerceObject(raw)
	}
	return Message{}, refuse("%s is not a message", abbreviate(raw))
}

func coercePair(raw json.RawMessage) (Message, error) {
	var parts []json.RawMessage
	if err := eachElement(raw, func(v json.RawMessage) error { parts = append(parts, v); return nil }); err != nil {
		return Message{}, err
	}
	if len(parts) != 2 {
		return Message{}, refuse("a list is read as [role, content]")
	}
	role, ok := unquote(parts[0])
	if !ok {
		return Message{}, refuse("the role %s is not a string", abbreviate(parts[0]))
	}
	m, err := typed(role)
	if err != nil {
		return Message{}, err
	}
	m.set("content", parts[1])
	return m, m.check()
}

// typed starts a message of the type that name stands for.
func typed(name string) (Message, error) {
	t, ok := typeNames[name]
	if !ok {
		return Message{}, refuse("unknown role %q", name)
	}
	m := Message{Type: t}
	if name == "developer" {
		m.AdditionalKwargs = json.RawMessage(`{"__openai_role__":"developer"}`)
	}
	return m, nil
}

func coerceObject(raw json.RawMessage) (Message, error) {
	var typ, role string
	var lc bool
	var class, kwargs json.RawMessage
	if err := eachField(raw, func(key string, v json.RawMessage) error {
		switch key {
		case "type":
			typ, _ = unquote(v)
		case "role":
			role, _ = unquote(v)
		case "lc":
			lc = true
		case "id":
			class = v
		case "kwargs":
			kwargs = v
		}
		return nil
	}); err != nil {
		return Message{}, err
	}
	if lc && typ == "constructor" && isObject(kwargs) {
		name := ""
		if err := eachElement(class, func(v json.RawMessage) error { name, _ = unquote(v); return nil }); err != nil {
			return Message{}, refuse("a serialized message needs a class path")
		}
		return coerceFields(name, kwargs)
	}
	name := typ
	if _, ok := typeNames[typ]; !ok && role != "" {
		name = role
	}
	if name == "" {
		return Message{}, refuse("an object needs a type or a role")
	}
	return coerceFields(name, raw)
}

// coerceFields reads the keys of a message of the type that name stands for.
func coerceFields(name string, raw json.RawMessage) (Message, error) {
	m, err := typed(name)
	if err != nil {
		return Message{}, err
	}
	mark := m.AdditionalKwargs
	err = eachField(raw, func(key string, v json.RawMessage) error {
		switch key {
		case "type", "role", "tool_call_chunks":
			return nil
		case "id":
			if _, ok := unquote(v); !ok && !isNull(v) {
				return refuse("the id %s is not a string", abbreviate(v))
			}
		case "tool_calls":
			// Errors in arguments must reach the sender.
			if m.Type == AI && isArray(v) {
				if err := eachElement(v, func(e json.RawMessage) error { _, err := decodeCall(e); return err }); err != nil {
					return err
				}
			}
		}
		m.set(key, v)
		return nil
	})
	if err != nil {
		return Message{}, err
	}
	if mark != nil && m.AdditionalKwargs != nil && string(m.AdditionalKwargs) != string(mark) {
		m.AdditionalKwargs = mergeObjects(m.AdditionalKwargs, mark, replaceStrings)
	}
	return m, m.check()
}

// check applies what a type demands and fills in missing content.
func (m *Message) check() error {
	switch {
	case len(m.Content) == 0:
		m.Content = json.RawMessage(`[]`)
	case !isString(m.Content) && !isArray(m.Content):
		return refuse("content is %s, not a string or a list of blocks", abbreviate(m.Content))
	}
	if m.Type == Tool && m.ToolCallID == "" {
		return refuse("a tool message needs a tool_call_id")
	}
	if m.Type == Remove && m.ID == "" {
		return refuse("a remove message needs an id")
	}
	return nil
}

func abbreviate(raw json.RawMessage) string {
	if len(raw) > 60 {
		return strings.ToValidUTF8(string(raw[:60]), "") + "…"
	}
	return string(raw)
}
