package agent

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	jsonNumber      = reflect.TypeFor[json.Number]()
)

// answerSchema is the response schema of a question that brings none: what
// decodes into the Go type of its answer. Without it an answer of another type
// would be taken, and end the run, with nobody left to ask (D-35). As in
// encoding/json no key is required and unknown ones are allowed. Nil: all JSON fits.
func answerSchema(t reflect.Type) json.RawMessage {
	form := jsonForm(t, nil)
	if form == nil {
		return nil
	}
	raw, err := json.Marshal(form)
	if err != nil {
		return nil
	}
	return raw
}

// jsonForm describes the JSON that decodes into t; nil for any. Outer are the types around it.
func jsonForm(t reflect.Type, outer []reflect.Type) map[string]any {
	if t.Kind() == reflect.Pointer {
		return orNullForm(jsonForm(t.Elem(), outer))
	}
	switch at := reflect.PointerTo(t); {
	case at.Implements(jsonUnmarshaler), t == jsonNumber, slices.Contains(outer, t):
		return nil
	case at.Implements(textUnmarshaler):
		return map[string]any{"type": "string"}
	}
	inside := append(slices.Clone(outer), t)
	switch t.Kind() {
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return map[string]any{"type": "integer", "minimum": 0}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return nil // base64, or numbers
		}
		return withForm(map[string]any{"type": "array"}, "items", orNullForm(jsonForm(t.Elem(), inside)))
	case reflect.Map:
		return withForm(map[string]any{"type": "object"}, "additionalProperties", orNullForm(jsonForm(t.Elem(), inside)))
	case reflect.Struct:
		return withForm(map[string]any{"type": "object"}, "properties", fieldForms(t, inside))
	}
	return nil
}

// fieldForms describes the fields of a struct by their JSON names.
func fieldForms(t reflect.Type, inside []reflect.Type) map[string]any {
	forms := map[string]any{}
	seen := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		if !f.IsExported() || tag == "-" || f.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		form := orNullForm(jsonForm(f.Type, inside))
		if seen[name] || slices.Contains(strings.Split(options, ","), "string") {
			form = nil // the rules of embedding and quoting are encoding/json's
		}
		seen[name] = true
		delete(forms, name)
		if form != nil {
			forms[name] = form
		}
	}
	return forms
}

// withForm adds a part to a form unless it says nothing.
func withForm(form map[string]any, key string, part map[string]any) map[string]any {
	if len(part) > 0 {
		form[key] = part
	}
	return form
}

// orNullForm allows null, which encoding/json takes for everything, as well.
func orNullForm(form map[string]any) map[string]any {
	if kind, ok := form["type"].(string); ok {
		form["type"] = []string{kind, "null"}
	}
	return form
}
