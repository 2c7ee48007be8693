package conformance

import (
	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
)

// react describes a tool-calling agent: the model and its tools in turn, one
// task per tool call (spec/runtime.md 7.1, 7.2).
type react struct {
	name string
	// speaks is the name on the model's messages.
	speaks string
	model  talker
	tools  tools
}

// toolTask is the input of one tool call's task: the state and the call.
type toolTask struct {
	Call message.ToolCall `json:"lg_tool_call"`
}

// reactGraph builds the loop over a state S, whose conversation and tool-task
// input the functions give. Hooks before the model run once, those after it each time.
func reactGraph[S any](r react, conversation func(S) message.List, taskInput func(S) map[string]any, before, after []string) *agent.Graph {
	b := agent.NewGraph[S](r.name)
	b.Node("model_request", func(ctx agent.Context, s S) (agent.Update, error) {
		answer, err := r.model(ctx, conversation(s), model.MessageName(r.speaks))
		if err != nil {
			return nil, err
		}
		return add(answer), nil
	})
	agent.NodeOf(b, "tools", func(ctx agent.Context, in toolTask) (agent.Update, error) {
		result, err := r.tools.run(ctx, in.Call)
		if err != nil {
			return nil, err
		}
		return add(result), nil
	})
	last := chain(b, agent.Start, before)
	b.Edge(last, "model_request")
	decide := chain(b, "model_request", after)
	b.BranchTo(decide, func(_ agent.Context, s S) ([]agent.Target, error) {
		calls := openCalls(conversation(s))
		if len(calls) == 0 {
			return []agent.Target{{Node: agent.End}}, nil
		}
		var tasks []agent.Target
		for _, call := range calls {
			input := taskInput(s)
			input["lg_tool_call"] = call
			tasks = append(tasks, agent.Send("tools", input))
		}
		return tasks, nil
	}, "tools", agent.End)
	b.Edge("tools", "model_request")
	return b.MustCompile()
}

// chain adds nodes that write nothing, one after the other behind from, and returns the last one's name.
func chain[S any](b *agent.Builder[S], from string, names []string) string {
	for _, name := range names {
		b.Node(name, func(agent.Context, S) (agent.Update, error) { return agent.Values{}, nil })
		b.Edge(from, name)
		from = name
	}
	return from
}
