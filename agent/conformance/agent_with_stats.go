package conformance

import (
	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/react"
)

// AgentWithStats is AgentWithTools with a tools node written by hand, which
// reports no tool lifecycle, and with two values on channels of their own when it
// ends: how many tool calls were reported, and how many tokens its messages took
// (spec/conformance-agents.md 3.3).
func AgentWithStats() agent.Agent {
	const callID = "call_stats_1"
	return agent.NewGraph[messagesState]("agent_with_stats").
		Node("agent", func(ctx agent.Context, s messagesState) (agent.Update, error) {
			if last, ok := s.Messages.Last(); ok && last.ToolCallID == callID {
				ctx.Write(extension{"toolCallCount", 0}) // the tools node reports none
				ctx.Write(extension{"totalTokens", tokens(s.Messages)})
				return say("Done."), nil
			}
			return askWeather(callID), nil
		}).
		Node("tools", func(_ agent.Context, s messagesState) (agent.Update, error) {
			results := []message.Message{}
			for _, call := range react.OpenCalls(s.Messages) {
				results = append(results, message.NewTool(call.ID, "weather", "It's 60 degrees and foggy."))
			}
			return add(results...), nil
		}).
		Edge(agent.Start, "agent").
		Branch("agent", toolsOrEnd, "tools", agent.End).
		Edge("tools", "agent").
		MustCompile()
}

// extension is a value on the channel custom:<name>.
type extension struct {
	Name    string `json:"name"`
	Payload int    `json:"payload"`
}

// tokens sums up what the messages of models took.
func tokens(list message.List) (n int) {
	for _, m := range list.All() {
		if u := m.UsageMetadata; u != nil {
			n += u.InputTokens + u.OutputTokens
		}
	}
	return n
}
