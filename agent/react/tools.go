package react

import (
	"encoding/json"
	"strconv"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/tool"
)

// toolsNode carries out one call. Its input says which one; all else is taken from the
// thread's state, since whoever may send commands can make up an input: one without a call,
// or with a call that the newest AI message doesn't make, or that has its answer, is left
// alone (decisions 14).
func (l *loop[S]) toolsNode(ctx agent.Context, in json.RawMessage) (agent.Update, error) {
	named, ok := namedCall(in)
	conversation, _ := agent.StateValue(ctx, messagesKey)
	if !ok || conversation.List == nil {
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

// namedCall reads the call in the input of a task; false for an input without one: that is no
// error, since a failed task would stay with the checkpoint and end each of the thread's runs.
func namedCall(in json.RawMessage) (call message.ToolCall, ok bool) {
	var sent map[string]json.RawMessage
	ok = json.Unmarshal(in, &sent) == nil && json.Unmarshal(sent[toolCallKey], &call) == nil
	return call, ok
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
