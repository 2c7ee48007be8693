package agent

import (
	"encoding/json"
	"reflect"
)

// channelKind is how a channel combines what is written to it (spec/runtime.md 1.2).
type channelKind uint8

const (
	kindLastValue channelKind = iota
	kindReducer
	kindMessages
	kindEphemeral
	kindTopic
	kindBarrier
	kindAnyValue
	kindUntracked
	// kindDeferredValue and kindDeferredBarrier become readable when nothing else would run.
	kindDeferredValue
	kindDeferredBarrier
	kindSealed
)

// channelSpec describes a channel of a graph.
type channelSpec struct {
	name string
	kind channelKind
	// state is set for state keys; typ is the field's Go type then.
	state bool
	typ   reflect.Type
	// initial is the default value as JSON; nil for none.
	initial json.RawMessage
	// fold applies updates to a reducer's value; old is nil when the channel is empty.
	fold func(old json.RawMessage, updates []json.RawMessage) (json.RawMessage, error)
	// several lets an ephemeral channel take more than one write a superstep.
	several bool
	// accumulate and unique belong to topics.
	accumulate, unique bool
	// names are what a barrier waits for.
	names []string
	// hidden from the input and output schemas (state keys).
	notInput, notOutput bool
}

// initialValue is the value of the channel in an empty checkpoint; nil for none.
func (s *channelSpec) initialValue() *Value {
	switch {
	case s.kind == kindMessages:
		return emptyMessages
	case s.initial != nil:
		return &Value{JSON: s.initial}
	}
	return nil
}

// barrierState is what a barrier or deferred channel holds.
type barrierState struct {
	Names    []string        `json:"names,omitempty"`
	Value    json.RawMessage `json:"value,omitempty"`
	Finished bool            `json:"finished,omitempty"`
}

func decodeBarrier(v *Value) barrierState {
	var b barrierState
	if v != nil && json.Unmarshal(v.JSON, &b) != nil {
		return barrierState{}
	}
	return b
}

func (b barrierState) value() *Value {
	raw, err := json.Marshal(b)
	if err != nil { // holds JSON and strings only
		panic(err)
	}
	return &Value{JSON: raw}
}

// complete tells whether a barrier has met all its names.
func (s *channelSpec) complete(b barrierState) bool { return len(b.Names) == len(s.names) }

// available tells whether the channel can be read with this value.
func (s *channelSpec) available(v *Value) bool {
	if v == nil {
		return false
	}
	switch s.kind {
	case kindBarrier:
		return s.complete(decodeBarrier(v))
	case kindDeferredValue:
		return decodeBarrier(v).Finished
	case kindDeferredBarrier:
		b := decodeBarrier(v)
		return b.Finished && s.complete(b)
	}
	return true
}
