package hitl

import (
	"errors"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// Call carries out a tool call as far as it is allowed to, by run; it is called in the task that the
// call runs in, whatever led there (decisions 14). A call that needs review runs only with a record of
// its approval for its message, id, name and arguments: that of the batch question, or that of a question that Call asks itself. Each
// approval is good for one execution, which ends in the journal: another task that comes by
// with it, at once or later, gets the result. A call that was refused is answered and
// never run; one that isn't open in the conversation is left alone. run gets the
// call with the arguments that were approved, and its update must hold the tool message.
func (g *Gate) Call(ctx agent.Context, call message.ToolCall, run func(ctx agent.Context, call message.ToolCall) (agent.Update, error)) (agent.Update, error) {
	if !g.Gates(call.Name) {
		return run(ctx, call)
	}
	messageID, open := openIn(ctx, call.ID)
	args := readArguments(call.Args)
	digest := Digest(call.Name, args.shown)
	if !open || !agent.Claim(ctx, "hitl:"+callKey(call.ID, digest)) {
		return nil, nil
	}
	held, err := agent.ReadSealed[map[string]Record](ctx, channel)
	if err != nil {
		return nil, err
	}
	r, ok := held[callKey(call.ID, digest)]
	if !ok || r.Digest != digest || r.MessageID != messageID {
		if r, err = g.ask(ctx, messageID, call, args); err != nil {
			return nil, err
		}
	}
	update, err := g.carryOut(ctx, r, run)
	if errors.Is(err, errSpent) {
		if r, err = g.ask(ctx, messageID, call, args); err == nil {
			update, err = g.carryOut(ctx, r, run)
		}
	}
	if err != nil {
		return nil, err
	}
	r.Executed = r.Decision == Approve || r.Decision == Edit
	if seal := sealed(held, r); seal != nil {
		return agent.Updates{update, seal}, nil
	}
	return update, nil
}

// openIn finds the newest AI message that makes a call, and tells whether it has no answer yet.
// Where the state has no conversation there is nothing to check.
func openIn(ctx agent.Context, callID string) (messageID string, open bool) {
	v, ok := agent.StateValue(ctx, messagesKey)
	if !ok || v.List == nil {
		return "", true
	}
	for _, m := range v.List.Backward() {
		switch m.Type {
		case message.Tool:
			if m.ToolCallID == callID {
				return "", false
			}
		case message.AI:
			for _, call := range m.ToolCalls {
				if call.ID == callID {
					return m.ID, true
				}
			}
		}
	}
	return "", false
}

// ask has a person decide about one call, in the task of the call. The decision is
// journaled: it stands when the task is planned anew, as after a Command's update.
func (g *Gate) ask(ctx agent.Context, messageID string, call message.ToolCall, args arguments) (Record, error) {
	digest := Digest(call.Name, args.shown)
	return agent.OnceOf(ctx, "hitl:decision:"+callKey(call.ID, digest)+":"+digest, func(ctx agent.Context) (Record, error) {
		c, err := agent.Step(ctx, "hitl:review:"+digest, func(agent.StepContext) (reviewed, error) {
			return g.review(ctx, messageID, call, args), nil
		})
		if err != nil {
			return Record{}, err
		}
		if c.Exempt {
			return c.record("", decision{Type: Exempt}), nil
		}
		var id string
		one := []reviewed{c}
		options := append(g.expires(one, g.config.Mode == PerCall), agent.Named("hitl:"+digest), agent.InterruptID(&id))
		if g.config.Mode == PerCall {
			question := callQuestion{Type: "tool_approval", ToolCallID: call.ID, Name: c.Name, Args: c.Args, Description: c.Description}
			d, err := agent.Interrupt[decision](ctx, question, append(options, agent.ResponseSchema(g.answers.call(c)))...)
			return c.record(id, d), err
		}
		answer, err := agent.Interrupt[batchAnswer](ctx, g.batchQuestion(one), append(options, agent.ResponseSchema(g.answers.batch(one)))...)
		if err != nil {
			return Record{}, err
		}
		return c.record(id, answer.Decisions[0]), nil
	})
}

// errSpent says that the execution that an approval was good for has been, and its result is gone.
var errSpent = errors.New("hitl: the approval was used")

// carryOut does what a record says.
func (g *Gate) carryOut(ctx agent.Context, r Record, run func(ctx agent.Context, call message.ToolCall) (agent.Update, error)) (agent.Update, error) {
	if r.Decision == Exempt {
		return run(ctx, r.runs())
	}
	if m, ok := answerOf(r); ok {
		return agent.Set(messagesKey, []message.Message{m}), nil
	}
	update, recorded, err := agent.Once(agent.InOrigin(ctx, r.origin(ctx.ThreadID())), "hitl:run", func(ctx agent.Context) (agent.Update, error) {
		if r.Executed {
			return nil, errSpent
		}
		update, err := run(ctx, r.runs())
		if err != nil {
			return nil, err
		}
		return completed(update, r, g.notice(r))
	})
	if m, ok := answerIn(update, r.CallID); err == nil && recorded && ok {
		// It ran before a crash, or for another task: readers learn of its end all the same.
		call := r.runs()
		agent.ToolCallStarted(ctx, call.ID, call.Name, call.Args)
		agent.ToolCallFinished(ctx, call.ID, call.Name, m)
	}
	return update, err
}
