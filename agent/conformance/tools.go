package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
)

// tool is a function that a model may call. Its text is the content of the tool message.
type tool struct {
	name, description string
	args              []string // names of its arguments, all strings
	// command: it answers through a Command, whose message says nothing of success.
	command bool
	call    func(ctx agent.Context, call message.ToolCall) (string, error)
}

type tools []tool

// described tells a model of the tools.
func (t tools) described() []model.Tool {
	var all []model.Tool
	for _, one := range t {
		properties := map[string]any{}
		for _, name := range one.args {
			properties[name] = map[string]string{"type": "string"}
		}
		schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": one.args})
		if err != nil { // strings only
			panic(err)
		}
		all = append(all, model.Tool{Name: one.name, Description: one.description, Schema: schema})
	}
	return all
}

// run carries out one call and reports its lifecycle. An unknown tool is
// answered with an error that the model can read; a suspension stays an error.
func (t tools) run(ctx agent.Context, call message.ToolCall) (message.Message, error) {
	i := slices.IndexFunc(t, func(one tool) bool { return one.name == call.Name })
	if i < 0 {
		return t.refuse(ctx, call), nil
	}
	agent.ToolCallStarted(ctx, call.ID, call.Name, call.Args)
	text, err := t[i].call(ctx, call)
	if err != nil {
		agent.ToolCallFailed(ctx, call.ID, call.Name, err)
		return message.Message{}, err
	}
	status := "success"
	if t[i].command {
		status = ""
	}
	result := toolResult(ctx, call, status, text)
	agent.ToolCallFinished(ctx, call.ID, call.Name, result)
	return result, nil
}

func (t tools) refuse(ctx agent.Context, call message.ToolCall) message.Message {
	var names []string
	for _, one := range t {
		names = append(names, one.name)
	}
	return toolResult(ctx, call, "error",
		fmt.Sprintf("%s is not a valid tool, try one of [%s].", call.Name, strings.Join(names, ", ")))
}

func toolResult(ctx agent.Context, call message.ToolCall, status, text string) message.Message {
	m := message.NewTool(call.ID, call.Name, text)
	m.ID, m.Status = ctx.NewID(), status
	return m
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
