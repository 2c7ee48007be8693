package classic

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendString appends text as a JSON string. Unlike encoding/json it leaves
// <, > and & alone, as other servers of this API do; U+2028 and U+2029 are escaped.
func appendString(dst []byte, text string) []byte {
	dst = append(dst, '"')
	plain := 0 // text[plain:i] needs no escape
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			dst = append(dst, text[plain:i]...)
			dst = appendEscaped(dst, c)
			i++
			plain = i
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(append(dst, text[plain:i]...), `\ufffd`...)
			plain = i + size
		case r == '\u2028' || r == '\u2029':
			dst = append(append(dst, text[plain:i]...), `\u202`...)
			dst = append(dst, hexDigits[r&0xF])
			plain = i + size
		}
		i += size
	}
	return append(append(dst, text[plain:]...), '"')
}

func appendEscaped(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xF])
}

// appendStrings appends a JSON array of strings; none is [].
func appendStrings(dst []byte, texts []string) []byte {
	dst = append(dst, '[')
	for i, text := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, text)
	}
	return append(dst, ']')
}

// absent reports whether there is no value: an event read from the log has null
// where the live one has nothing.
func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// appendRaw appends raw, or otherwise when there is none.
func appendRaw(dst []byte, raw json.RawMessage, otherwise string) []byte {
	if absent(raw) {
		return append(dst, otherwise...)
	}
	return append(dst, raw...)
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
