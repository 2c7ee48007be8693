package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// checkType refuses a value from a node, with its encoding, that the nodes behind it could not decode:
// once it is in the state each of them would fail. Values of the key's own Go type need no look.
func (s *channelSpec) checkType(v any, raw json.RawMessage) error {
	if !s.state || !s.single() && s.kind != kindAnyValue {
		return nil // reducers and topics take other types than they hold
	}
	t := reflect.TypeOf(v)
	if t == nil || t == s.typ || s.typ.Kind() == reflect.Interface || s.typ.Kind() == reflect.Pointer && t == s.typ.Elem() {
		return nil
	}
	return s.decodes(raw)
}

// decodes refuses a value of the state key that doesn't decode into its Go type.
func (s *channelSpec) decodes(raw json.RawMessage) error {
	if err := json.Unmarshal(raw, reflect.New(s.typ).Interface()); err != nil {
		return &InvalidUpdateError{Message: fmt.Sprintf("Invalid value for state key %q: %s", s.name, typeFault(err))}
	}
	return nil
}

// typeFault says how JSON doesn't fit a Go type, in words for clients who know JSON alone.
func typeFault(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	want := wrong.Type.String()
	if kind, ok := jsonForm(wrong.Type, nil)["type"].(string); ok {
		want = kind
	}
	if wrong.Field != "" {
		return fmt.Sprintf("%s: got %s, want %s", wrong.Field, wrong.Value, want)
	}
	return fmt.Sprintf("got %s, want %s", wrong.Value, want)
}
