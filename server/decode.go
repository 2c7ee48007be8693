package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/exactjson"
)

// fields reads the fields of a JSON object one by one. A null field counts as
// absent, unknown fields are ignored (spec/rest-api.md 1.2); what is wrong is
// collected and named by its path, so that one reply tells all faults.
type fields struct {
	values map[string]json.RawMessage
	whole  json.RawMessage // the object as it came
	path   []any
	issues []issue
}

// newFields reads an object; ok is false when raw is none.
func newFields(raw json.RawMessage, path ...any) (f *fields, ok bool) {
	f = &fields{whole: raw, path: path}
	if kindOf(raw) != "object" || json.Unmarshal(raw, &f.values) != nil {
		return nil, false
	}
	return f, true
}

// unambiguous refuses an object that answers a review, or may do so, and has a key twice, anywhere.
func (f *fields) unambiguous() error {
	if at, twice := exactjson.Repeated(f.whole); twice {
		return agent.RepeatedKey(at, nil)
	}
	return nil
}

// err returns what was found wrong so far; nil for nothing.
func (f *fields) err() error {
	if len(f.issues) == 0 {
		return nil
	}
	return &validationError{f.issues}
}

// raw returns a field; nil when it is absent or null.
func (f *fields) raw(key string) json.RawMessage {
	v := f.values[key]
	if len(v) == 0 || string(v) == "null" {
		return nil
	}
	return v
}

// has reports whether the field is there, be it null.
func (f *fields) has(key string) bool { _, ok := f.values[key]; return ok }

// at returns the path of a field.
func (f *fields) at(key string, more ...any) []any {
	return append(append(append([]any{}, f.path...), key), more...)
}

// fault notes what is wrong with a field.
func (f *fields) fault(key, message string, more ...any) {
	f.issues = append(f.issues, issue{Code: "custom", Message: message, Path: f.at(key, more...)})
}

// wrong notes that a field has the wrong type.
func (f *fields) wrong(key, expected string) {
	f.issues = append(f.issues, wrongType(expected, f.values[key], f.at(key)))
}

// require notes absent fields.
func (f *fields) require(keys ...string) {
	for _, k := range keys {
		if f.raw(k) == nil {
			f.issues = append(f.issues, wrongType("", nil, f.at(k)))
		}
	}
}

// str reads a string; "" when absent.
func (f *fields) str(key string) string {
	s, _ := f.optional(key)
	return s
}

// optional reads a string and tells whether it is there.
func (f *fields) optional(key string) (s string, ok bool) {
	v := f.raw(key)
	if v == nil {
		return "", false
	}
	if kindOf(v) != "string" || json.Unmarshal(v, &s) != nil {
		f.wrong(key, "string")
		return "", false
	}
	return s, true
}

// uuid reads a UUID, in lower case, so that one spelt in two ways isn't two; "" when absent.
func (f *fields) uuid(key string) string {
	s, ok := f.optional(key)
	if ok && !isUUID(s) {
		f.issues = append(f.issues, issue{Code: "invalid_string", Message: "Invalid uuid", Path: f.at(key)})
		return ""
	}
	return strings.ToLower(s)
}

// enum reads a string that is one of allowed; def when absent.
func (f *fields) enum(key, def string, allowed ...string) string {
	s, ok := f.optional(key)
	switch {
	case !ok:
		return def
	case slices.Contains(allowed, s):
		return s
	}
	f.issues = append(f.issues, issue{
		Code: "invalid_enum_value", Path: f.at(key), Received: s,
		Message: fmt.Sprintf("Invalid enum value. Expected '%s', received '%s'", strings.Join(allowed, "' | '"), s),
	})
	return def
}

// boolean reads a bool; a string or number is read as in a query (spec/rest-api.md 1.3).
func (f *fields) boolean(key string) bool {
	v := f.raw(key)
	switch kindOf(v) {
	case "":
		return false
	case "boolean":
		return string(v) == "true"
	case "number":
		return string(v) == "1"
	case "string":
		var s string
		return json.Unmarshal(v, &s) == nil && truthy(s)
	}
	f.wrong(key, "boolean")
	return false
}

// object reads an object as it is; nil when absent.
func (f *fields) object(key string) json.RawMessage {
	v := f.raw(key)
	if v != nil && kindOf(v) != "object" {
		f.wrong(key, "object")
		return nil
	}
	return v
}

// keyed reads an object by key; nil when absent.
func (f *fields) keyed(key string) map[string]json.RawMessage {
	v := f.object(key)
	if v == nil {
		return nil
	}
	m := map[string]json.RawMessage{}
	if json.Unmarshal(v, &m) != nil {
		f.wrong(key, "object")
	}
	return m
}

