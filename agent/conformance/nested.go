package conformance

import "github.com/parley-dev/parley/agent"

// Three levels that share one list without a default; each level adds a key of its own.
type (
	nestedGrandparent struct {
		Messages []string `json:"messages" agent:"append,nodefault"`
	}
	nestedParent struct {
		Messages []string `json:"messages" agent:"append,nodefault"`
		Parent   string   `json:"parent" jsonschema:"enum=parent_one,enum=parent_two"`
	}
	nestedChild struct {
		Messages []string `json:"messages" agent:"append,nodefault"`
		Child    string   `json:"child" jsonschema:"enum=child_one,enum=child_two"`
	}
)

// Nested is a graph in a graph in a graph (spec/conformance-agents.md 3.4).
func Nested() agent.Agent {
	child := agent.NewGraph[nestedChild]("child").
		Node("c_one", entered[nestedChild]).Node("c_two", entered[nestedChild]).
		Edge(agent.Start, "c_one").Edge("c_one", "c_two").Edge("c_two", agent.End).
		MustCompile()
	parent := agent.NewGraph[nestedParent]("parent").
		Node("p_one", entered[nestedParent]).Subgraph("p_two", child).
		Edge(agent.Start, "p_one").Edge("p_one", "p_two").Edge("p_two", agent.End).
		MustCompile()
	return agent.NewGraph[nestedGrandparent]("nested").
		Node("gp_one", entered[nestedGrandparent]).Subgraph("gp_two", parent).
		Edge(agent.Start, "gp_one").Edge("gp_one", "gp_two").Edge("gp_two", agent.End).
		MustCompile()
}

func entered[S any](ctx agent.Context, _ S) (agent.Update, error) {
	return agent.Set("messages", []string{"Entered " + ctx.Node() + " node"}), nil
}
