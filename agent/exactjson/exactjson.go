// Package exactjson decodes JSON as encoding/json does, but for two leniences by which a
// document may mean one thing to the JSON Schema that let it pass and another to the
// program: a key belongs to a struct's field only if it is exactly its name, not in
// another casing, and of a repeated key only the last value counts.
package exactjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// Unmarshal decodes raw into v, a pointer. Types with an UnmarshalJSON of their own read
// their part as it is. Errors are those of encoding/json.
func Unmarshal(raw []byte, v any) error {
	if t := reflect.TypeOf(v); t != nil && t.Kind() == reflect.Pointer && json.Valid(raw) {
		raw = reduce(raw, t.Elem())
	}
	return json.Unmarshal(raw, v)
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// reduce leaves of valid JSON what may be decoded into t.
func reduce(raw []byte, t reflect.Type) []byte {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	raw = bytes.TrimSpace(raw)
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return raw
	}
	switch kind := t.Kind(); {
	case kind == reflect.Struct && raw[0] == '{':
		fields := map[string]reflect.Type{}
		addFields(fields, t, nil)
		return object(raw, func(key string) reflect.Type { return fields[key] })
	case kind == reflect.Map && raw[0] == '{':
		return object(raw, func(string) reflect.Type { return t.Elem() })
	case (kind == reflect.Slice || kind == reflect.Array) && raw[0] == '[':
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) != nil {
			return raw
		}
		for i, item := range items {
			items[i] = reduce(item, t.Elem())
		}
		return join('[', ']', items)
	}
	return raw
}

// addFields adds the names of a struct's fields; those of embedded structs count less.
func addFields(fields map[string]reflect.Type, t reflect.Type, outer []reflect.Type) {
	for _, o := range outer {
		if o == t {
			return
		}
	}
	var embedded []reflect.Type
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		if f.Anonymous && name == "" {
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct {
				embedded = append(embedded, inner)
				continue
			}
		}
		if !f.IsExported() || tag == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		if fields[name] == nil {
			fields[name] = f.Type
		}
	}
	for _, e := range embedded {
		addFields(fields, e, append(outer, t))
	}
}

// object leaves of an object the last value of each key that has a type.
func object(raw []byte, typeOf func(key string) reflect.Type) []byte {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return raw
	}
	var members []json.RawMessage
	at := map[string]int{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return raw
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return raw
		}
		key, _ := tok.(string)
		t := typeOf(key)
		if t == nil {
			continue
		}
		name, err := json.Marshal(key)
		if err != nil {
			return raw
		}
		member := append(append(name, ':'), reduce(value, t)...)
		if i, again := at[key]; again {
			members[i] = member
			continue
		}
		at[key] = len(members)
		members = append(members, member)
	}
	return join('{', '}', members)
}

func join(open, end byte, parts []json.RawMessage) []byte {
	b := []byte{open}
	for i, p := range parts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, p...)
	}
	return append(b, end)
}
