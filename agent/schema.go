package agent

import (
	"encoding/json"
)

// Schemas are the JSON Schemas of a graph, draft-07; nil where one can't be derived.
type Schemas struct {
	Input, Output, State, Context json.RawMessage
}

// Schemas derives the graph's schemas from its Go types.
func (g *Graph) Schemas() Schemas { panic("unimplemented") }
