package hitl

import (
	"slices"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// messagesKey is the state key of the conversation.
const messagesKey = "messages"

// AfterModel is the node NodeName: it asks the batch question about the calls of the newest
// AI message that need review, and answers those that the reviewer refused. The others are
// for the tools, where Call lets through what was approved. The order of calls and answers
// stays, and messages that came in with the answer stay where they are.
func (g *Gate) AfterModel(ctx agent.Context, conversation message.List) (agent.Update, error) {
	held, err := agent.ReadSealed[map[string]Record](ctx, channel)
	if err != nil {
		return nil, err
	}
	// Journaled: with the answer there may come messages that look like the model's.
	const review = "hitl:review"
	if !g.concerned(conversation) && !agent.Recorded(ctx, review) {
		return sealed(held), nil
	}
	calls, err := agent.Step(ctx, review, func(agent.StepContext) ([]reviewed, error) {
		return g.reviewAll(ctx, conversation), nil
	})
	if err != nil {
		return nil, err
	}
	var records []Record
	var asked []reviewed
	for _, c := range calls {
		if c.Exempt {
			records = append(records, c.record("", decision{Type: Exempt}))
		} else {
			asked = append(asked, c)
		}
	}
	var messages []message.Message
	if len(asked) > 0 {
		var id string
		options := append(g.expires(asked, false), agent.Named("hitl"), agent.ResponseSchema(g.answers.batch(asked)), agent.InterruptID(&id))
		answer, err := agent.Interrupt[batchAnswer](ctx, g.batchQuestion(asked), options...)
		if err != nil {
			return nil, err
		}
		decided := make([]Record, len(asked))
		for i, c := range asked {
			decided[i] = c.record(id, answer.Decisions[i])
		}
		if m, ok := mended(conversation, decided); ok {
			messages = append(messages, m)
		}
		for i := range decided {
			if m, ok := answerOf(decided[i]); ok {
				messages = append(messages, m)
			}
		}
		records = append(records, decided...)
	}
	update := agent.Updates{sealed(held, records...)}
	if len(messages) > 0 {
		update = append(update, agent.Set(messagesKey, messages))
	}
	return update, nil
}

// concerned tells whether the newest AI message calls tools that have rules.
func (g *Gate) concerned(conversation message.List) bool {
	for _, m := range conversation.Backward() {
		if m.Type == message.AI {
			return slices.ContainsFunc(m.ToolCalls, func(c message.ToolCall) bool { return g.Gates(c.Name) }) ||
				slices.ContainsFunc(m.InvalidToolCalls, func(c message.InvalidToolCall) bool { return g.Gates(c.Name) })
		}
	}
	return false
}

// reviewAll asks the rules of the calls of the newest AI message, in their order. Of several calls with
// one id only the first can run.
func (g *Gate) reviewAll(ctx agent.Context, conversation message.List) []reviewed {
	var answered, seen []string
	for _, m := range conversation.Backward() {
		if m.Type == message.Tool {
			answered = append(answered, m.ToolCallID)
		}
		if m.Type != message.AI {
			continue
		}
		var calls []reviewed
		add := func(call message.ToolCall, args arguments) {
			if !g.Gates(call.Name) || slices.Contains(answered, call.ID) || call.ID != "" && slices.Contains(seen, call.ID) {
				return
			}
			seen = append(seen, call.ID)
			calls = append(calls, g.review(ctx, m.ID, call, args))
		}
		for _, call := range m.ToolCalls {
			add(call, readArguments(call.Args))
		}
		for _, bad := range m.InvalidToolCalls {
			add(message.NewToolCall(bad.ID, bad.Name, nil), unreadable(bad.Args))
		}
		return calls
	}
	return nil
}

// mended is the AI message with those of its calls put right whose arguments weren't JSON and
// that the reviewer edited; false if there are none. What the model wrote can't run, and no provider
// would take it back.
func mended(conversation message.List, decided []Record) (message.Message, bool) {
	for _, m := range conversation.Backward() {
		if m.Type != message.AI || m.ID != decided[0].MessageID {
			continue
		}
		mended := false
		for i := range decided {
			r := &decided[i]
			at := slices.IndexFunc(m.InvalidToolCalls, func(c message.InvalidToolCall) bool { return c.ID == r.CallID && c.Name == r.Name })
			if r.Decision != Edit || at < 0 {
				continue
			}
			m.InvalidToolCalls = slices.Delete(slices.Clone(m.InvalidToolCalls), at, at+1)
			m.ToolCalls = append(slices.Clone(m.ToolCalls), r.runs())
			r.Name, r.Args, r.Digest = r.Edited.Name, r.Edited.Args, Digest(r.Edited.Name, r.Edited.Args)
			mended = true
		}
		return m, mended
	}
	return message.Message{}, false
}
