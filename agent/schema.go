package agent

import (
	"encoding/json"
	"slices"
)

// Schemas are the JSON Schemas of a graph, draft-07; nil where one can't be derived.
type Schemas struct {
	Input, Output, State, Context json.RawMessage
}

// Schemas derives the graph's schemas from its Go types. Struct tags add what Go
// can't say: jsonschema:"enum=a,enum=b", jsonschema:"description=…", and
// jsonschema_extras:"langgraph_type=messages" for a key that holds messages in a
// form of its own.
func (g *Graph) Schemas() Schemas {
	return Schemas{
		Input:   reflectSchema(g.stateType, g.shows(g.inputKeys)),
		Output:  reflectSchema(g.stateType, g.shows(g.outputKeys)),
		State:   reflectSchema(g.stateType, g.shows(g.keys)),
		Context: reflectSchema(g.contextType, nil),
	}
}

// shows accepts the state keys of a schema.
func (g *Graph) shows(keys []string) func(string) bool {
	return func(key string) bool { return slices.Contains(keys, key) }
}
