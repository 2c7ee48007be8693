package conformance

import (
	"strings"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
)

// AgentWithTools calls a tool once and says that it is done (spec/conformance-agents.md 3.3).
func AgentWithTools() agent.Agent {
	available, err := tool.NewSet(tool.New("weather", "Get the current weather for a location.", weatherTool))
	if err != nil {
		panic(err)
	}
	return agent.NewGraph[messagesState]("agent_with_tools").
		Node("agent", func(_ agent.Context, s messagesState) (agent.Update, error) {
			if last, ok := s.Messages.Last(); ok && last.Type == message.Tool {
				return say("Done."), nil
			}
			return askWeather("call_embed_1"), nil
		}).
		Node("tools", func(ctx agent.Context, s messagesState) (agent.Update, error) {
			var results agent.Updates
			for _, call := range react.OpenCalls(s.Messages) {
				result, err := available.Run(ctx, call, nil)
				if err != nil {
					return nil, err
				}
				results = append(results, result)
			}
			return results, nil
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

func weatherTool(_ tool.Context, args struct {
	Query string `json:"query"`
}) (any, error) {
	query := strings.ToLower(args.Query)
	if strings.Contains(query, "sf") || strings.Contains(query, "san francisco") {
		return "It's 60 degrees and foggy.", nil
	}
	return "It's 90 degrees and sunny.", nil
}
