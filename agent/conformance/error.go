package conformance

import (
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

type messagesState struct {
	Messages message.List `json:"messages"`
}

// Error fails after a second (spec/conformance-agents.md 3.6).
func Error() agent.Agent {
	return agent.NewGraph[messagesState]("error").
		Node("error_node", func(ctx agent.Context, _ messagesState) (agent.Update, error) {
			if err := ctx.Sleep(time.Second); err != nil {
				return nil, err
			}
			return nil, &agent.NamedError{Name: "CustomError", Message: "Boo!"}
		}).
		Edge(agent.Start, "error_node").
		MustCompile()
}
