package agent

import (
	"encoding/json"
	"time"

	"github.com/parley-dev/parley/agent/message"
)

// Sources of a checkpoint (spec/runtime.md 1.7).
const (
	SourceInput  = "input"  // input applied to __start__, not yet run
	SourceLoop   = "loop"   // after a superstep
	SourceUpdate = "update" // edited from outside
	SourceFork   = "fork"   // copy, or start of a replay branch
)

// NullTask is the task id of writes that belong to no task: those of a Command.
const NullTask = "00000000-0000-0000-0000-000000000000"

// Checkpoint is the state of one graph (namespace) of a thread after a
// superstep, in memory. It is immutable once committed.
type Checkpoint struct {
	// ID is a UUIDv7, greater than every earlier id of the thread (decisions 15).
	ID string
	// ParentID is the checkpoint this one grew from; "" for the first.
	ParentID string
	// NS is the namespace: "" for the root graph, node:task|node:task below it.
	NS     string
	At     time.Time
	Step   int
	Source string
	// Parents maps the namespaces of enclosing graphs to their checkpoint ids.
	Parents map[string]string
	// Metadata is the run's metadata as stored with the checkpoint (run_id, graph_id, … and user keys).
	Metadata map[string]json.RawMessage
	// Channels holds every channel that has a value or a version, state keys and routing channels alike.
	Channels map[string]Channel
	// Seen is versions_seen: node → trigger channel → version.
	Seen map[string]map[string]int64
	// Origins maps the ids of tasks carried over from an earlier checkpoint to
	// their origin (decisions 6). A task that isn't listed has its origin here.
	Origins map[string]string
	// Keys are the state keys in declared order, of a graph that a node invoked by
	// hand: SubgraphAt doesn't know it, so that its checkpoints speak for themselves.
	Keys []string
}

// Channel is one channel of a checkpoint.
type Channel struct {
	Version int64
	// Value is nil when the channel is empty ("unavailable").
	Value *Value
}

// Value is an immutable channel value: JSON, or a list of messages.
type Value struct {
	JSON json.RawMessage
	List *message.List
}

// InterruptInfo is one question to a person (spec/runtime.md 2.2).
type InterruptInfo struct {
	// ID is 32 lower-case hex digits, unique in the thread.
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value,omitempty"`
	// ResponseSchema is the JSON Schema an answer must satisfy; optional.
	ResponseSchema json.RawMessage `json:"response_schema,omitempty"`
	// Expiry is the question's deadline; nil for none, and wherever it was read from a store: it is kept with the
	// review, which may put it off, and never shown here.
	Expiry *Expiry `json:"-"`
}

// Answer is an accepted answer to an interrupt, as the store keeps it.
type Answer struct {
	InterruptID string          `json:"interrupt_id"`
	Value       json.RawMessage `json:"value"`
	By          string          `json:"by,omitempty"` // principal
	At          time.Time       `json:"at"`
	RunID       string          `json:"run_id,omitempty"` // the run that delivers it
}

// TaskStatus says how far a task of a pending superstep came.
type TaskStatus string

// The statuses of a task record.
const (
	TaskDone        TaskStatus = "done" // the only status that counts as finished
	TaskFailed      TaskStatus = "failed"
	TaskInterrupted TaskStatus = "interrupted"
	TaskCancelled   TaskStatus = "cancelled"
)

// TaskRecord is what is stored of a task of a checkpoint's next superstep: its
// pending writes, questions or error. One record per (namespace, checkpoint, task).
type TaskRecord struct {
	NS           string     `json:"ns"`
	CheckpointID string     `json:"checkpoint_id"`
	TaskID       string     `json:"task_id"`
	Name         string     `json:"name"`
	Status       TaskStatus `json:"status"`
	// Path is the task's path in its serialised, sortable form (spec/runtime.md 1.4).
	Path string `json:"path"`
	// Writes are the task's output in order; empty for a task that returned nothing.
	Writes []Write `json:"writes,omitempty"`
	// Interrupts are all questions the task has asked so far, in order, answered ones included.
	// For a task that runs a nested graph, those of the nested graph.
	Interrupts []InterruptInfo `json:"interrupts,omitempty"`
	// Nested is set when the Interrupts belong to tasks of a nested graph.
	Nested bool       `json:"nested,omitempty"`
	Error  *ErrorInfo `json:"error,omitempty"`
}

// Write is one write of a task to a channel.
type Write struct {
	Channel string          `json:"channel"`
	Value   json.RawMessage `json:"value"`
}

// Tuple is a checkpoint with what is stored about its next superstep.
type Tuple struct {
	Checkpoint *Checkpoint
	// Tasks are the records of the checkpoint's tasks, Command writes (NullTask) included.
	Tasks []TaskRecord
	// Answers are the accepted answers to interrupts that the records mention, by interrupt id.
	Answers map[string]Answer
}

// StepStatus is the state of a journaled step.
type StepStatus string

// The statuses of a step record (spec/runtime.md 9.1).
const (
	StepStarted StepStatus = "started" // only written ahead for AtMostOnce steps
	StepDone    StepStatus = "done"
	// StepFailed with an Error is a failure that the node has lived with: a pass
	// over the node gets it again. Without one the next pass runs the step again.
	StepFailed StepStatus = "failed"
)

// StepRecord is one journaled step. Its key is (Origin, Name, Occurrence) (decisions 6).
type StepRecord struct {
	Origin     string          `json:"origin"`
	Name       string          `json:"name"`
	Occurrence int             `json:"occurrence"`
	Status     StepStatus      `json:"status"`
	Attempt    int             `json:"attempt"`
	Result     json.RawMessage `json:"result,omitempty"`
	Error      *ErrorInfo      `json:"error,omitempty"`
}