// Bounds of what searches look through, and of what they are asked for: without them one request could keep a store
// busy for minutes, and so all other callers.
const (
	longestMetadata = 256 << 10 // bytes
	mostConditions  = 100
	mostIDs         = 10_000
)

// metadata reads the metadata of something that is to be stored.
func (f *fields) metadata() map[string]json.RawMessage {
	if n := len(f.raw("metadata")); n > longestMetadata {
		f.fault("metadata", fmt.Sprintf("Metadata has at most %d KiB", longestMetadata>>10))
		return nil
	}
	return f.keyed("metadata")
}

// conditions reads an object that all that is found has to match.
func (f *fields) conditions(key string) map[string]json.RawMessage {
	m := f.keyed(key)
	if len(m) > mostConditions {
		f.fault(key, fmt.Sprintf("At most %d keys can be searched for", mostConditions))
		return nil
	}
	return m
}

// ids reads a list of UUIDs, in lower case.
func (f *fields) ids(key string) []string {
	list := f.strings(key)
	if len(list) > mostIDs {
		f.issues = append(f.issues, issue{Code: "too_big", Message: fmt.Sprintf("Array must contain at most %d element(s)", mostIDs), Path: f.at(key)})
		return nil
	}
	for i, id := range list {
		if !isUUID(id) {
			f.fault(key, "Invalid uuid", i)
		}
		list[i] = strings.ToLower(id)
	}
	return list
}

// strings reads a list of strings; nil when absent.
func (f *fields) strings(key string) []string {
	v := f.raw(key)
	if v == nil {
		return nil
	}
	var list []json.RawMessage
	if kindOf(v) != "array" || json.Unmarshal(v, &list) != nil {
		f.wrong(key, "array")
		return nil
	}
	out := make([]string, 0, len(list))
	for i, e := range list {
		var s string
		if kindOf(e) != "string" || json.Unmarshal(e, &s) != nil {
			f.issues = append(f.issues, wrongType("string", e, f.at(key, i)))
			continue
		}
		out = append(out, s)
	}
	return out
}

// oneOrMany reads a string or a list of strings.
func (f *fields) oneOrMany(key string) []string {
	if kindOf(f.raw(key)) == "string" {
		return []string{f.str(key)}
	}
	return f.strings(key)
}

// number reads a number ≥ 0; def when absent.
func (f *fields) number(key string, def float64) float64 {
	v := f.raw(key)
	if v == nil {
		return def
	}
	var n float64
	if kindOf(v) != "number" || json.Unmarshal(v, &n) != nil || math.IsInf(n, 0) {
		f.wrong(key, "number")
		return def
	}
	if n < 0 {
		f.issues = append(f.issues, issue{Code: "too_small", Message: "Number must be greater than or equal to 0", Path: f.at(key)})
		return def
	}
	return n
}

// integer reads an integer in [low, high]; def when absent.
func (f *fields) integer(key string, def, low, high int) int {
	v := f.raw(key)
	if v == nil {
		return def
	}
	n := f.number(key, float64(low))
	switch {
	case n != math.Trunc(n):
		f.wrong(key, "integer")
	case n < float64(low):
		f.issues = append(f.issues, issue{Code: "too_small", Message: fmt.Sprintf("Number must be greater than or equal to %d", low), Path: f.at(key)})
	case n > float64(high):
		f.issues = append(f.issues, issue{Code: "too_big", Message: fmt.Sprintf("Number must be less than or equal to %d", high), Path: f.at(key)})
	default:
		return int(n)
	}
	return def
}

// wrongType is the issue of a value with the wrong type; absent when raw is empty.
func wrongType(expected string, raw json.RawMessage, path []any) issue {
	received := kindOf(raw)
	if received == "" {
		return issue{Code: "invalid_type", Expected: expected, Received: "undefined", Message: "Required", Path: path}
	}
	return issue{
		Code: "invalid_type", Expected: expected, Received: received, Path: path,
		Message: fmt.Sprintf("Expected %s, received %s", expected, received),
	}
}

// kindOf names the JSON type of a value; "" when it is empty.
func kindOf(raw json.RawMessage) string {
	t := bytes.TrimLeft(raw, " \t\r\n")
	if len(t) == 0 {
		return ""
	}
	switch t[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// rawOr returns raw, or def when it is empty.
func rawOr(raw json.RawMessage, def string) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(def)
	}
	return raw
}
