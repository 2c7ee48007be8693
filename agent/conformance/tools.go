package conformance

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// tools maps the names of an agent's tools to their functions. The text is the content of the tool message.
type tools map[string]func(ctx agent.Context, call message.ToolCall) (string, error)

// run carries out one call and reports its lifecycle. A failing tool answers
// with an error message that the model can read; a suspension stays an error.
func (t tools) run(ctx agent.Context, call message.ToolCall) (message.Message, error) {
	result := message.Message{Type: message.Tool, Name: call.Name, ToolCallID: call.ID, Status: "success", ID: ctx.NewID()}
	fn, known := t[call.Name]
	if !known {
		result.Status, result.Content = "error", message.TextContent(fmt.Sprintf("%s is not a valid tool.", call.Name))
		return result, nil
	}
	agent.ToolCallStarted(ctx, call.ID, call.Name, call.Args)
	text, err := fn(ctx, call)
	if err != nil {
		agent.ToolCallFailed(ctx, call.ID, call.Name, err)
		return message.Message{}, err
	}
	result.Content = message.TextContent(text)
	agent.ToolCallFinished(ctx, call.ID, call.Name, result)
	return result, nil
}

// openCalls are the tool calls of the newest AI message that have no answer yet.
func openCalls(messages message.List) []message.ToolCall {
	answered := map[string]bool{}
	for _, m := range messages.Backward() {
		switch m.Type {
		case message.Tool:
			answered[m.ToolCallID] = true
		case message.AI:
			return slices.DeleteFunc(m.ToolCalls, func(c message.ToolCall) bool { return answered[c.ID] })
		default:
			return nil
		}
	}
	return nil
}

// argument reads one string argument of a call.
func argument(call message.ToolCall, key string) (string, error) {
	var args map[string]json.RawMessage
	var value string
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return "", fmt.Errorf("arguments of %s: %w", call.Name, err)
	}
	if err := json.Unmarshal(args[key], &value); err != nil {
		return "", fmt.Errorf("argument %s of %s: %w", key, call.Name, err)
	}
	return value, nil
}
