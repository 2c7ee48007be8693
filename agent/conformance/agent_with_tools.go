package conformance

import (
	"strings"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// AgentWithTools calls a tool once and says that it is done (spec/conformance-agents.md 3.3).
func AgentWithTools() agent.Agent {
	available := tools{{
		name: "weather", description: "Get the current weather for a location.", args: []string{"query"}, call: weatherTool,
	}}
	return agent.NewGraph[messagesState]("agent_with_tools").
		Node("agent", func(_ agent.Context, s messagesState) (agent.Update, error) {
			if last, ok := s.Messages.Last(); ok && last.Type == message.Tool {
				return say("Done."), nil
			}
			return askWeather("call_embed_1"), nil
		}).
		Node("tools", func(ctx agent.Context, s messagesState) (agent.Update, error) {
			var results []message.Message
			for _, call := range openCalls(s.Messages) {
				result, err := available.run(ctx, call)
				if err != nil {
					return nil, err
				}
				results = append(results, result)
			}
			return add(results...), nil
		}).
		Edge(agent.Start, "agent").
		Branch("agent", toolsOrEnd, "tools", agent.End).
		Edge("tools", "agent").
		MustCompile()
}

func askWeather(callID string) agent.Values {
	call := toolCall(callID, "weather", `{"query":"SF"}`)
	return add(message.NewAI("", call))
}

func toolsOrEnd(s messagesState) string {
	if last, ok := s.Messages.Last(); ok && last.Type == message.AI && len(last.ToolCalls) > 0 {
		return "tools"
	}
	return agent.End
}

func weatherTool(_ agent.Context, call message.ToolCall) (string, error) {
	query, err := argument(call, "query")
	if err != nil {
		return "", err
	}
	query = strings.ToLower(query)
	if strings.Contains(query, "sf") || strings.Contains(query, "san francisco") {
		return "It's 60 degrees and foggy.", nil
	}
	return "It's 90 degrees and sunny.", nil
}
