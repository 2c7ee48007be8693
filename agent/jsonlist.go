package agent

import (
	"bytes"
	"encoding/json"
)

// isArray tells whether raw is a JSON array.
func isArray(raw []byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '['
}

// elements splits a JSON array; what is no array is its only element.
func elements(raw json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if !isArray(raw) || json.Unmarshal(raw, &list) != nil {
		return []json.RawMessage{raw}
	}
	return list
}

// joinElements makes a JSON array.
func joinElements(items []json.RawMessage) json.RawMessage {
	b := []byte{'['}
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, item...)
	}
	return append(b, ']')
}

// concat splices JSON arrays without looking into them; null is an empty one (Go's
// nil slice), what else is no array is one element.
func concat(old json.RawMessage, updates []json.RawMessage) (json.RawMessage, error) {
	size := len(old)
	for _, u := range updates {
		size += len(u) + 1
	}
	b := append(make([]byte, 0, size+2), '[')
	for _, part := range append([]json.RawMessage{old}, updates...) {
		part = bytes.TrimSpace(part)
		if isArray(part) {
			part = bytes.TrimSpace(part[1 : len(part)-1])
		} else if isNull(part) {
			continue
		}
		if len(part) == 0 {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, part...)
	}
	return append(b, ']'), nil
}
