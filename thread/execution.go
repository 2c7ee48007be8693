package thread

import (
	"encoding/json"
	"time"
)

// ExecutionStatus is the status of an execution (spec/executions.md 1).
type ExecutionStatus string

// The statuses of an execution. Cancelled, expired and superseded ones are in error, with that as Execution.ErrorCode.
const (
	ExecutionPending   ExecutionStatus = "pending"   // its first run waits for a worker
	ExecutionRunning   ExecutionStatus = "running"   // its first run is carried out
	ExecutionSuspended ExecutionStatus = "suspended" // it waits for a person
	ExecutionResuming  ExecutionStatus = "resuming"  // it goes on after a decision
	ExecutionCompleted ExecutionStatus = "completed"
	ExecutionError     ExecutionStatus = "error"
)

// Ended reports whether the status is final.
func (s ExecutionStatus) Ended() bool { return s == ExecutionCompleted || s == ExecutionError }

// The codes of executions that ended in error.
const (
	ErrorCancelled  = "cancelled"
	ErrorExpired    = "review_expired" // its last question was answered by its deadline
	ErrorSuperseded = "superseded"     // something else took the place of its question (decisions 13)
	ErrorRun        = "run_failed"     // the agent failed
	ErrorTimeout    = "timeout"
)

// CancelledText is Execution.Error of a cancelled one.
const CancelledText = "The execution was cancelled."

// Execution is the chain of runs from one invocation to its end, with the reviews in it (design 8). It isn't
// stored but derived, so that all dialects see the same.
type Execution struct {
	// ID is that of the first run.
	ID        string
	Project   string
	Workspace string
	// SessionID names the conversation; "" where it wasn't begun by Invoke.
	SessionID string
	ThreadID  string
	Agent     string
	Principal string // who invoked it
	Status    ExecutionStatus
	Input     json.RawMessage
	CreatedAt time.Time
	UpdatedAt time.Time
	// CompletedAt is zero until it has ended.
	CompletedAt time.Time
	// SuspendReason, SuspendContext, SuspendedAt and ExpiresAt are the first open review's, while it is suspended.
	SuspendReason  string
	SuspendContext json.RawMessage
	SuspendedAt    time.Time
	ExpiresAt      time.Time
	// Generation is that of the newest suspension; 0 for none.
	Generation int64
	// Error and ErrorCode say why it ended in error.
	Error     string
	ErrorCode string
	// Runs are the chain, oldest first; Reviews all reviews of it, oldest first, ended ones too.
	Runs    []Run
	Reviews []Review
}

// Open lists the reviews that wait.
func (e *Execution) Open() []Review {
	var open []Review
	for _, r := range e.Reviews {
		if r.Status.Open() {
			open = append(open, r)
		}
	}
	return open
}

// Last is the newest run of the chain.
func (e *Execution) Last() Run { return e.Runs[len(e.Runs)-1] }
