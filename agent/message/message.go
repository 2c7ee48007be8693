// Package message holds chat messages as LangChain clients exchange them: the
// message itself, immutable lists of messages, the add-messages reducer and the
// merging of streamed chunks (spec/runtime.md 4, spec/rest-api.md 5.3).
package message

import "encoding/json"

// Type names of a message on the wire.
const (
	Human  = "human"
	AI     = "ai"
	System = "system"
	Tool   = "tool"
	Remove = "remove"
)

// RemoveAll is the id of a Remove message which clears the whole list.
const RemoveAll = "__remove_all__"

// Message is one chat message in its flat wire form. Keys that Parley does not
// know are kept in Extra, so that a message read and written again loses nothing.
type Message struct {
	// Type is human, ai, system, tool or remove.
	Type string
	// ID identifies the message in its list; the reducer replaces by it.
	ID string
	// Name is optional and omitted when empty.
	Name string
	// Content is a JSON string or a JSON array of content blocks.
	Content json.RawMessage
	// AdditionalKwargs and ResponseMetadata are JSON objects; nil is sent as {}.
	AdditionalKwargs json.RawMessage
	ResponseMetadata json.RawMessage
	// ToolCalls and InvalidToolCalls belong to ai messages, where both are always sent.
	ToolCalls        []ToolCall
	InvalidToolCalls []InvalidToolCall
	// UsageMetadata is optional (ai).
	UsageMetadata *Usage
	// ToolCallID, Status ("success" or "error") and Artifact belong to tool messages.
	ToolCallID string
	Status     string
	Artifact   json.RawMessage
	// Extra holds every other key as it came.
	Extra map[string]json.RawMessage
}

// ToolCall is a finished call of a tool by a model.
type ToolCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
	ID   string          `json:"id"`
	Type string          `json:"type"` // always "tool_call"
}

// InvalidToolCall is a call whose arguments could not be read as JSON.
type InvalidToolCall struct {
	Name  string `json:"name,omitempty"`
	Args  string `json:"args,omitempty"`
	ID    string `json:"id,omitempty"`
	Error string `json:"error,omitempty"`
	Type  string `json:"type"` // always "invalid_tool_call"
}

// Usage counts the tokens of one model call.
type Usage struct {
	InputTokens        int             `json:"input_tokens"`
	OutputTokens       int             `json:"output_tokens"`
	TotalTokens        int             `json:"total_tokens"`
	InputTokenDetails  json.RawMessage `json:"input_token_details,omitempty"`
	OutputTokenDetails json.RawMessage `json:"output_token_details,omitempty"`
}
