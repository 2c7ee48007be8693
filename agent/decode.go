package agent

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/parley-dev/parley/agent/message"
)

var listType = reflect.TypeFor[message.List]()

// stateField is a field of a state struct.
type stateField struct {
	key   string
	index []int
	typ   reflect.Type
	tag   string // the agent tag
}

// stateFields lists the fields of a struct type that are state keys: exported, with a json tag.
func stateFields(t reflect.Type) []stateField {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	var fields []stateField
	for _, f := range reflect.VisibleFields(t) {
		tag, ok := f.Tag.Lookup("json")
		name, _, _ := strings.Cut(tag, ",")
		if !ok || !f.IsExported() || name == "-" || name == "" {
			continue
		}
		fields = append(fields, stateField{key: name, index: f.Index, typ: f.Type, tag: f.Tag.Get("agent")})
	}
	return fields
}

// decoder reads a task's input into a Go value, field by field: state keys that
// the type doesn't have are never decoded.
type decoder struct {
	typ    reflect.Type
	fields []stateField
}

func newDecoder(t reflect.Type) *decoder { return &decoder{typ: t, fields: stateFields(t)} }

// decode reads in into the value that dst points to.
func (d *decoder) decode(in taskInput, dst any) error {
	if in.raw != nil {
		if err := json.Unmarshal(in.raw, dst); err != nil {
			return fmt.Errorf("agent: decode input: %w", err)
		}
		return nil
	}
	if len(d.fields) == 0 {
		if d.typ.Kind() == reflect.Struct {
			return nil
		}
		if err := json.Unmarshal(in.state.JSON(), dst); err != nil {
			return fmt.Errorf("agent: decode state: %w", err)
		}
		return nil
	}
	v := reflect.ValueOf(dst).Elem()
	for _, f := range d.fields {
		value, ok := in.state.Value(f.key)
		if !ok {
			continue
		}
		field := v.FieldByIndex(f.index)
		if value.List != nil && f.typ == listType {
			field.Set(reflect.ValueOf(*value.List))
			continue
		}
		raw := value.JSON
		if value.List != nil {
			raw = value.List.AppendJSON(nil)
		}
		if err := json.Unmarshal(raw, field.Addr().Interface()); err != nil {
			return fmt.Errorf("agent: decode state key %q: %w", f.key, err)
		}
	}
	return nil
}
