// Package tool holds what models call: tools, described to the model by the JSON
// Schema of their arguments, and the carrying out of calls, with the events
// and the tool messages that belong to them (spec/runtime.md 7.3).
package tool

import (
	"encoding/json"
	"fmt"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
)

// Tool is a function that a model may call. Implementations are safe for concurrent use.
type Tool interface {
	// Definition describes the tool to a model.
	Definition() model.Tool
	// Call carries out one call, whose arguments fit the schema. What it returns becomes
	// the tool message: a string its content; a message.Message is taken as it is; an
	// *agent.Command must bring the message in its update of "messages"; anything else
	// is sent as JSON. An error is told to the model, unless it is one that
	// agent.Bubbles.
	Call(ctx Context) (any, error)
}

// Context is what a tool gets: the context of the task that carries out the
// call, so that it can interrupt, run steps and invoke graphs, and the call itself.
type Context interface {
	agent.Context
	// ToolCall is the call with its id and arguments.
	ToolCall() message.ToolCall
	// State is the state of the agent that makes the call, as a JSON object; nil where there is none.
	State() json.RawMessage
}

type callContext struct {
	agent.Context
	call  message.ToolCall
	state json.RawMessage
}

func (c *callContext) ToolCall() message.ToolCall { return c.call }
func (c *callContext) State() json.RawMessage     { return c.state }

// function is a tool made of a definition and a function.
type function struct {
	definition model.Tool
	call       func(ctx Context) (any, error)
}

func (f *function) Definition() model.Tool        { return f.definition }
func (f *function) Call(ctx Context) (any, error) { return f.call(ctx) }

// New returns a tool that runs fn with the call's arguments, decoded as A, a
// struct: its JSON Schema, with the field tags of invopop/jsonschema, is what the model is shown.
func New[A any](name, description string, fn func(ctx Context, args A) (any, error)) Tool {
	return &function{
		definition: model.Tool{Name: name, Description: description, Schema: schemaOf[A]()},
		call: func(ctx Context) (any, error) {
			var args A
			if err := json.Unmarshal(ctx.ToolCall().Args, &args); err != nil {
				return nil, fmt.Errorf("decode arguments: %w", err)
			}
			return fn(ctx, args)
		},
	}
}

// clientCall is what a headless tool asks; clients know it by its type (spec/streaming-protocol.md 5.3).
type clientCall struct {
	Type     string   `json:"type"` // tool
	ToolCall toolCall `json:"toolCall"`
}

type toolCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// Headless returns a tool that has no implementation here: the client carries the
// call out and answers with its result. A is the struct of its arguments, as in New.
func Headless[A any](name, description string) Tool {
	return &function{
		definition: model.Tool{Name: name, Description: description, Schema: schemaOf[A]()},
		call: func(ctx Context) (any, error) {
			call := ctx.ToolCall()
			answer, err := agent.Interrupt[json.RawMessage](ctx, clientCall{
				Type: "tool", ToolCall: toolCall{ID: call.ID, Name: call.Name, Args: call.Args},
			})
			if err != nil {
				return nil, err
			}
			var text string
			if json.Unmarshal(answer, &text) == nil && len(answer) > 0 && answer[0] == '"' {
				return text, nil
			}
			return answer, nil
		},
	}
}
