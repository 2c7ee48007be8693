package agent

import (
	"encoding/json"
	"time"
)

// Snapshot is the state of a graph at a checkpoint, as readers see it
// (spec/runtime.md 1.11, spec/rest-api.md 5.1).
type Snapshot struct {
	NS           string
	CheckpointID string // "" when the thread has none in this namespace
	ParentID     string
	// Map and ParentMap give the checkpoint ids of this and the enclosing namespaces; nil at the root.
	Map       map[string]string
	ParentMap map[string]string
	State     *State
	Next      []string
	Tasks     []TaskView
	// Metadata is the checkpoint's, with source, step and parents.
	Metadata  map[string]json.RawMessage
	CreatedAt time.Time
}

// TaskView is one task of a snapshot's next superstep.
type TaskView struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Path       json.RawMessage `json:"path"`
	Error      *ErrorInfo      `json:"error,omitempty"`
	Interrupts []InterruptInfo `json:"interrupts"`
	// SubgraphNS is the namespace of the nested graph that the task runs; "" if it runs none.
	SubgraphNS string `json:"subgraph_ns,omitempty"`
	// Subgraph is the nested graph's snapshot, when asked for.
	Subgraph *Snapshot `json:"-"`
	// Result is what the task wrote, once it ran; nil before.
	Result json.RawMessage `json:"result,omitempty"`
}
