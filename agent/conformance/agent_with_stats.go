package conformance

import (
	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/react"
)

// AgentWithStats is AgentWithTools with a tools node written by hand, which
// reports no tool lifecycle (spec/conformance-agents.md 3.3).
func AgentWithStats() agent.Agent {
	const callID = "call_stats_1"
	return agent.NewGraph[messagesState]("agent_with_stats").
		Node("agent", func(_ agent.Context, s messagesState) (agent.Update, error) {
			if last, ok := s.Messages.Last(); ok && last.ToolCallID == callID {
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
