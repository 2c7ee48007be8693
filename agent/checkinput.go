package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-dev/parley/agent/message"
)

// CheckInput validates plain input by a dry run of the reducers and assigns ids to messages
// without one, so that a retry of the run keeps them. It returns the input to store and warnings
// that name dropped keys. Null input (continue) is returned as nil. Errors: *InvalidUpdateError.
func (g *Graph) CheckInput(_ context.Context, input json.RawMessage, ids IDs) (json.RawMessage, []string, error) {
	if isNull(input) {
		return nil, nil, nil
	}
	fields, err := objectWrites(input)
	if err != nil {
		return nil, nil, &InvalidUpdateError{Message: "Invalid input: must be an object of state keys"}
	}
	var writes []Write
	var dropped []string
	out := []byte{'{'}
	for _, f := range fields {
		if !slices.Contains(g.inputKeys, f.Channel) {
			dropped = append(dropped, f.Channel)
			continue
		}
		if g.specs[f.Channel].kind == kindMessages {
			// What a Remove message removes is known to the run only: coercion is all that is checked here.
			given, err := g.identified([]Write{f}, ids.UUID)
			if err != nil {
				return nil, nil, err
			}
			if !identifiedAsGiven(f.Value) {
				f = given[0]
			}
		} else {
			writes = append(writes, f)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(appendString(out, f.Channel), ':'), f.Value...)
	}
	if g.strict && dropped != nil {
		return nil, nil, &InvalidUpdateError{Message: "Invalid input: unknown state keys: " + strings.Join(dropped, ", ")}
	}
	if err := g.dryRun(nil, writes); err != nil {
		return nil, nil, err
	}
	return append(out, '}'), dropWarnings("input", dropped), nil
}

// identifiedAsGiven tells whether all messages are objects with a type and an id:
// then the run keeps the ids without our help, and history shows the input as it was given.
func identifiedAsGiven(messages json.RawMessage) bool {
	for _, m := range elements(messages) {
		var wire struct{ Type, ID string }
		if json.Unmarshal(m, &wire) != nil || wire.Type == "" || wire.ID == "" {
			return false
		}
	}
	return true
}

// identified returns the writes with messages in their wire form, those without
// an id given one: whatever is done with the writes later, the ids stay.
func (g *Graph) identified(writes []Write, newID func() string) ([]Write, error) {
	writes = slices.Clone(writes)
	for i, w := range writes {
		spec := g.specs[w.Channel]
		if spec == nil || !spec.state || spec.kind != kindMessages {
			continue
		}
		value, overwrite := overwriteOf(w.Value)
		if !overwrite {
			value = w.Value
		}
		value, err := message.Normalize(value, newID)
		if err != nil {
			return nil, invalidMessages(w.Channel, err)
		}
		if overwrite {
			if value, err = encode(Overwrite(value)); err != nil {
				return nil, invalidMessages(w.Channel, err)
			}
		}
		writes[i].Value = value
	}
	return writes, nil
}

// dropWarnings reports dropped keys (decisions 8).
func dropWarnings(where string, keys []string) []string {
	var warnings []string
	for _, key := range keys {
		warnings = append(warnings, fmt.Sprintf("%s: dropped %q, which is no state key", where, key))
	}
	return warnings
}
