package demo

import (
	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

type echoState struct {
	Messages message.List `json:"messages"`
}

// Echo streams the user's words back, one at a time.
func Echo() agent.Agent {
	return agent.NewGraph[echoState]("echo").
		Node("echo", func(ctx agent.Context, s echoState) (agent.Update, error) {
			answer := newestRequest(s.Messages)
			if answer == "" {
				answer = "Say something, and I will say it back."
			}
			return say(ctx, s.Messages, answer)
		}).
		Edge(agent.Start, "echo").
		Edge("echo", agent.End).
		MustCompile()
}
