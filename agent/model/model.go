// Package model calls chat models: the interface that providers implement, and
// Generate, which streams a call to the run's readers and journals its result.
package model

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/parley-dev/parley/agent/message"
)

// Model is a chat model. Implementations are safe for concurrent use.
type Model interface {
	// Stream calls the model and yields the answer piece by piece. An error is
	// the last thing it yields. It stops when ctx ends or the caller has enough.
	Stream(ctx context.Context, req Request) iter.Seq2[message.Chunk, error]
	// Info says which model this is.
	Info() Info
}

// Info identifies a model to readers of the stream.
type Info struct {
	// Provider is sent as ls_provider, Name as ls_model_name; each is left out when empty.
	Provider string
	Name     string
	// Metadata holds further keys of the stream's metadata; may be nil.
	Metadata map[string]json.RawMessage
}

// Request is the input of one call.
type Request struct {
	// System is a system prompt to put before Messages; "" for none.
	System   string
	Messages message.List
	// Tools that the model may call.
	Tools []Tool
	// ToolChoice is "" (the model decides), ChoiceAny, ChoiceNone or the name of a tool.
	ToolChoice string
	// Stop holds texts that end the answer.
	Stop []string
	// ResponseFormat asks for an answer in JSON; nil for free text. A model whose
	// provider can't guarantee it fails the call.
	ResponseFormat *ResponseFormat
}

// ResponseFormat is the form that an answer is to have.
type ResponseFormat struct {
	// Name identifies the form to the provider: letters, digits, _ and -, at most 64.
	Name        string
	Description string
	// Schema is the JSON Schema of the answer, an object.
	Schema json.RawMessage
	// Strict asks the provider to enforce the schema, where it can choose.
	Strict bool
}

// Values of Request.ToolChoice that aren't names of tools.
const (
	ChoiceAny  = "any"
	ChoiceNone = "none"
)

// Tool describes a tool to the model.
type Tool struct {
	Name        string
	Description string
	// Schema is the JSON Schema of the arguments, an object.
	Schema json.RawMessage
}

// Collect returns all of a call's answer, merged, without any streaming to
// readers and without a journal. For use outside of a graph.
func Collect(ctx context.Context, m Model, req Request) (message.Message, error) {
	var answer message.Accumulator
	for chunk, err := range m.Stream(ctx, req) {
		if err != nil {
			return message.Message{}, err
		}
		answer.Add(chunk)
	}
	return answer.Finish(), nil
}
