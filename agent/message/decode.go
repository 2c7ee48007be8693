package message

import (
	"encoding/json"
	"errors"
)

// errFound ends a scan early.
var errFound = errors.New("message: found")

// UnmarshalJSON implements json.Unmarshaler. It accepts every form that Coerce does.
func (m *Message) UnmarshalJSON(b []byte) error {
	c, err := Coerce(b)
	if err != nil {
		return err
	}
	*m = c
	return nil
}

// decode reads a message in its flat wire form. It takes what it can get from
// a malformed one: lists only hold messages that were checked on their way in.
func decode(raw json.RawMessage) Message {
	m := Message{Type: typeOf(raw)}
	_ = eachField(raw, func(key string, v json.RawMessage) error {
		if key != "type" {
			m.set(key, v)
		}
		return nil
	})
	return m
}

// typeOf returns the type of a message in its wire form.
func typeOf(raw json.RawMessage) (typ string) {
	_ = eachField(raw, func(key string, v json.RawMessage) error {
		if key != "type" {
			return nil
		}
		switch string(v) { // no allocation for the usual ones
		case `"human"`:
			typ = Human
		case `"ai"`:
			typ = AI
		case `"tool"`:
			typ = Tool
		default:
			typ, _ = unquote(v)
		}
		return errFound
	})
	return typ
}

// set stores one key of the wire form; Type must be known. What doesn't fit the
// key's field goes to Extra, so that it isn't lost. Null means unset.
func (m *Message) set(key string, v json.RawMessage) {
	var ok bool
	switch key {
	case "id":
		m.ID, ok = unquote(v)
	case "name":
		m.Name, ok = unquote(v)
	case "content":
		if !isNull(v) {
			m.Content = v
		}
		return
	case "additional_kwargs":
		if isObject(v) {
			m.AdditionalKwargs = v
		}
		return
	case "response_metadata":
		if isObject(v) {
			m.ResponseMetadata = v
		}
		return
	case "tool_calls", "invalid_tool_calls", "usage_metadata":
		ok = m.Type == AI && m.setModel(key, v)
	case "tool_call_id", "status", "artifact":
		ok = m.Type == Tool && m.setTool(key, v)
	default:
		m.setExtra(key, v)
		return
	}
	if !ok && !isNull(v) {
		m.setExtra(key, v)
	}
}

func (m *Message) setModel(key string, v json.RawMessage) bool {
	switch key {
	case "tool_calls":
		var calls []ToolCall
		if eachElement(v, func(e json.RawMessage) error {
			c, err := decodeCall(e)
			calls = append(calls, c)
			return err
		}) != nil {
			return false
		}
		m.ToolCalls = calls
	case "invalid_tool_calls":
		var calls []InvalidToolCall
		if len(v) > 2 && json.Unmarshal(v, &calls) != nil {
			return false
		}
		m.InvalidToolCalls = calls
	case "usage_metadata":
		var u *Usage
		if json.Unmarshal(v, &u) != nil {
			return false
		}
		m.UsageMetadata = u
	}
	return true
}

func (m *Message) setTool(key string, v json.RawMessage) (ok bool) {
	switch key {
	case "tool_call_id":
		m.ToolCallID, ok = unquote(v)
	case "status":
		m.Status, ok = unquote(v)
	case "artifact":
		if !isNull(v) {
			m.Artifact = v
		}
		return true
	}
	return ok
}

func (m *Message) setExtra(key string, v json.RawMessage) {
	if m.Extra == nil {
		m.Extra = map[string]json.RawMessage{}
	}
	m.Extra[key] = v
}

// decodeCall reads a tool call in its own form, or in OpenAI's (spec/runtime.md 4.2).
func decodeCall(raw json.RawMessage) (ToolCall, error) {
	c := ToolCall{Type: "tool_call"}
	var function json.RawMessage
	if err := eachField(raw, func(key string, v json.RawMessage) error {
		switch key {
		case "name":
			c.Name, _ = unquote(v)
		case "args":
			if !isNull(v) {
				c.Args = v
			}
		case "id":
			c.ID, _ = unquote(v)
		case "function":
			function = v
		}
		return nil
	}); err != nil {
		return c, err
	}
	if !isObject(function) {
		return c, nil
	}
	return c, eachField(function, func(key string, v json.RawMessage) error {
		switch key {
		case "name":
			c.Name, _ = unquote(v)
		case "arguments":
			text, ok := unquote(v)
			if !ok {
				c.Args = v
				return nil
			}
			if text == "" {
				return nil
			}
			args, err := compact(json.RawMessage(text))
			if err != nil {
				return &CoercionError{Reason: "arguments of tool call " + c.Name + " are not JSON: " + err.Error()}
			}
			c.Args = args
		}
		return nil
	})
}
