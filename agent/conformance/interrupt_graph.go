package conformance

import (
	"bytes"
	"encoding/json"

	"github.com/parley-dev/parley/agent"
)

type interruptState struct {
	Request   string                     `json:"request"`
	Decision  map[string]json.RawMessage `json:"decision" agent:"any,default=null"`
	Completed bool                       `json:"completed" agent:"any,default=false"`
}

// InterruptGraph asks one question (spec/conformance-agents.md 6.2).
func InterruptGraph() agent.Agent {
	return agent.NewGraph[interruptState]("interrupt_graph").
		Node("review", func(ctx agent.Context, s interruptState) (agent.Update, error) {
			answer, err := agent.Interrupt[json.RawMessage](ctx, map[string]any{
				"prompt": "Approve the outbound action?", "request": s.Request,
			})
			if err != nil {
				return nil, err
			}
			if trimmed := bytes.TrimSpace(answer); len(trimmed) == 0 || trimmed[0] != '{' {
				return agent.Values{"decision": map[string]any{"value": answer}, "completed": true}, nil
			}
			return agent.Values{"decision": answer, "completed": true}, nil
		}).
		Edge(agent.Start, "review").
		Edge("review", agent.End).
		MustCompile()
}
