package executions

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/parley-dev/parley/server/apierror"
)

// body is a request's JSON object, of which every key is known.
type body map[string]json.RawMessage

// newBody reads an object with these keys and no others.
func newBody(raw json.RawMessage, keys ...string) (body, error) {
	var b body
	if json.Unmarshal(raw, &b) != nil || b == nil {
		return nil, apierror.New(400, apierror.CodeInvalid, "The body must be a JSON object.")
	}
	var unknown []string
	for k := range b {
		if !slices.Contains(keys, k) {
			unknown = append(unknown, k)
		}
	}
	if len(unknown) == 0 {
		return b, nil
	}
	slices.Sort(unknown)
	e := apierror.BadField(apierror.CodeUnknown, unknown[0], "The body has no field "+strings.Join(unknown, ", ")+"; known are "+strings.Join(keys, ", ")+".")
	for _, k := range unknown[1:] {
		e.Fields = append(e.Fields, apierror.Field{Description: "There is no such field.", Field: k})
		e.Parameters = append(e.Parameters, k)
	}
	return nil, e
}

// has reports whether a field is there and not null.
func (b body) has(key string) bool {
	v, ok := b[key]
	return ok && !bytes.Equal(bytes.TrimSpace(v), []byte("null"))
}

// text reads a string; "" when it is absent or null.
func (b body) text(key string) (string, error) {
	if !b.has(key) {
		return "", nil
	}
	var s string
	if json.Unmarshal(b[key], &s) != nil {
		return "", apierror.BadField(apierror.CodeInvalid, key, "The field "+key+" must be a string.")
	}
	return s, nil
}

// texts reads an object of strings; nil when it is absent or null. No error quotes a value.
func (b body) texts(key string) (map[string]string, error) {
	if !b.has(key) {
		return nil, nil
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(b[key], &all) != nil {
		return nil, apierror.BadField(apierror.CodeInvalid, key, "The field "+key+" must be an object.")
	}
	out := map[string]string{}
	for name, raw := range all {
		var s *string
		if json.Unmarshal(raw, &s) != nil || s == nil {
			return nil, apierror.BadField(apierror.CodeInvalid, key+"."+name, "The values of "+key+" must be strings.")
		}
		out[name] = *s
	}
	return out, nil
}

// positive reads an integer above 0; 0 when it is absent or null.
func (b body) positive(key string) (int64, error) {
	if !b.has(key) {
		return 0, nil
	}
	var n int64
	if json.Unmarshal(b[key], &n) != nil || n < 1 {
		return 0, apierror.BadField(apierror.CodeInvalid, key, "The field "+key+" must be a whole number above 0.")
	}
	return n, nil
}

// input is what an invocation brings: {"message": "…"} as the user's message, or {"input": {…}} as it is.
func (b body) input() (json.RawMessage, error) {
	switch {
	case b.has("message") && b.has("input"):
		return nil, apierror.BadField(apierror.CodeInvalid, "input", "Give a message or an input, not both.")
	case b.has("input"):
		var o map[string]json.RawMessage
		if json.Unmarshal(b["input"], &o) != nil {
			return nil, apierror.BadField(apierror.CodeInvalid, "input", "The field input must be an object.")
		}
		return b["input"], nil
	}
	if !b.has("message") {
		return nil, apierror.BadField(apierror.CodeMissing, "message", "Give a message.")
	}
	message, err := b.text("message")
	if err != nil {
		return nil, err
	}
	if message == "" {
		return nil, apierror.BadField(apierror.CodeInvalid, "message", "The message must not be empty.")
	}
	type said struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	return json.Marshal(map[string]any{"messages": []said{{"user", message}}})
}
