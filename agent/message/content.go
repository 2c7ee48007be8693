package message

import (
	"encoding/json"
	"strings"
)

// TextContent returns text as the content of a message.
func TextContent(text string) json.RawMessage {
	return appendString(make([]byte, 0, len(text)+2), text)
}

// NewHuman returns a human message without id.
func NewHuman(text string) Message { return Message{Type: Human, Content: TextContent(text)} }

// NewAI returns an ai message without id.
func NewAI(text string, calls ...ToolCall) Message {
	return Message{Type: AI, Content: TextContent(text), ToolCalls: calls}
}

// NewSystem returns a system message without id.
func NewSystem(text string) Message { return Message{Type: System, Content: TextContent(text)} }

// NewTool returns the result of a tool call, without id and status.
func NewTool(callID, name, text string) Message {
	return Message{Type: Tool, ToolCallID: callID, Name: name, Content: TextContent(text)}
}

// NewRemove returns a message that makes the reducer delete the message with that id.
func NewRemove(id string) Message {
	return Message{Type: Remove, ID: id, Content: json.RawMessage(`[]`)}
}

// NewToolCall returns a tool call; args must be a JSON object.
func NewToolCall(id, name string, args json.RawMessage) ToolCall {
	return ToolCall{ID: id, Name: name, Args: args, Type: "tool_call"}
}

// Text returns the text of the content: the string itself, or the concatenated text blocks.
func (m Message) Text() string {
	if text, ok := unquote(m.Content); ok {
		return text
	}
	var all strings.Builder
	_ = eachElement(m.Content, func(block json.RawMessage) error {
		if text, ok := unquote(block); ok {
			all.WriteString(text)
			return nil
		}
		if !isObject(block) {
			return nil
		}
		var typ, text string
		err := eachField(block, func(key string, v json.RawMessage) error {
			switch key {
			case "type":
				typ, _ = unquote(v)
			case "text":
				text, _ = unquote(v)
			}
			return nil
		})
		if typ == "text" {
			all.WriteString(text)
		}
		return err
	})
	return all.String()
}
