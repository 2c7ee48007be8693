package agent

import (
	"encoding/json"
	"github.com/parley-dev/parley/agent/message"
)

// MessageStream writes one streamed message of a model call to the run's events.
// Methods are to be called in the order of the stream.
type MessageStream struct{}

// MessageOptions describe a message to be streamed.
type MessageOptions struct {
	ID    string // "" = derived from the task
	Name  string
	Tags  []string
	Extra map[string]json.RawMessage // metadata of the model (ls_provider, …)
	// Prompt is the model's input, for the "events" mode.
	Prompt message.List
}

// StreamMessage opens a message.
func StreamMessage(ctx Context, o MessageOptions) *MessageStream { panic("unimplemented") }

// ID is the message's id.
func (m *MessageStream) ID() string { panic("unimplemented") }

// Chunk writes one chunk of the model's stream.
func (m *MessageStream) Chunk(c message.Chunk) { panic("unimplemented") }

// Finish closes the message; the result is what was streamed.
func (m *MessageStream) Finish() message.Message { panic("unimplemented") }

// Reset starts over with the same id, before a second attempt of the call.
func (m *MessageStream) Reset() { panic("unimplemented") }

// Fail closes the message after the call failed for good.
func (m *MessageStream) Fail(err error) { panic("unimplemented") }
