package conformance

import (
	"fmt"

	"github.com/parley-dev/parley/agent"
)

type zodRegistryState struct {
	Messages []string `json:"messages" jsonschema_extras:"langgraph_type=messages"`
	Count    int      `json:"count" jsonschema:"default=0"`
	Status   string   `json:"status" jsonschema:"enum=idle,enum=processing,enum=done,default=idle"`
}

// ZodRegistryGraph keeps a list whose reducer takes one string (spec/conformance-agents.md 3.11).
func ZodRegistryGraph() agent.Agent {
	list := agent.Reducer("messages", func() []string { return []string{} },
		func(old []string, one string) ([]string, error) {
			return append(old[:len(old):len(old)], one), nil
		})
	return agent.NewGraph[zodRegistryState]("zod_registry_graph", list).
		Node("process", func(_ agent.Context, s zodRegistryState) (agent.Update, error) {
			return agent.Values{
				"messages": fmt.Sprintf("Message %d", s.Count+1),
				"count":    s.Count + 1,
				"status":   "processing",
			}, nil
		}).
		Edge(agent.Start, "process").
		Edge("process", agent.End).
		MustCompile()
}
