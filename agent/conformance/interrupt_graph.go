package conformance

import (
	"bytes"
	"encoding/json"

	"github.com/parley-dev/parley/agent"
)

type interruptState struct {
	Request   string          `json:"request"`
	Decision  json.RawMessage `json:"decision" agent:"any,default=null"`
	Completed bool            `json:"completed" agent:"any,default=false"`
}

// InterruptGraph asks one question (spec/conformance-agents.md 6.2).
func InterruptGraph() agent.Agent {
	return reviewGraph("interrupt_graph", "Approve the outbound action?")
}

func reviewGraph(name, prompt string) *agent.Graph {
	return agent.NewGraph[interruptState](name).
		Node("review", func(ctx agent.Context, s interruptState) (agent.Update, error) {
			decision, err := decide(ctx, prompt, s.Request)
			if err != nil {
				return nil, err
			}
			return agent.Values{"decision": decision, "completed": true}, nil
		}).
		Edge(agent.Start, "review").
		Edge("review", agent.End).
		MustCompile()
}

// decide asks for a decision: an object, or what is made one.
func decide(ctx agent.Context, prompt, request string) (any, error) {
	answer, err := agent.Interrupt[json.RawMessage](ctx, struct {
		Prompt  string `json:"prompt"`
		Request string `json:"request"`
	}{prompt, request})
	if err != nil {
		return nil, err
	}
	if trimmed := bytes.TrimSpace(answer); len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[' {
		return map[string]any{"value": answer}, nil
	}
	return answer, nil
}

// nestedInterruptGraph asks two graphs down (spec/conformance-frontends.md 4.5).
func nestedInterruptGraph() agent.Agent {
	inner := reviewGraph("grandchild", "Approve nested subgraph action?")
	child := agent.NewGraph[interruptState]("child").
		Subgraph("inner", inner).
		Edge(agent.Start, "inner").Edge("inner", agent.End).
		MustCompile()
	return agent.NewGraph[interruptState]("nested_interrupt_graph").
		Subgraph("child", child).
		Edge(agent.Start, "child").Edge("child", agent.End).
		MustCompile()
}

type interruptOnceState struct {
	Request        string          `json:"request"`
	Decision       json.RawMessage `json:"decision" agent:"default=null"`
	CompletedTurns int             `json:"completedTurns" agent:"default=0"`
}

// interruptOnceGraph asks in the first turn of a thread only (spec/conformance-frontends.md 4.5).
func interruptOnceGraph() agent.Agent {
	return agent.NewGraph[interruptOnceState]("interrupt_once_graph").
		Node("review", func(ctx agent.Context, s interruptOnceState) (agent.Update, error) {
			turns := agent.Set("completedTurns", s.CompletedTurns+1)
			if !isNull(s.Decision) {
				return turns, nil
			}
			decision, err := decide(ctx, "Approve the outbound action?", s.Request)
			if err != nil {
				return nil, err
			}
			return turns.Set("decision", decision), nil
		}).
		Edge(agent.Start, "review").
		Edge("review", agent.End).
		MustCompile()
}
