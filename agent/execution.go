package agent

import (
	"context"
	"encoding/json"
	"time"
)

// Execution is all that one run of a graph needs. The thread package builds it;
// Graph.Run carries it out.
type Execution struct {
	ThreadID    string
	RunID       string
	GraphID     string
	AssistantID string
	// Attempt counts from 1; above 1 the run is being recovered.
	Attempt int
	// Input is the graph's input; nil or null means: continue.
	Input json.RawMessage
	// Command carries goto and update; its answers are already stored (Tuple.Answers).
	// A Command whose writes were stored at admission (resume) has Stored set.
	Command *Command
	// Resumed lists the interrupt ids that this run answers.
	Resumed []string
	Config  Config
	// CheckpointID starts the run from that checkpoint; "" or the head's id is the head.
	CheckpointID string
	// InterruptBefore and InterruptAfter are static breakpoints: node names, or "*" for all.
	InterruptBefore []string
	InterruptAfter  []string
	// Ephemeral runs keep no checkpoints: Interrupt fails (stateless runs).
	Ephemeral bool
	// ExitOnly stores one checkpoint at the end (durability "exit").
	ExitOnly bool

	Reader   Reader
	Recorder Recorder
	// Items is the long-term store; may be nil.
	Items Items
	Clock Clock
	IDs   IDs
	// Panicked is told of a node's panic with the stack, which clients don't see; may be nil.
	Panicked func(node string, value any, stack []byte)
}

// Outcome is how a run ended.
type Outcome struct {
	// Status is success, error or interrupted (cancelled).
	Status string
	// Suspended is set when the run stopped at an interrupt.
	Suspended bool
	// Breakpoint is set when it stopped at a static breakpoint.
	Breakpoint bool
	Err        *ErrorInfo
}

// Reader reads the thread's stored truth for the runtime. Implementations are
// given the thread; namespaces are those of the runtime.
type Reader interface {
	// Checkpoint returns the checkpoint of ns with that id, or with id "" the
	// newest of ns; nil without error when there is none.
	Checkpoint(ctx context.Context, ns, id string) (*Tuple, error)
	// Checkpoints lists checkpoints of ns, newest first.
	Checkpoints(ctx context.Context, ns string, q CheckpointQuery) ([]*Tuple, error)
	// Steps returns the journal of a task, by its origin.
	Steps(ctx context.Context, origin string) ([]StepRecord, error)
}

// CheckpointQuery bounds Reader.Checkpoints.
type CheckpointQuery struct {
	// Limit is the greatest number of results; 0 gives none.
	Limit int
	// Before, when set, leaves out this checkpoint id and all stored later.
	Before string
	// Metadata must be contained in the checkpoint's metadata.
	Metadata map[string]json.RawMessage
}

// Recorder takes all that a run does. Calls come from many goroutines; the
// recorder keeps their order. An error of Commit ends the run without another word.
type Recorder interface {
	// Emit hands on events that promise nothing durable; they are stored in small batches.
	Emit(events ...Event)
	// Commit stores one transition whole, with its events, and then publishes them.
	Commit(ctx context.Context, c Commit) error
}

// Commit is one atomic transition of a run. What meets is one commit (decisions 5).
type Commit struct {
	// Checkpoints are new checkpoints in order; all or none are stored.
	Checkpoints []*Checkpoint
	// Tasks are records of tasks of stored checkpoints, or of those in this commit.
	Tasks []TaskRecord
	Steps []StepRecord
	// Events are published after the commit, in order.
	Events []Event
	// Outcome, when set, ends the run in this commit; RunFinished is added by the recorder.
	Outcome *Outcome
}

// Clock tells the time. The runtime has no other.
type Clock interface {
	Now() time.Time
	// Sleep waits for d, or returns the context's error when it ends first.
	Sleep(ctx context.Context, d time.Duration) error
}

// IDs mints identifiers.
type IDs interface {
	// Checkpoint returns a UUIDv7 above every earlier one of the thread (decisions 15).
	Checkpoint() string
	// UUID returns a random UUID.
	UUID() string
}

// Config is the effective configuration of a run.
type Config struct {
	Configurable   map[string]json.RawMessage `json:"configurable,omitempty"`
	Metadata       map[string]json.RawMessage `json:"metadata,omitempty"`
	Tags           []string                   `json:"tags,omitempty"`
	RecursionLimit int                        `json:"recursion_limit,omitempty"` // default 25
	// MaxConcurrency bounds how many tasks of a superstep run at once, in each
	// graph of the run (spec/runtime.md 1.3). 0: all of them.
	MaxConcurrency int `json:"max_concurrency,omitempty"`
	// Context is the run's static context, a JSON value; nil when there is none.
	Context json.RawMessage `json:"context,omitempty"`
}

// String returns configurable[key] as a string; "" when it is absent or no string.
func (c Config) String(key string) string {
	var s string
	if raw, ok := c.Configurable[key]; ok && json.Unmarshal(raw, &s) == nil {
		return s
	}
	return ""
}

// Items is the long-term key-value store as nodes see it.
type Items interface {
	// Get returns nil without error when there is no such item.
	Get(ctx context.Context, namespace []string, key string) (*Item, error)
	Put(ctx context.Context, namespace []string, key string, value json.RawMessage) error
	Delete(ctx context.Context, namespace []string, key string) error
	Search(ctx context.Context, prefix []string, filter map[string]json.RawMessage, limit, offset int) ([]Item, error)
}

// Item is one entry of the long-term store.
type Item struct {
	Namespace []string        `json:"namespace"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	CreatedAt time.Time       `json:"created_at"`
	UpdatedAt time.Time       `json:"updated_at"`
}
