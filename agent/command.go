package agent

import (
	"encoding/json"
)

// Command is what a client (or a node) asks of a graph beside plain input
// (spec/runtime.md 3): answers to interrupts, a state update and where to go.
type Command struct {
	// Resume is a plain answer, or an object whose keys are all interrupt ids.
	// HasResume tells an explicit answer (which may be null by id) from none.
	Resume    json.RawMessage
	HasResume bool
	// Update holds writes in order.
	Update []Write
	// Goto names nodes or Sends.
	Goto []Target
	// Parent is set for graph: "PARENT" (a node's Command only).
	Parent bool
}

// Target is where a Command or a branch leads: a node, or, with Input set, a
// Send: a task of its own that gets Input instead of the state.
type Target struct {
	Node  string
	Input json.RawMessage
}

// Send returns a target that runs node with input as its whole input.
func Send(node string, input any) Target {
	raw, err := encode(input)
	if err != nil {
		raw = json.RawMessage("null")
	}
	return Target{Node: node, Input: raw}
}

// Update is what a node may return: Values, *Command, Seal, or Updates. A nil Update writes nothing.
type Update interface{ isUpdate() }

// Values maps state keys to new values; unknown keys are dropped.
type Values map[string]any

// Updates is a list of updates applied in order.
type Updates []Update

func (Values) isUpdate()   {}
func (*Command) isUpdate() {}
func (Updates) isUpdate()  {}

// Set returns an update of one key.
func Set(key string, value any) Values { return Values{key: value} }

// Set adds a key to the update and returns it.
func (v Values) Set(key string, value any) Values { v[key] = value; return v }

// Goto returns a Command that leads to nodes.
func Goto(nodes ...string) *Command {
	c := &Command{}
	for _, n := range nodes {
		c.Goto = append(c.Goto, Target{Node: n})
	}
	return c
}
