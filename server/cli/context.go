package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// choices are the members of a suspension's context that list the decisions; they are shown as the choice itself.
var choices = []string{"allowed_decisions", "review_configs", "reviewConfigs"}

// showSuspension prints why an execution waits, and all that the reviewer is to see (spec/executions.md 6).
func showSuspension(w io.Writer, reason string, context json.RawMessage) error {
	var b strings.Builder
	b.WriteString("--- Execution suspended for human review ---\n")
	if reason != "" {
		b.WriteString(indented("reason: " + printable(reason)))
	}
	shown, err := without(context, append([]string{"reason", "suspend_reason"}, choices...)...)
	if err != nil {
		return err
	}
	text, err := asYAML(shown)
	if err != nil {
		return err
	}
	b.WriteString(indented(text))
	_, err = io.WriteString(w, b.String())
	return err
}

// without is an object less some of its members, the others as they stand and in their order.
func without(object json.RawMessage, keys ...string) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return object, nil //nolint:nilerr // not an object: shown as it is
	}
	out := []byte{'{'}
members:
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		for _, k := range keys {
			if key == k {
				continue members
			}
		}
		name, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}'), nil
}

// indented puts two spaces before each line.
func indented(text string) string {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n"
}
