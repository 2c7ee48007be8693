package conformance

import (
	"encoding/json"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// CreateAgent is a tool-calling agent (spec/conformance-agents.md 6.1).
func CreateAgent() agent.Agent {
	available := tools{{name: "get_weather", description: "Get weather for a city", args: []string{"city"}, call: getWeather}}
	return reactGraph(react{
		name: "create_agent", speaks: "model", tools: available,
		model: toolCallingModel("You are a deterministic weather agent for protocol testing.", available,
			withID("call-weather-1-message", message.NewAI("", toolCall("call-weather-1", "get_weather", `{"city":"San Francisco"}`))),
			withID("call-weather-1-final", message.NewAI("It's 64F and foggy in San Francisco.")),
		),
	},
		func(s messagesState) message.List { return s.Messages },
		func(s messagesState) map[string]any { return map[string]any{"messages": s.Messages} },
		nil, nil)
}

func getWeather(ctx agent.Context, call message.ToolCall) (string, error) {
	city, err := argument(call, "city")
	if err != nil {
		return "", err
	}
	if err := ctx.Sleep(200 * time.Millisecond); err != nil {
		return "", err
	}
	text, err := json.Marshal(struct {
		City      string `json:"city"`
		TempF     int    `json:"temp_f"`
		Condition string `json:"condition"`
	}{city, 64, "Foggy"})
	return string(text), err
}
