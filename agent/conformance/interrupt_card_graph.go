package conformance

import (
	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
)

// interruptCardGraph has an action reviewed, whose card the client adds with its
// answer (spec/conformance-frontends.md 4.2).
func interruptCardGraph(s style) agent.Agent {
	return react.Must(react.New(react.Options[react.State]{
		Name: "interrupt_card_graph", Prompt: "You are a deterministic approval agent for protocol testing.",
		Tools: []tool.Tool{reviewedAction()}, ModelOptions: s.options(),
		Model: s.model(
			withID("call-review-1-message", message.NewAI("", toolCall("call-review-1", "review_action", `{"toolArg":"delete_db"}`))),
			withID("call-review-1-final", message.NewAI("Done.")),
		),
	}))
}
