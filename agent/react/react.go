// Package react holds the tool-calling agent: a model and its tools in turn, one
// task per tool call, so that each call runs, waits and is answered alone (spec/runtime.md 7.1, 7.2).
package react

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/tool"
)

// Names of the agent's nodes. Clients find subagents by the name of ToolsNode.
const (
	ModelNode = "model_request"
	ToolsNode = "tools"
)

// DefaultSpeaker is the name on the messages of an agent that has none.
const DefaultSpeaker = "model"

// Conversational is a state with a conversation; embed State to make one.
type Conversational interface{ Conversation() message.List }

// State is the state of an agent without keys of its own.
type State struct {
	Messages message.List `json:"messages"`
}

// Conversation implements Conversational.
func (s State) Conversation() message.List { return s.Messages }

// Options describe an agent whose state is S.
type Options[S Conversational] struct {
	// Name is the graph's name.
	Name string
	// Speaker is the name on the model's messages, and readers of the stream get it with
	// them as lc_agent_name. Default: DefaultSpeaker, and no lc_agent_name.
	Speaker string
	// Prompt is put before the conversation as a system message; it is not stored.
	Prompt string
	// Model answers; required. ModelOptions are handed on to each call.
	Model        model.Model
	ModelOptions []model.Option
	// Tools that the model may call; without any the agent has no ToolsNode.
	Tools []tool.Tool
	// BeforeAgent run once per turn in this order, AfterModel behind each answer
	// of the model, the last one first; each as a node of its own.
	BeforeAgent, AfterModel []Hook[S]
	// ToolInput is what the task of a tool call is given of the state, an object. Default: the state.
	ToolInput func(S) any
	// GraphOptions are handed on to the graph.
	GraphOptions []agent.GraphOption
}

// Hook is a node around the loop; its Name is the node's.
type Hook[S any] struct {
	Name string
	Run  func(ctx agent.Context, s S) (agent.Update, error)
}

// New compiles the agent's graph. Errors: no model, tools that tool.NewSet refuses, names that the graph refuses.
func New[S Conversational](o Options[S]) (*agent.Graph, error) {
	if o.Model == nil {
		return nil, fmt.Errorf("react: agent %q has no model", o.Name)
	}
	tools, err := tool.NewSet(o.Tools...)
	if err != nil {
		return nil, fmt.Errorf("react: agent %q: %w", o.Name, err)
	}
	b := agent.NewGraph[S](o.Name, o.GraphOptions...)
	named := agent.Tags()
	if o.Speaker != "" {
		named = agent.NodeMetadata(map[string]any{"lc_agent_name": o.Speaker})
	}
	from := agent.Start
	add := func(name string, run func(agent.Context, S) (agent.Update, error)) {
		b.Node(name, run, named)
		b.Edge(from, name)
		from = name
	}
	for _, h := range o.BeforeAgent {
		add(h.Name, h.Run)
	}
	add(ModelNode, modelNode(o, tools))
	for i := len(o.AfterModel) - 1; i >= 0; i-- {
		add(o.AfterModel[i].Name, o.AfterModel[i].Run)
	}
	if len(o.Tools) == 0 {
		b.Edge(from, agent.End)
		return b.Compile()
	}
	agent.NodeOf(b, ToolsNode, toolsNode(tools), named)
	b.BranchTo(from, func(_ agent.Context, s S) ([]agent.Target, error) {
		return callTasks(o, s)
	}, ToolsNode, agent.End)
	b.Edge(ToolsNode, ModelNode)
	return b.Compile()
}

// Must returns the graph of New and panics on an error, for agents known to be right.
func Must(g *agent.Graph, err error) *agent.Graph {
	if err != nil {
		panic(err)
	}
	return g
}

func modelNode[S Conversational](o Options[S], tools *tool.Set) func(agent.Context, S) (agent.Update, error) {
	speaker := o.Speaker
	if speaker == "" {
		speaker = DefaultSpeaker
	}
	opts := append([]model.Option{model.MessageName(speaker)}, o.ModelOptions...)
	return func(ctx agent.Context, s S) (agent.Update, error) {
		req := model.Request{System: o.Prompt, Messages: s.Conversation(), Tools: tools.Definitions()}
		answer, err := model.Generate(ctx, o.Model, req, opts...)
		if err != nil {
			return nil, err
		}
		return agent.Set("messages", []message.Message{answer}), nil
	}
}

// toolCallKey is where the input of a tool call's task has the call, beside the state.
const toolCallKey = "lg_tool_call"

func toolsNode(tools *tool.Set) func(agent.Context, json.RawMessage) (agent.Update, error) {
	return func(ctx agent.Context, in json.RawMessage) (agent.Update, error) {
		var state map[string]json.RawMessage
		if err := json.Unmarshal(in, &state); err != nil {
			return nil, fmt.Errorf("react: input of a tool call: %w", err)
		}
		var call message.ToolCall
		if err := json.Unmarshal(state[toolCallKey], &call); err != nil {
			return nil, errors.New("react: the tools node was reached without a tool call")
		}
		delete(state, toolCallKey)
		rest, err := encode(state)
		if err != nil {
			return nil, fmt.Errorf("react: input of a tool call: %w", err)
		}
		return tools.Run(ctx, call, rest)
	}
}

// callTasks leads to one task per call that has no answer yet.
func callTasks[S Conversational](o Options[S], s S) ([]agent.Target, error) {
	calls := OpenCalls(s.Conversation())
	if len(calls) == 0 {
		return []agent.Target{{Node: agent.End}}, nil
	}
	var input any = s
	if o.ToolInput != nil {
		input = o.ToolInput(s)
	}
	raw, err := encode(input)
	if err != nil {
		return nil, fmt.Errorf("react: input of a tool call: %w", err)
	}
	var state map[string]json.RawMessage
	if err := json.Unmarshal(raw, &state); err != nil {
		return nil, fmt.Errorf("react: input of a tool call: %w", err)
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

// OpenCalls are the tool calls of the newest AI message that have no answer yet.
func OpenCalls(conversation message.List) []message.ToolCall {
	answered := map[string]bool{}
	for _, m := range conversation.Backward() {
		switch m.Type {
		case message.Tool:
			answered[m.ToolCallID] = true
		case message.AI:
			var open []message.ToolCall
			for _, call := range m.ToolCalls {
				if !answered[call.ID] {
					open = append(open, call)
				}
			}
			return open
		}
	}
	return nil
}
