package agent

import "encoding/json"

// Schemas are the JSON Schemas of a graph, draft-07; nil where one can't be derived.
type Schemas struct {
	Input, Output, State, Context json.RawMessage
}

// Schemas derives the graph's schemas from its Go types. Struct tags add what Go
// can't say: jsonschema:"enum=a,enum=b", jsonschema:"description=…", and
// jsonschema_extras:"langgraph_type=messages" for a key that clients are to show
// as messages although it has another type.
func (g *Graph) Schemas() Schemas {
	return Schemas{
		Input:   reflectSchema(g.stateType, g.properties(g.inputKeys)),
		Output:  reflectSchema(g.stateType, g.properties(g.outputKeys)),
		State:   reflectSchema(g.stateType, g.properties(g.keys)),
		Context: reflectSchema(g.contextType, nil),
	}
}

func (g *Graph) properties(keys []string) map[string]property {
	p := make(map[string]property, len(keys))
	for _, key := range keys {
		spec := g.specs[key]
		p[key] = property{messages: spec.kind == kindMessages, initial: spec.initial}
	}
	return p
}
