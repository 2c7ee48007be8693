package agent

import (
	"sync"

	"github.com/parley-dev/parley/agent/message"
)

// State is an immutable view of a graph's state keys that have a value. Its
// JSON is made once, on first use, by splicing what the channels hold.
type State struct {
	keys   []string
	values map[string]Value
	once   sync.Once
	json   []byte
}

// NewState returns the state with the given values, its keys in that order.
func NewState(keys []string, values map[string]Value) *State {
	return &State{keys: keys, values: values}
}

// Keys lists the state's keys in their declared order.
func (s *State) Keys() []string { return s.keys }

// Value returns the value of a key.
func (s *State) Value(key string) (Value, bool) { v, ok := s.values[key]; return v, ok }

// Messages returns every message list of the state with its key.
func (s *State) Messages() map[string]message.List {
	lists := map[string]message.List{}
	for _, k := range s.keys {
		if v := s.values[k]; v.List != nil {
			lists[k] = *v.List
		}
	}
	return lists
}

// JSON returns the state as a JSON object. The bytes are shared: don't change them.
func (s *State) JSON() []byte {
	if s == nil {
		return []byte("{}")
	}
	s.once.Do(func() {
		b := []byte{'{'}
		for i, k := range s.keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, k)
			b = append(b, ':')
			b = s.values[k].AppendJSON(b)
		}
		s.json = append(b, '}')
	})
	return s.json
}

// MarshalJSON implements json.Marshaler.
func (s *State) MarshalJSON() ([]byte, error) { return s.JSON(), nil }
