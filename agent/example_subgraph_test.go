package agent_test

import (
	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// Desk is a help desk.
type Desk struct {
	Messages message.List `json:"messages"`
	Topic    string       `json:"topic"`
}

// Billing is the state of the desk's billing graph. It shares the key messages;
// invoice is its own.
type Billing struct {
	Messages message.List `json:"messages"`
	Invoice  string       `json:"invoice"`
}

// NewDesk runs the billing graph as one of its nodes.
func NewDesk() *agent.Graph {
	billing := agent.NewGraph[Billing]("billing").
		Node("find", func(_ agent.Context, _ Billing) (agent.Update, error) {
			return agent.Set("invoice", "2026-117"), nil
		}).
		Node("explain", func(_ agent.Context, s Billing) (agent.Update, error) {
			return agent.Set("messages", []message.Message{message.NewAI("It is about invoice " + s.Invoice + ".")}), nil
		}).
		Edge(agent.Start, "find").
		Edge("find", "explain").
		Edge("explain", agent.End).
		MustCompile()

	return agent.NewGraph[Desk]("desk").
		Node("sort", func(_ agent.Context, _ Desk) (agent.Update, error) {
			return &agent.Command{Goto: []agent.Target{{Node: "billing"}}}, nil
		}, agent.Ends("billing")).
		Subgraph("billing", billing).
		Edge(agent.Start, "sort").
		Edge("billing", agent.End).
		MustCompile()
}
