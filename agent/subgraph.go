package agent

// Invoke runs a graph inside a node, under the node's namespace.
func Invoke(ctx Context, g *Graph, input any) (*State, error) { panic("unimplemented") }

// runSubgraph runs a graph that is a node.
func runSubgraph(ctx Context, child *Graph, in taskInput) (Update, error) { panic("unimplemented") }
