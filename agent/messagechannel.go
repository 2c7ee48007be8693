package agent

import (
	"encoding/json"
	"fmt"

	"github.com/parley-dev/parley/agent/message"
)

// emptyMessages is the default of a message list.
var emptyMessages = &Value{List: &message.List{}}

// newMessageIDs gives ids to the messages of one write that have none, derived
// from the task and the write's place, so that they are the same whenever they
// are asked for (spec/runtime.md 9, no. 18). nth counts the task's earlier writes to the channel.
func newMessageIDs(taskID, channel string, nth int) func() string {
	n := -1
	return func() string {
		n++
		return messageID(taskID, channel, nth, n)
	}
}

// messageWrite is a write to a message list: messages without an id get one.
// Messages given as plain strings are kept as they are, for readers of the
// update; they get the same ids when they are applied.
func messageWrite(channel string, v any, taskID string, nth int) (Write, error) {
	raw, err := encode(v)
	if err != nil {
		return Write{}, &InvalidUpdateError{Code: codeReturnValue, Message: fmt.Sprintf("value of %q: %v", channel, err)}
	}
	if over, ok := overwriteOf(raw); ok {
		norm, err := message.Normalize(over, newMessageIDs(taskID, channel, nth))
		if err != nil {
			return Write{}, invalidMessages(channel, err)
		}
		raw, err = encode(Overwrite(norm))
		return Write{Channel: channel, Value: raw}, err
	}
	norm, err := message.Normalize(raw, newMessageIDs(taskID, channel, nth))
	if err != nil {
		return Write{}, invalidMessages(channel, err)
	}
	if plainStrings(raw) {
		norm = raw
	}
	return Write{Channel: channel, Value: norm}, nil
}

func invalidMessages(channel string, err error) error {
	return &InvalidUpdateError{Message: fmt.Sprintf("Invalid update for channel %q: %v", channel, err)}
}

// plainStrings tells whether raw is a string or a list with strings in it.
func plainStrings(raw json.RawMessage) bool {
	if !isArray(raw) {
		return len(raw) > 0 && raw[0] == '"'
	}
	for _, e := range elements(raw) {
		if len(e) > 0 && e[0] == '"' {
			return true
		}
	}
	return false
}

// updateMessages adds the writes' messages to a list.
func (s *channelSpec) updateMessages(old *Value, writes []write) (*Value, error) {
	list := message.List{}
	if old != nil && old.List != nil {
		list = *old.List
	}
	overwritten := false
	for _, w := range writes { // an Overwrite makes the others void
		over, ok := overwriteOf(w.Value)
		if !ok {
			continue
		}
		if overwritten {
			return nil, s.overwrittenTwice()
		}
		overwritten, list = true, message.List{}
		w.Value = over
		writes = []write{w}
	}
	for _, w := range writes {
		next, err := message.Reduce(list, w.Value, newMessageIDs(w.taskID, s.name, w.nth))
		if err != nil {
			return nil, invalidMessages(s.name, err)
		}
		list = next
	}
	return &Value{List: &list}, nil
}

// adapt converts a stored value to the channel's present kind, for checkpoints
// that another version of the graph has left.
func (s *channelSpec) adapt(v *Value) *Value {
	switch {
	case s.kind == kindMessages && v.List == nil:
		list, err := message.Reduce(message.List{}, v.JSON, newMessageIDs(NullTask, s.name, 0))
		if err != nil {
			return emptyMessages
		}
		return &Value{List: &list}
	case s.kind != kindMessages && v.List != nil:
		return &Value{JSON: v.List.AppendJSON(nil)}
	}
	return v
}
