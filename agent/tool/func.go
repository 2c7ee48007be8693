package tool

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
)

// CallContext is what a plain function gets that is called as a tool. The context ends
// with the run and with the tool's Timeout.
type CallContext interface {
	// StepContext holds IdempotencyKey, which is the same for all attempts at this call,
	// and Attempt.
	agent.StepContext
	// ToolCall is the call with its id and arguments.
	ToolCall() message.ToolCall
	// State is the state of the agent that makes the call, as a JSON object; nil where there is none.
	State() json.RawMessage
	// Progress shows a piece of output while the tool runs: a text or anything that has a
	// JSON form. It isn't part of the result.
	Progress(v any)
	ThreadID() string
	RunID() string
	Config() agent.Config
	// Items is the long-term store; nil if there is none.
	Items() agent.Items
	// Now is the time of the run's clock.
	Now() time.Time
}

// Func returns a tool that calls a plain function, with the call's arguments decoded as A, a
// struct, as in New. What it may return is told at Tool. The whole call is one journaled
// step: once it has ended, with a result or an error, it is never repeated, whatever
// happens to the run. What is to become of a call that a crash cut off, AtMostOnce and
// AtLeastOnce say. A function that is to ask a person, or to do several things of which
// none may be repeated, is for New.
func Func[A, R any](name, description string, fn func(ctx CallContext, args A) (R, error), opts ...Option) Tool {
	return plain(model.Tool{Name: name, Description: description, Schema: SchemaOf[A]()}, func(ctx CallContext) (any, error) {
		args, err := decode[A](ctx.ToolCall())
		if err != nil {
			return nil, err
		}
		return fn(ctx, args)
	}, opts)
}

// Raw is Func for tools that are known at run time only: schema is the JSON Schema of the
// arguments, an object, and fn gets them as the model wrote them, once they fit it.
func Raw(name, description string, schema json.RawMessage, fn func(ctx CallContext, args json.RawMessage) (any, error), opts ...Option) Tool {
	return plain(model.Tool{Name: name, Description: description, Schema: schema}, func(ctx CallContext) (any, error) {
		return fn(ctx, ctx.ToolCall().Args)
	}, opts)
}

func plain(d model.Tool, fn func(ctx CallContext) (any, error), opts []Option) Tool {
	o := newOptions(opts)
	return &function{definition: d, options: o, call: func(ctx Context) (any, error) {
		return agent.Step(ctx, "tool:"+d.Name, func(step agent.StepContext) (outcome, error) {
			c := &funcContext{StepContext: step, outer: ctx}
			out, err := attempt(ctx, func() (any, error) { return fn(c) }, c.Progress)
			switch {
			case err != nil && ctx.Err() != nil:
				return outcome{}, err // cut off: nothing is known of it
			case err != nil && step.Err() != nil:
				return failed(fmt.Errorf("%s did not end within %s; it isn't known whether it took effect", d.Name, o.timeout)), nil //nolint:nilerr // it is in the outcome
			case err != nil:
				return failed(err), nil
			}
			return out, nil
		}, o.stepOptions(ctx)...)
	}}
}

// stepOptions are those of the step that a call is.
func (o options) stepOptions(ctx Context) []agent.StepOption {
	var all []agent.StepOption
	if o.timeout > 0 {
		all = append(all, agent.StepTimeoutOf(o.timeout))
	}
	c, ok := ctx.(*callContext)
	if o.repeat == atMostOnce || o.repeat == byPolicy && ok && c.once {
		all = append(all, agent.AtMostOnce())
	}
	return all
}

// funcContext is a CallContext: that of the step, and what the task around it knows.
type funcContext struct {
	agent.StepContext
	outer Context
}

func (c *funcContext) ToolCall() message.ToolCall { return c.outer.ToolCall() }
func (c *funcContext) State() json.RawMessage     { return c.outer.State() }
func (c *funcContext) ThreadID() string           { return c.outer.ThreadID() }
func (c *funcContext) RunID() string              { return c.outer.RunID() }
func (c *funcContext) Config() agent.Config       { return c.outer.Config() }
func (c *funcContext) Items() agent.Items         { return c.outer.Items() }
func (c *funcContext) Now() time.Time             { return c.outer.Now() }

// Progress implements CallContext.
func (c *funcContext) Progress(v any) {
	call := c.outer.ToolCall()
	agent.ToolCallOutput(c.outer, call.ID, call.Name, v)
}
