// Package tool holds what models call: tools, described to the model by the JSON
// Schema of their arguments, and the carrying out of calls, with the events
// and the tool messages that belong to them (spec/runtime.md 7.3).
package tool

import (
	"encoding/json"
	"fmt"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/exactjson"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
)

// Tool is a function that a model may call. Implementations are safe for concurrent use.
type Tool interface {
	// Definition describes the tool to a model.
	Definition() model.Tool
	// Call carries out one call, whose arguments fit the schema. What it returns becomes
	// the tool message: a string its content; Result what it says; a message.Message is
	// taken as it is, and a list of them must have one that answers the call; an
	// *agent.Command must bring the message in its update of "messages"; of an iter.Seq
	// or iter.Seq2 with errors each value is shown while the tool runs, and all together
	// are the content; anything else is sent as JSON. An error is told to the model,
	// unless it is one that agent.Bubbles. A panic is such an error.
	Call(ctx Context) (any, error)
}

// Context is what a durable tool gets: the context of the task that carries out the
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
	state func() json.RawMessage
	// once is set for calls that a person decides on: see Reviewed.
	once bool
}

func (c *callContext) ToolCall() message.ToolCall { return c.call }
func (c *callContext) State() json.RawMessage     { return c.state() }

// function is a tool made of a definition and a function.
type function struct {
	definition model.Tool
	options    options
	call       func(ctx Context) (any, error)
}

func (f *function) Definition() model.Tool        { return f.definition }
func (f *function) Call(ctx Context) (any, error) { return f.call(ctx) }

// Annotations implements Annotated.
func (f *function) Annotations() Annotations { return f.options.annotations }

// ReturnsDirect implements Direct.
func (f *function) ReturnsDirect() bool { return f.options.direct }

// New returns a durable tool: fn can ask a person, run steps of its own and invoke
// graphs. It runs again from its start when the task goes on after a suspension, so that
// what has effects belongs into agent.Step. Func is for plain functions. fn gets the
// call's arguments, decoded as A, a struct: its JSON Schema, with the field tags of
// invopop/jsonschema, is what the model is shown. The options Timeout, AtMostOnce and
// AtLeastOnce are of no use here: its steps have such options.
func New[A any](name, description string, fn func(ctx Context, args A) (any, error), opts ...Option) Tool {
	return &function{
		definition: model.Tool{Name: name, Description: description, Schema: SchemaOf[A]()},
		options:    newOptions(opts),
		call: func(ctx Context) (any, error) {
			args, err := decode[A](ctx.ToolCall())
			if err != nil {
				return nil, err
			}
			return fn(ctx, args)
		},
	}
}

func decode[A any](call message.ToolCall) (A, error) {
	var args A
	if err := exactjson.Unmarshal(call.Args, &args); err != nil {
		return args, fmt.Errorf("decode arguments: %w", err)
	}
	return args, nil
}
