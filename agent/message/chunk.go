package message

import "encoding/json"

// Chunk is one piece of a model's stream (spec/runtime.md 4.4).
type Chunk struct {
	// ID is the message id, where the model gives one.
	ID string
	// Text is appended to the content; Reasoning to the reasoning block.
	Text      string
	Reasoning string
	// Signature ends the reasoning block: the provider's proof that the block is
	// its own, to be given back with it. It is kept as {"extras":{"signature":…}}.
	Signature string
	// ToolCalls are pieces of tool calls.
	ToolCalls []ToolCallChunk
	// Block is a whole content block (image, audio, …).
	Block json.RawMessage
	Usage *Usage
	// FinishReason is stop, length, tool_use or content_filter, on the last chunk.
	FinishReason     string
	AdditionalKwargs json.RawMessage
	ResponseMetadata json.RawMessage
}

// ToolCallChunk is a piece of a tool call; Args pieces of one Index concatenate,
// ID and Name are replaced by a later non-empty value.
type ToolCallChunk struct {
	Index int
	ID    string
	Name  string
	Args  string
}
