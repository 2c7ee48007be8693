package react

import (
	"errors"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
)

// modelNode calls the model once and takes its answer.
func (l *loop[S]) modelNode(ctx agent.Context, s S) (agent.Update, error) {
	turn, err := l.openTurn(ctx, s.Conversation())
	if err != nil {
		return nil, err
	}
	if reached := l.o.Limits.reached(turn); reached != "" {
		return l.stopAt(ctx, reached)
	}
	spent := spending{limits: l.o.Limits}
	call := ModelCall{
		Model:   l.o.Model,
		Request: model.Request{System: l.o.Prompt, Messages: s.Conversation(), Tools: l.tools.Definitions()},
		Options: append([]model.Option{model.MessageName(l.speaker)}, l.o.ModelOptions...),
		spent:   &spent,
	}
	l.response.prepare(&call)
	answer, err := l.callModel(ctx, call)
	if err != nil {
		return nil, err
	}
	update, err := l.answered(ctx, answer)
	if err != nil {
		return nil, err
	}
	sealed := map[string]any{answerKey: modelAnswer{answer.ID, ctx.TaskID()}}
	if turn != nil {
		sealed["turn"] = turn.add(ctx, spent)
	}
	return agent.Updates{update, agent.Seal(turnKey, sealed)}, nil
}

// answered is the update of a model's answer.
func (l *loop[S]) answered(ctx agent.Context, answer message.Message) (agent.Update, error) {
	completeCalls(ctx, &answer)
	if l.outOfSteps(ctx, answer) {
		answer = outOfStepsMessage(answer)
	}
	follow, value, err := l.response.take(answer, l.speaker)
	if err != nil {
		return nil, err
	}
	messages := []message.Message{answer}
	for _, bad := range answer.InvalidToolCalls { // the model gets to know, and can try again
		held := l.gate != nil && l.gate.Batch() && l.gate.Gates(bad.Name) // for the reviewer, who may put it right (D-107)
		if held || !l.loops() {
			continue
		}
		call := message.NewToolCall(bad.ID, bad.Name, nil)
		messages = append(messages, answerTo(answer, call, "Error: the arguments are not a JSON object: "+bad.Args+"\n Please fix your mistakes.", "error"))
	}
	update := agent.Set(messagesKey, append(messages, follow...))
	if value != nil {
		update.Set(StructuredKey, value)
	}
	return update, nil
}

// generate is the innermost ModelHandler.
func (l *loop[S]) generate(ctx agent.Context, call ModelCall) (message.Message, error) {
	if call.spent == nil {
		return message.Message{}, errors.New("react: a wrapper of the model must hand on the call that it got, changed as it likes")
	}
	if err := call.spent.limits.priced(call.Model); err != nil {
		return message.Message{}, err
	}
	call.Request.Messages = Acceptable(call.Request.Messages)
	answer, err := model.Generate(ctx, call.Model, call.Request, call.Options...)
	if err == nil {
		call.spent.add(call.Model, call.Request, answer)
	}
	return answer, err
}

// completeCalls gives each call of an answer an id of its own: a few models send none, or one twice.
func completeCalls(ctx agent.Context, answer *message.Message) {
	seen := map[string]bool{}
	own := func(id string) string {
		if id == "" || seen[id] {
			id = "call_" + ctx.NewID()
		}
		seen[id] = true
		return id
	}
	for i := range answer.ToolCalls {
		answer.ToolCalls[i].ID = own(answer.ToolCalls[i].ID)
	}
	for i := range answer.InvalidToolCalls {
		answer.InvalidToolCalls[i].ID = own(answer.InvalidToolCalls[i].ID)
	}
}
