package conformance

import (
	"fmt"

	"github.com/parley-dev/parley/agent"
)

type plainZodState struct {
	Items   []string `json:"items" jsonschema:"default=[]"`
	Counter int      `json:"counter" jsonschema:"default=0"`
	Label   string   `json:"label,omitempty"`
}

// PlainZodGraph has no key with a reducer (spec/conformance-agents.md 3.12).
func PlainZodGraph() agent.Agent {
	return agent.NewGraph[plainZodState]("plain_zod_graph").
		Node("process", func(_ agent.Context, s plainZodState) (agent.Update, error) {
			return agent.Values{
				"items":   append(s.Items[:len(s.Items):len(s.Items)], fmt.Sprintf("Item %d", s.Counter+1)),
				"counter": s.Counter + 1,
				"label":   "processed",
			}, nil
		}).
		Edge(agent.Start, "process").
		Edge("process", agent.End).
		MustCompile()
}
