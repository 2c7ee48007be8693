package classic

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/parley-dev/parley/stream/frame"
)

func appendString(dst []byte, text string) []byte { return frame.AppendString(dst, text) }

func appendStrings(dst []byte, texts []string) []byte { return frame.AppendStrings(dst, texts) }

func absent(raw json.RawMessage) bool { return frame.Absent(raw) }

func appendRaw(dst []byte, raw json.RawMessage, otherwise string) []byte {
	return frame.AppendRaw(dst, raw, otherwise)
}

// appendTime appends a time in milliseconds since the epoch as a JSON string.
func appendTime(dst []byte, millis int64) []byte {
	dst = append(dst, '"')
	dst = time.UnixMilli(millis).UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
	return append(dst, '"')
}

func quoted(text string) json.RawMessage { return appendString(nil, text) }

// object is a JSON object whose keys keep the order in which they were first set.
type object struct {
	keys   []string
	values map[string]json.RawMessage
}

// set sets a key; a key that was set before keeps its place.
func (o *object) set(key string, value json.RawMessage) {
	if o.values == nil {
		o.values = map[string]json.RawMessage{}
	}
	if _, ok := o.values[key]; !ok {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

// setDefault sets a key unless it is there.
func (o *object) setDefault(key string, value json.RawMessage) {
	if _, ok := o.values[key]; !ok {
		o.set(key, value)
	}
}

// drop removes a key.
func (o *object) drop(key string) {
	if _, ok := o.values[key]; ok {
		delete(o.values, key)
		o.keys = slices.DeleteFunc(o.keys, func(k string) bool { return k == key })
	}
}

// setAll sets every key of m, in sorted order, so that the result is the same each time.
func (o *object) setAll(m map[string]json.RawMessage) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		o.set(key, m[key])
	}
}

func (o *object) append(dst []byte) []byte {
	dst = append(dst, '{')
	for i, key := range o.keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, key)
		dst = append(dst, ':')
		dst = appendRaw(dst, o.values[key], "null")
	}
	return append(dst, '}')
}

// appendMap appends a map as an object with sorted keys; nil is {}.
func appendMap(dst []byte, m map[string]json.RawMessage) []byte {
	var o object
	o.setAll(m)
	return o.append(dst)
}

// appendStringMap appends a map of strings; nil is null.
func appendStringMap(dst []byte, m map[string]string) []byte {
	if m == nil {
		return append(dst, "null"...)
	}
	var o object
	for _, key := range slices.Sorted(maps.Keys(m)) {
		o.set(key, quoted(m[key]))
	}
	return o.append(dst)
}
