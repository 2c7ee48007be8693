package agent

import (
	"encoding/json"

	"github.com/parley-dev/parley/agent/message"
)

// emptyMessages is the default of a message list.
var emptyMessages = &Value{List: &message.List{}}

// messageWrite is a write to a message list: v is coerced, and messages without
// an id get one derived from the task and the place of the write, so that they keep it (spec/runtime.md 9, no. 18).
func messageWrite(key string, v any, taskID string, index int) (Write, error) {
	panic("unimplemented")
}

// updateMessages adds the writes' messages to a list.
func (s *channelSpec) updateMessages(old *Value, writes []write) (*Value, error) {
	panic("unimplemented")
}

// adapt converts a stored value to the channel's present kind.
func (s *channelSpec) adapt(v *Value) *Value { return v }

var _ = json.RawMessage(nil)
