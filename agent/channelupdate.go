package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Codes of an InvalidUpdateError.
const (
	codeConcurrentUpdate = "INVALID_CONCURRENT_GRAPH_UPDATE"
	codeReturnValue      = "INVALID_GRAPH_NODE_RETURN_VALUE"
)

// update returns the channel's value after the writes of one superstep
// (spec/runtime.md 1.2). There is at least one write.
func (s *channelSpec) update(old *Value, writes []write) (next *Value, changed bool, err error) {
	last := &Value{JSON: writes[len(writes)-1].Value}
	switch s.kind {
	case kindMessages:
		next, err = s.updateMessages(old, writes)
		return next, err == nil, err
	case kindReducer:
		next, err = s.updateReducer(old, writes)
		return next, err == nil, err
	case kindTopic:
		return s.updateTopic(old, writes), true, nil
	case kindSealed:
		next, err = updateSealed(old, writes)
		return next, err == nil, err
	case kindBarrier, kindDeferredBarrier:
		return s.updateBarrier(old, writes)
	case kindDeferredValue:
		return barrierState{Value: last.JSON}.value(), true, nil
	case kindAnyValue:
		return last, true, nil
	case kindEphemeral:
		if s.several {
			return last, true, nil
		}
	}
	if len(writes) > 1 {
		return nil, false, s.conflict(writes)
	}
	return last, true, nil
}

// pass tells the channel that a superstep passed without a write to it.
func (s *channelSpec) pass(old *Value) (next *Value, changed bool) {
	switch {
	case s.kind == kindEphemeral && old != nil, s.kind == kindTopic && !s.accumulate && old != nil:
		return nil, true
	}
	return old, false
}

// finish makes a deferred channel readable.
func (s *channelSpec) finish(old *Value) (next *Value, changed bool) {
	if old == nil || s.kind != kindDeferredValue && s.kind != kindDeferredBarrier {
		return old, false
	}
	b := decodeBarrier(old)
	if b.Finished || s.kind == kindDeferredBarrier && !s.complete(b) {
		return old, false
	}
	b.Finished = true
	return b.value(), true
}

func (s *channelSpec) conflict(writes []write) error {
	values := make([]json.RawMessage, len(writes))
	for i, w := range writes {
		values[i] = w.Value
	}
	list, err := json.Marshal(values)
	if err != nil {
		return fmt.Errorf("agent: encode writes to %q: %w", s.name, err)
	}
	return &InvalidUpdateError{Code: codeConcurrentUpdate, Message: fmt.Sprintf(
		"Invalid update for channel %q with values %s: LastValue can only receive one value per step. Use a reducer to combine several values.", s.name, list)}
}

func (s *channelSpec) overwrittenTwice() error {
	return &InvalidUpdateError{Code: codeConcurrentUpdate, Message: fmt.Sprintf("Can receive only one Overwrite value per step for channel %q.", s.name)}
}

func (s *channelSpec) updateReducer(old *Value, writes []write) (*Value, error) {
	var updates []json.RawMessage
	var base json.RawMessage
	if old != nil {
		base = old.JSON
	}
	overwritten := false
	for _, w := range writes {
		v, ok := overwriteOf(w.Value)
		if !ok {
			updates = append(updates, w.Value)
			continue
		}
		if overwritten {
			return nil, s.overwrittenTwice()
		}
		overwritten, base = true, v
	}
	if overwritten {
		return &Value{JSON: base}, nil
	}
	if base == nil {
		base, updates = updates[0], updates[1:]
	}
	if len(updates) == 0 {
		return &Value{JSON: base}, nil
	}
	v, err := s.fold(base, updates)
	if err != nil {
		return nil, &InvalidUpdateError{Message: fmt.Sprintf("Invalid update for channel %q: %v", s.name, err)}
	}
	return &Value{JSON: v}, nil
}

func (s *channelSpec) updateTopic(old *Value, writes []write) *Value {
	var items []json.RawMessage
	if s.accumulate && old != nil {
		items = elements(old.JSON)
	}
	for _, w := range writes {
		if s.name != pregelTasks && isArray(w.Value) {
			items = append(items, elements(w.Value)...)
			continue
		}
		items = append(items, w.Value)
	}
	if s.unique {
		var kept []json.RawMessage
		for _, item := range items {
			if !slices.ContainsFunc(kept, func(k json.RawMessage) bool { return bytes.Equal(k, item) }) {
				kept = append(kept, item)
			}
		}
		items = kept
	}
	if len(items) == 0 {
		return nil
	}
	return &Value{JSON: joinElements(items)}
}

func (s *channelSpec) updateBarrier(old *Value, writes []write) (*Value, bool, error) {
	b := decodeBarrier(old)
	changed := false
	for _, w := range writes {
		var name string
		if json.Unmarshal(w.Value, &name) != nil || !slices.Contains(s.names, name) {
			return nil, false, &InvalidUpdateError{Message: fmt.Sprintf("Invalid update for channel %q: %s is not one of the nodes it waits for.", s.name, w.Value)}
		}
		if !slices.Contains(b.Names, name) {
			b.Names, changed = append(slices.Clone(b.Names), name), true
		}
	}
	if !changed {
		return old, false, nil
	}
	return b.value(), true, nil
}

// overwriteOf returns the value of an Overwrite (spec/runtime.md 1.2).
func overwriteOf(raw json.RawMessage) (json.RawMessage, bool) {
	if len(raw) == 0 || raw[0] != '{' || !bytes.Contains(raw, []byte(`"__overwrite__"`)) {
		return nil, false
	}
	var o map[string]json.RawMessage
	if json.Unmarshal(raw, &o) != nil {
		return nil, false
	}
	if v, ok := o["__overwrite__"]; ok && len(o) == 1 {
		return v, true
	}
	if v, ok := o["value"]; ok && string(o["type"]) == `"__overwrite__"` {
		return v, true
	}
	return nil, false
}

// Overwrite wraps a value so that it replaces a reducer's value instead of being combined with it.
func Overwrite(value any) any { return map[string]any{"__overwrite__": value} }
