package conformance

import (
	"bytes"
	"encoding/json"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// say is an update with one AI message.
func say(text string) agent.Values { return add(message.NewAI(text)) }

// add is an update with messages.
func add(messages ...message.Message) agent.Values {
	return agent.Set("messages", append([]message.Message{}, messages...))
}

func withID(id string, m message.Message) message.Message {
	m.ID = id
	return m
}

func toolCall(id, name, args string) message.ToolCall {
	return message.NewToolCall(id, name, json.RawMessage(args))
}

// contentIs tells whether a message's content is that very string.
func contentIs(m message.Message, text string) bool {
	var s *string
	return json.Unmarshal(m.Content, &s) == nil && s != nil && *s == text
}

// truthy is JavaScript's notion of it.
func truthy(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", "false", "0", `""`:
		return false
	}
	return true
}

// jsString is a JSON value as JavaScript puts it into a text: a text as it is.
func jsString(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(raw)
}
