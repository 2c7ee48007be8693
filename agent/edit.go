package agent

import (
	"context"
	"encoding/json"
)

// Edit is one update of a state update from outside (spec/runtime.md 5.1, 5.2).
type Edit struct {
	Values  json.RawMessage // object, list of objects, or null
	Command *Command        // replaces Values when set
	AsNode  string          // "" = derived; __input__, __copy__, __end__ as in the spec
}

// EditRequest is a state update: Supersteps are applied in order on Base, one checkpoint each.
type EditRequest struct {
	ThreadID string
	NS       string
	// Base is the checkpoint to start from; nil for an empty thread. BaseAddressed is set when the caller named it by id.
	Base          *Tuple
	BaseAddressed bool
	Supersteps    [][]Edit
	// Metadata is merged into the new checkpoints' metadata.
	Metadata map[string]json.RawMessage
	Config   Config
	Reader   Reader
	Clock    Clock
	IDs      IDs
}

// EditResult is what a state update leaves; the caller stores it.
type EditResult struct {
	Checkpoints []*Checkpoint
	Tasks       []TaskRecord
}

// EditState computes a state update. It executes no node and stores nothing. Errors: *InvalidUpdateError.
func (g *Graph) EditState(ctx context.Context, req EditRequest) (*EditResult, error) {
	panic("unimplemented")
}
