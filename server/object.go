package server

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/labstack/echo/v4"
)

// object assembles a JSON object from parts that are JSON already: states are
// large, and splicing their bytes is hundreds of times cheaper than passing
// them through an encoder (spec/libraries.md 1).
type object struct{ b []byte }

// raw appends a member whose value is JSON.
func (o *object) raw(key string, value []byte) *object {
	if len(o.b) == 0 {
		o.b = append(o.b, '{')
	} else {
		o.b = append(o.b, ',')
	}
	o.b = append(append(append(o.b, '"'), key...), '"', ':')
	if len(value) == 0 {
		value = []byte("null")
	}
	o.b = append(o.b, value...)
	return o
}

// any appends a member; values of this API always encode.
func (o *object) any(key string, value any) *object { return o.raw(key, encode(value)) }

// done returns the object.
func (o *object) done() json.RawMessage {
	if len(o.b) == 0 {
		return json.RawMessage("{}")
	}
	return append(o.b, '}')
}

// encode returns a value's JSON without HTML escapes; what can't be encoded is null.
func encode(value any) json.RawMessage {
	switch v := value.(type) {
	case json.RawMessage:
		return v
	case string:
		if plain(v) {
			return append(append(append(make([]byte, 0, len(v)+2), '"'), v...), '"')
		}
	}
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if e.Encode(value) != nil {
		return json.RawMessage("null")
	}
	return bytes.TrimRight(buf.Bytes(), "\n")
}

// plain reports whether a string needs no escapes in JSON.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x7f {
			return false
		}
	}
	return true
}

// list joins JSON values to an array.
func list(items []json.RawMessage) json.RawMessage {
	b := []byte{'['}
	for i, it := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, it...)
	}
	return append(b, ']')
}

// writeJSON sends a value as JSON.
func writeJSON(c echo.Context, status int, value any) error {
	return c.Blob(status, echo.MIMEApplicationJSON, encode(value))
}

// pick keeps the members of an object that are selected, in their own order; all of them without a selection.
func pick(obj json.RawMessage, selected []string) json.RawMessage {
	if len(selected) == 0 {
		return obj
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(obj, &members) != nil {
		return obj
	}
	out := &object{}
	for _, key := range selected {
		if v, ok := members[key]; ok {
			out.raw(key, v)
			delete(members, key)
		} else if nested, ok := nestedValue(members, key); ok {
			out.raw(key, nested)
		}
	}
	return out.done()
}

// nestedValue reads a selection like values.messages.
func nestedValue(members map[string]json.RawMessage, key string) (json.RawMessage, bool) {
	head, rest, ok := strings.Cut(key, ".")
	if !ok || !plain(key) {
		return nil, false
	}
	var inner map[string]json.RawMessage
	if json.Unmarshal(members[head], &inner) != nil {
		return nil, false
	}
	v, ok := inner[rest]
	return v, ok
}
