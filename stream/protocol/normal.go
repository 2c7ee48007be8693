package protocol

import (
	"bytes"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream/frame"
)

// appendState appends a state with its messages in their normal form
// (spec/streaming-protocol.md 3.6).
func appendState(dst []byte, s *agent.State) []byte {
	dst = append(dst, '{')
	for i, key := range s.Keys() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(frame.AppendString(dst, key), ':')
		switch v, _ := s.Value(key); {
		case v.List != nil:
			dst = append(dst, '[')
			for j, raw := range v.List.Raws() {
				if j > 0 {
					dst = append(dst, ',')
				}
				dst = appendMessage(dst, raw)
			}
			dst = append(dst, ']')
		case v.JSON != nil:
			dst = appendValue(dst, v.JSON)
		default:
			dst = append(dst, "null"...)
		}
	}
	return append(dst, '}')
}

// appendNormal is appendState for a state that is there as JSON only.
func appendNormal(dst, state []byte) []byte {
	if len(state) == 0 || state[0] != '{' {
		return frame.AppendRaw(dst, state, "null")
	}
	dst = append(dst, '{')
	first := true
	for m := range members(state) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(dst, m.key...), ':')
		dst = appendValue(dst, m.value)
	}
	return append(dst, '}')
}

// appendUpdate appends a node's delta: an object, or a list of objects.
func appendUpdate(dst, data []byte) []byte {
	if len(data) == 0 || data[0] != '[' {
		return appendNormal(dst, data)
	}
	dst = append(dst, '[')
	first := true
	for element := range elements(data) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = appendNormal(dst, element)
	}
	return append(dst, ']')
}

// appendValue appends the value of a state key: messages in their normal form,
// all else as it is.
func appendValue(dst, value []byte) []byte {
	switch {
	case isMessage(value):
		return appendMessage(dst, value)
	case len(value) == 0 || value[0] != '[':
		return frame.AppendRaw(dst, value, "null")
	}
	start := len(dst)
	dst = append(dst, '[')
	for element := range elements(value) {
		if !isMessage(element) {
			return append(dst[:start], value...)
		}
		if len(dst) > start+1 {
			dst = append(dst, ',')
		}
		dst = appendMessage(dst, element)
	}
	return append(dst, ']')
}

// droppable are the keys of a message that say nothing when they are empty.
var droppable = [][]byte{
	[]byte(`"additional_kwargs"`), []byte(`"response_metadata"`), []byte(`"tool_calls"`), []byte(`"invalid_tool_calls"`),
}

// appendMessage appends a message without what is empty in it; all that is there
// stays, byte for byte (D-25).
func appendMessage(dst, raw []byte) []byte {
	if len(raw) == 0 || raw[0] != '{' {
		return frame.AppendRaw(dst, raw, "null")
	}
	dst = append(dst, '{')
	first := true
	for m := range members(raw) {
		if emptyValue(m.value) && isDroppable(m.key) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(append(dst, m.key...), ':'), m.value...)
	}
	return append(dst, '}')
}

func isDroppable(key []byte) bool {
	for _, d := range droppable {
		if bytes.Equal(key, d) {
			return true
		}
	}
	return false
}

func emptyValue(v []byte) bool {
	return len(v) == 2 && (v[0] == '{' || v[0] == '[') || string(v) == "null"
}

// isMessage reports whether a JSON value looks like a message: an object with
// content and a message's type.
func isMessage(value []byte) bool {
	if len(value) == 0 || value[0] != '{' {
		return false
	}
	content, typed := false, false
	for m := range members(value) {
		switch string(m.key) {
		case `"content"`:
			content = true
		case `"type"`:
			switch string(m.value) {
			case `"human"`, `"ai"`, `"system"`, `"tool"`, `"remove"`:
				typed = true
			}
		}
	}
	return content && typed
}
