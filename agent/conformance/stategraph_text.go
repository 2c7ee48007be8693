package conformance

import (
	"github.com/parley-dev/parley/agent"
)

// StategraphText streams the same answer in each run (spec/conformance-agents.md 6.3).
func StategraphText() agent.Agent {
	models := numberedModel("Plan accepted.")
	return agent.NewGraph[messagesState]("stategraph_text").
		Node("agent", func(ctx agent.Context, s messagesState) (agent.Update, error) {
			answer, err := models(ctx, s.Messages)
			if err != nil {
				return nil, err
			}
			return add(answer), nil
		}).
		Edge(agent.Start, "agent").
		MustCompile()
}
