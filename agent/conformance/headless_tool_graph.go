package conformance

import (
	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
)

// headlessToolGraph leaves its only tool to the client (spec/conformance-frontends.md 4.3).
func headlessToolGraph(name string) agent.Agent {
	return react.Must(react.New(react.Options[react.State]{
		Name: name, Tools: []tool.Tool{clientLocation()},
		Model: exchange{
			calls: message.NewAI("", toolCall("tool-call-browser-1", "get_location", `{"highAccuracy":false}`)),
			final: message.NewAI("Location received!"),
			once:  true,
		},
	}))
}
