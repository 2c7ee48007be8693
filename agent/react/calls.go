package react

import (
	"encoding/json"
	"fmt"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// toolCallKey is where the input of a tool call's task has the call, beside the state.
const toolCallKey = "lg_tool_call"

// OpenCalls are the tool calls of the newest AI message that have no answer yet.
func OpenCalls(conversation message.List) []message.ToolCall {
	_, open := callsOf(conversation, func(message.Message) bool { return true })
	return open
}

// callsOf are the newest AI message that is the one looked for, and its calls without an answer.
func callsOf(conversation message.List, is func(message.Message) bool) (found message.Message, open []message.ToolCall) {
	answered := map[string]bool{}
	for _, m := range conversation.Backward() {
		switch {
		case m.Type == message.Tool:
			answered[m.ToolCallID] = true
		case m.Type == message.AI && is(m):
			for _, call := range m.ToolCalls {
				if !answered[call.ID] {
					open = append(open, call)
				}
			}
			return m, open
		}
	}
	return message.Message{}, nil
}

// answerKey is the entry of the sealed channel about the model's newest answer.
const answerKey = "answer"

// modelAnswer is that entry: the id of the message and the task that got it. It is lost where
// a new line of the thread's history begins.
type modelAnswer struct {
	ID   string `json:"id"`
	Task string `json:"task"`
}

// newestAnswer reads it.
func newestAnswer(ctx agent.Context) modelAnswer {
	held, err := agent.ReadSealed[struct {
		Answer modelAnswer `json:"answer"`
	}](ctx, turnKey)
	if err != nil { // a graph without it, or what an older version wrote
		return modelAnswer{}
	}
	return held.Answer
}

// currentCalls are the model's newest answer in the state that the task began with, and its
// open calls. Messages may stand behind it: those that an answer to a question brought along
// (decisions 8), AI messages among them. Where the answer's id isn't known, as in the copy of a
// thread, it is the newest message with calls, unless a person has spoken since and got an answer.
func currentCalls(ctx agent.Context, conversation message.List) (answer message.Message, open []message.ToolCall) {
	newest := newestAnswer(ctx)
	if _, ok := conversation.Find(newest.ID); newest.ID != "" && ok {
		return callsOf(conversation, func(m message.Message) bool { return len(m.ToolCalls) > 0 || m.ID == newest.ID })
	}
	said := "" // the newest message without calls
	for _, m := range conversation.Backward() {
		switch {
		case m.Type == message.Human && said != "":
			return callsOf(conversation, func(m message.Message) bool { return m.ID == said })
		case m.Type == message.AI && len(m.ToolCalls) > 0:
			return callsOf(conversation, func(m message.Message) bool { return len(m.ToolCalls) > 0 })
		case m.Type == message.AI && said == "":
			said = m.ID
		}
	}
	return callsOf(conversation, func(message.Message) bool { return true })
}

// afterModel leads to one task per call that has no answer yet; back to the model when
// all are answered already, by a person for instance; to the end when there were none. node is
// the one that has run: the model, or a hook behind it.
func (l *loop[S]) afterModel(ctx agent.Context, node string, s S) ([]agent.Target, error) {
	answer, open := callsOf(s.Conversation(), func(message.Message) bool { return true })
	if node != ModelNode {
		answer, open = currentCalls(ctx, s.Conversation())
	}
	switch {
	case len(open) > 0:
		return l.callTasks(s, open)
	case len(answer.ToolCalls)+len(answer.InvalidToolCalls) > 0 && !hasLastWord(s.Conversation()):
		return []agent.Target{{Node: l.entry}}, nil
	}
	return []agent.Target{{Node: l.exit}}, nil
}

// hasLastWord tells whether an AI message without calls stands behind all results of tools.
func hasLastWord(conversation message.List) bool {
	for _, m := range conversation.Backward() {
		switch m.Type {
		case message.Tool:
			return false
		case message.AI:
			return len(m.ToolCalls)+len(m.InvalidToolCalls) == 0
		}
	}
	return false
}

// callTasks are one task per open call, each with the state and its call (spec/runtime.md 7.2).
func (l *loop[S]) callTasks(s S, calls []message.ToolCall) ([]agent.Target, error) {
	state, err := l.toolInput(s)
	if err != nil {
		return nil, err
	}
	tasks := make([]agent.Target, len(calls))
	for i, call := range calls {
		if state[toolCallKey], err = encode(call); err != nil {
			return nil, fmt.Errorf("react: tool call %q: %w", call.ID, err)
		}
		tasks[i] = agent.Send(ToolsNode, state)
	}
	return tasks, nil
}

// toolInput is what a tool call is given of the state.
func (l *loop[S]) toolInput(s S) (map[string]json.RawMessage, error) {
	var input any = s
	if l.o.ToolInput != nil {
		input = l.o.ToolInput(s)
	}
	raw, err := encode(input)
	if err != nil {
		return nil, fmt.Errorf("react: input of a tool call: %w", err)
	}
	var state map[string]json.RawMessage
	if err := json.Unmarshal(raw, &state); err != nil {
		return nil, fmt.Errorf("react: input of a tool call: %w", err)
	}
	return state, nil
}
