package react

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/google/uuid" // ids of tool messages, as the runtime makes its own

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/tool"
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

// toolsNode carries out one call. Its input says which one; all else is taken from the
// thread's state, since whoever may send commands can make up an input: a call that the
// newest AI message doesn't make, or that has its answer, is left alone (decisions 14).
func (l *loop[S]) toolsNode(ctx agent.Context, in json.RawMessage) (agent.Update, error) {
	var sent map[string]json.RawMessage
	if err := json.Unmarshal(in, &sent); err != nil {
		return nil, fmt.Errorf("react: input of a tool call: %w", err)
	}
	var named message.ToolCall
	if err := json.Unmarshal(sent[toolCallKey], &named); err != nil {
		return nil, fmt.Errorf("react: the tools node was reached without a tool call")
	}
	conversation, _ := agent.StateValue(ctx, messagesKey)
	if conversation.List == nil {
		return nil, nil
	}
	answer, open := currentCalls(ctx, *conversation.List)
	for _, call := range open {
		// Of several tasks for one call the first one carries it out.
		if call.ID == named.ID && agent.Claim(ctx, "react:"+answer.ID+":"+call.ID) {
			e := &execution[S]{loop: l, answerID: answer.ID, task: newestAnswer(ctx).Task}
			return wrapTool(l.o.Middleware, e.carryOut)(ctx, call)
		}
	}
	return nil, nil
}

// execution carries out one call.
type execution[S Conversational] struct {
	loop *loop[S]
	// answerID is the message that makes the call, task the model's that got it.
	answerID, task string
	// tries counts how often a wrapper has had the call carried out.
	tries int
}

// carryOut is the innermost ToolHandler. The review is inside of all wrappers: what it
// lets run is what runs (D-101).
func (e *execution[S]) carryOut(ctx agent.Context, call message.ToolCall) (agent.Update, error) {
	e.tries++
	gate := e.loop.gate
	if gate == nil {
		return e.run(e.inOrigin(ctx, call), call)
	}
	return gate.Call(ctx, call, func(ctx agent.Context, allowed message.ToolCall) (agent.Update, error) {
		if gate.Gates(call.Name) || gate.Gates(allowed.Name) {
			return e.run(ctx, allowed, tool.Reviewed())
		}
		return e.run(e.inOrigin(ctx, allowed), allowed)
	})
}

// inOrigin has the call's steps journaled for whichever task carries it out: a
// goto of a caller may plan it anew when it has ended already. Forks, which carry it
// out again (decisions 6), have lost the task.
func (e *execution[S]) inOrigin(ctx agent.Context, call message.ToolCall) agent.Context {
	if e.task == "" {
		return ctx
	}
	return agent.InOrigin(ctx, "react/"+derivedID(e.task, e.answerID, call.ID, strconv.Itoa(e.tries)))
}

// run carries out a call that nothing stands against. The id of the result is the same however
// often that happens, so that a second result takes the place of the first (D-46).
func (e *execution[S]) run(ctx agent.Context, call message.ToolCall, opts ...tool.RunOption) (agent.Update, error) {
	opts = append(opts,
		tool.MessageID(derivedID("answer", e.answerID, call.ID)),
		tool.StateFrom(func() json.RawMessage { return e.loop.stateOf(ctx) }))
	return e.loop.tools.Run(ctx, call, nil, opts...)
}

// stateOf is the agent's state as tools see it; nil when there is none.
func (l *loop[S]) stateOf(ctx agent.Context) json.RawMessage {
	current := agent.CurrentState(ctx)
	s, err := decodeState[S](current.JSON())
	if err != nil {
		return nil
	}
	seen, err := l.toolInput(s)
	if err != nil {
		return nil
	}
	if l.o.ToolInput == nil { // the keys of the middleware, too
		for _, key := range current.Keys() {
			if v, ok := current.Value(key); ok && seen[key] == nil {
				seen[key] = v.AppendJSON(nil)
			}
		}
	}
	raw, err := encode(seen)
	if err != nil {
		return nil
	}
	return raw
}

// leaveTools leads from the tools back to the model, or to the end where all that have
// run are direct ones that succeeded. Each task decides by its own answer; that
// of one is enough to go on.
func (l *loop[S]) leaveTools() {
	direct := map[string]bool{}
	for _, d := range l.tools.Definitions() {
		if t, _ := l.tools.Tool(d.Name); tool.ReturnsDirect(t) {
			direct[d.Name] = true
		}
	}
	if len(direct) == 0 || l.o.Response != nil {
		l.b.Edge(ToolsNode, l.entry)
		return
	}
	agent.BranchOf(l.b, ToolsNode, func(_ agent.Context, s State) ([]agent.Target, error) {
		to := l.entry
		for _, m := range s.Messages.Backward() {
			if m.Type == message.AI {
				break
			}
			if m.Type == message.Tool {
				if to = l.exit; m.Status == "error" || !direct[m.Name] {
					return []agent.Target{{Node: l.entry}}, nil
				}
			}
		}
		return []agent.Target{{Node: to}}, nil
	}, l.entry, l.exit)
}

// derivedID is an id that depends on parts only.
func derivedID(parts ...string) string {
	name, err := json.Marshal(parts)
	if err != nil { // strings always encode
		panic(err)
	}
	return uuid.NewSHA1(uuid.NameSpaceOID, name).String()
}

// encode is v as JSON that keeps the characters <, > and & of texts as they are.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
