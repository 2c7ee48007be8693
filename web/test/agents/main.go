// Command agents serves the demo agents and those that the tests of the web app need beside
// them: they think aloud, tell of their progress, fail, and ask in every way there is. It
// takes the flags of parley serve.
package main

import (
	"slices"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/conformance"
	"github.com/parley-dev/parley/agent/demo"
	"github.com/parley-dev/parley/server"
)

func main() { server.Main(server.Options{Agents: agents()}) }

func agents() []agent.Agent {
	list := append(demo.Agents(), thinker(), builder(), moody(), courier(), labels(), claims(), survey(), payout(), describer())
	// A team of subagents, and a graph as a node.
	for _, a := range conformance.ReactSet() {
		if slices.Contains([]string{"deep_agent", "subgraph_graph"}, a.Name()) {
			list = append(list, a)
		}
	}
	return list
}
