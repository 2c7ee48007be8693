package conformance

import (
	"strconv"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// replyGraph is a graph of one node that answers, with reports of its progress around it; "" for none.
func replyGraph(name, node string, answer talker, before, after string) *agent.Graph {
	report := func(ctx agent.Context, label string) {
		if label != "" {
			ctx.Write(customProgress{"progress", label})
		}
	}
	return agent.NewGraph[messagesState](name).
		Node(node, func(ctx agent.Context, s messagesState) (agent.Update, error) {
			report(ctx, before)
			reply, err := answer(ctx, s.Messages)
			if err != nil {
				return nil, err
			}
			report(ctx, after)
			return add(reply), nil
		}).
		Edge(agent.Start, node).
		MustCompile()
}

// childGraph has a graph as its only node (spec/conformance-frontends.md 5.1).
func childGraph(name string, child *agent.Graph) agent.Agent {
	return agent.NewGraph[messagesState](name).Subgraph("child", child).Edge(agent.Start, "child").MustCompile()
}

// embeddedGraph invokes a graph inside a node's function (spec/conformance-frontends.md 5.1).
func embeddedGraph(name string, answer talker) agent.Agent {
	inner := replyGraph("research", "inner", answer, "research-started", "research-finished")
	return agent.NewGraph[messagesState](name).
		Node("research", func(ctx agent.Context, s messagesState) (agent.Update, error) {
			state, err := agent.Invoke(ctx, inner, map[string]any{"messages": s.Messages})
			if err != nil {
				return nil, err
			}
			found, _ := state.Messages()["messages"].Last()
			return say(found.Text()), nil
		}, agent.Invokes(inner)).
		Node("summarize", func(agent.Context, messagesState) (agent.Update, error) { return say("Summary line"), nil }).
		Edge(agent.Start, "research").Edge("research", "summarize").
		MustCompile()
}

// parallelSubgraph runs six graphs at a time (spec/conformance-frontends.md 5.1).
func parallelSubgraph(answer talker, before string) agent.Agent {
	return agent.NewGraph[messagesState]("parallel_subgraph").
		Subgraph("worker", replyGraph("worker", "inner", answer, before, "")).
		BranchTo(agent.Start, func(agent.Context, messagesState) ([]agent.Target, error) {
			var tasks []agent.Target
			for i := range 6 {
				subtask := message.NewHuman("Subtask " + strconv.Itoa(i+1))
				tasks = append(tasks, agent.Send("worker", map[string]any{"messages": []message.Message{subtask}}))
			}
			return tasks, nil
		}, "worker").
		Edge("worker", agent.End).
		MustCompile()
}
