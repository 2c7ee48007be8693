package conformance

import (
	"fmt"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

type stateSchemaState struct {
	Messages message.List `json:"messages" jsonschema_extras:"langgraph_type=messages"`
	Count    int          `json:"count" agent:"default=0"`
}

// StateSchemaGraph counts its answers (spec/conformance-agents.md 3.10).
func StateSchemaGraph() agent.Agent {
	return agent.NewGraph[stateSchemaState]("state_schema_graph").
		Node("process", func(_ agent.Context, s stateSchemaState) (agent.Update, error) {
			return say(fmt.Sprintf("Response %d", s.Count+1)).Set("count", s.Count+1), nil
		}).
		Edge(agent.Start, "process").
		Edge("process", agent.End).
		MustCompile()
}
