package conformance

import (
	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
)

// CreateAgent is a tool-calling agent (spec/conformance-agents.md 6.1).
func CreateAgent() agent.Agent {
	return react.Must(react.New(react.Options[react.State]{
		Name: "create_agent", Prompt: "You are a deterministic weather agent for protocol testing.",
		Tools: []tool.Tool{weatherReport()}, ModelOptions: []model.Option{model.Unstreamed()},
		Model: exchange{
			calls: withID("call-weather-1-message", message.NewAI("", toolCall("call-weather-1", "get_weather", `{"city":"San Francisco"}`))),
			final: withID("call-weather-1-final", message.NewAI("It's 64F and foggy in San Francisco.")),
		},
	}))
}
