package model

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// Generate calls a model inside a node: its answer is streamed to the run's
// readers and journaled, so that a task that runs again after a suspension or a
// crash gets the recorded message, and the model isn't called again.
func Generate(ctx agent.Context, m Model, req Request, opts ...Option) (message.Message, error) {
	o := newOptions(m, opts)
	// Asked for outside of the step: a replay must count the ids alike.
	fallback := ctx.NewID()
	answer, err := agent.Step(ctx, o.step, func(step agent.StepContext) (message.Message, error) {
		c := &call{
			ctx: WithClock(step, ctx), model: m, req: req, opts: o, fallback: fallback,
			open: func(id string) sink { return openSink(ctx, m, req, o, id) },
		}
		return c.run()
	}, o.stepOpts...)
	if err == nil && o.whole { // also of a recorded one
		agent.DescribeMessage(ctx, answer.ID, agent.MessageOptions{Tags: o.tags, Extra: streamMetadata(m.Info(), o.metadata)})
	}
	return answer, err
}

// sink is where the chunks of a call go: the run's stream, or nowhere.
type sink interface {
	Chunk(message.Chunk)
	Finish() message.Message
	Reset()
	Fail(error)
}

var _ sink = (*agent.MessageStream)(nil)

// quiet is a sink that only puts the message together.
type quiet struct{ message.Accumulator }

func (q *quiet) Chunk(c message.Chunk) { q.Add(c) }
func (q *quiet) Fail(error)            {}

func openSink(ctx agent.Context, m Model, req Request, o *options, id string) sink {
	if o.quiet || o.whole {
		return &quiet{message.Accumulator{ID: id, Name: o.name}}
	}
	return agent.StreamMessage(ctx, agent.MessageOptions{
		ID: id, Name: o.name, Tags: o.tags, Extra: streamMetadata(m.Info(), o.metadata), Prompt: req.Messages,
	})
}

// streamMetadata is what the stream tells of the model, beside what the runtime tells of the task.
func streamMetadata(info Info, extra map[string]json.RawMessage) map[string]json.RawMessage {
	all := map[string]json.RawMessage{"ls_model_type": json.RawMessage(`"chat"`)}
	if info.Provider != "" {
		all["ls_provider"] = message.TextContent(info.Provider)
	}
	if info.Name != "" {
		all["ls_model_name"] = message.TextContent(info.Name)
	}
	maps.Copy(all, info.Metadata)
	maps.Copy(all, extra)
	return all
}

// call is one journaled call with its attempts.
type call struct {
	ctx      context.Context
	model    Model
	req      Request
	opts     *options
	fallback string // id for the message when neither caller nor model give one
	open     func(id string) sink

	// id and out belong to the message once it is open; all attempts share them.
	id  string
	out sink
}

func (c *call) run() (message.Message, error) {
	for attempt := 1; ; attempt++ {
		err := c.attempt()
		if err == nil {
			return c.sink("").Finish(), nil
		}
		if attempt >= c.opts.retry.MaxAttempts || !retryable(c.ctx, c.opts.retry, err) {
			return message.Message{}, c.fail(err)
		}
		if Sleep(c.ctx, delay(c.opts.retry, attempt, err)) != nil {
			return message.Message{}, c.fail(err)
		}
		if c.out != nil {
			c.out.Reset()
		}
	}
}

// attempt calls the model once.
func (c *call) attempt() error {
	for chunk, err := range c.model.Stream(c.ctx, c.req) {
		if err != nil {
			return err
		}
		out := c.sink(chunk.ID)
		chunk.ID = c.id // a second attempt keeps the id of the first
		out.Chunk(chunk)
	}
	return c.ctx.Err()
}

// sink opens the message with the first chunk, which may bring the id.
func (c *call) sink(modelID string) sink {
	if c.out == nil {
		c.id = c.fallback
		if modelID != "" {
			c.id = modelID
		}
		if c.opts.id != "" {
			c.id = c.opts.id
		}
		c.out = c.open(c.id)
	}
	return c.out
}

func (c *call) fail(err error) error {
	if c.out != nil {
		c.out.Fail(err)
	}
	return err
}
