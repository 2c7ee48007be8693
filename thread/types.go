package thread

import (
	"encoding/json"
	"time"
)

// Status of a thread (spec/rest-api.md 3.1).
type Status string

// The statuses of a thread.
const (
	Idle        Status = "idle"
	Busy        Status = "busy"
	Interrupted Status = "interrupted"
	Failed      Status = "error"
)

// RunStatus is the status of a run.
type RunStatus string

// The statuses of a run. A run that stops at an interrupt ends as success
// (decisions 10); interrupted is a cancelled one.
const (
	RunPending     RunStatus = "pending"
	RunRunning     RunStatus = "running"
	RunSuccess     RunStatus = "success"
	RunError       RunStatus = "error"
	RunInterrupted RunStatus = "interrupted"
	RunTimeout     RunStatus = "timeout"
)

// Ended reports whether the status is final.
func (s RunStatus) Ended() bool { return s != RunPending && s != RunRunning }

// Metadata is a JSON object by key.
type Metadata map[string]json.RawMessage

// Thread is the row of a thread. Its values and interrupts are not stored here:
// they are read from the head checkpoint.
type Thread struct {
	ID        string
	CreatedAt time.Time
	UpdatedAt time.Time
	// StateUpdatedAt is when the newest root checkpoint was stored; zero for none.
	StateUpdatedAt time.Time
	Metadata       Metadata
	Config         json.RawMessage // {} or {configurable:{…},…}
	Status         Status
	Error          json.RawMessage // of the last failed run; nil otherwise
	// Temporary marks the thread of a stateless run: it is hidden, and removed when the run has ended.
	Temporary bool
	// ExpiresAt is when retention removes the thread; zero for never.
	ExpiresAt time.Time
	// TTLStrategy is delete or keep_latest.
	TTLStrategy string
	// Head is the newest root checkpoint's id; "" for none.
	Head string
	// Generation grows with the first interrupt of each suspension (decisions 8).
	Generation int64
	// NextSeq and NextPos are the numbers that the next event gets (decisions 1, 2).
	NextSeq int64
	NextPos int64
	// Ended is set once a run ended or a state update was stored: from then on values are shown.
	Ended bool
}

// RunKwargs is what a run was created with, as clients see it again.
type RunKwargs struct {
	Input           json.RawMessage `json:"input,omitempty"`
	Command         json.RawMessage `json:"command,omitempty"`
	Config          json.RawMessage `json:"config,omitempty"`
	Context         json.RawMessage `json:"context,omitempty"`
	StreamMode      []string        `json:"stream_mode,omitempty"`
	InterruptBefore json.RawMessage `json:"interrupt_before,omitempty"`
	InterruptAfter  json.RawMessage `json:"interrupt_after,omitempty"`
	Webhook         string          `json:"webhook,omitempty"`
	FeedbackKeys    []string        `json:"feedback_keys,omitempty"`
	Temporary       bool            `json:"temporary"`
	Subgraphs       bool            `json:"subgraphs"`
	Resumable       bool            `json:"resumable"`
	Checkpoint      string          `json:"checkpoint_id,omitempty"`
	Durability      string          `json:"durability,omitempty"`
	OnDisconnect    string          `json:"on_disconnect,omitempty"`
	OnCompletion    string          `json:"on_completion,omitempty"`
	// SteeredBy are the principals whose answers to the execution's questions had an update or a goto beside them.
	SteeredBy []string `json:"steered_by,omitempty"`
	// SealedContext is Invocation.SealedContext of the execution, as Options.ContextKeys sealed it. No client sees it.
	SealedContext []byte `json:"sealed_context,omitempty"`
	// TraceParent is the run's place in a distributed trace; see agent.TraceParent. "" for none.
	TraceParent string `json:"traceparent,omitempty"`
}

// Run is the row of a run.
type Run struct {
	ID          string
	ThreadID    string
	AssistantID string
	GraphID     string
	// ExecutionID is the id of the first run of the chain from one invocation to its end (design 8).
	ExecutionID string
	Status      RunStatus
	Metadata    Metadata
	Kwargs      RunKwargs
	Strategy    string // multitask strategy
	CreatedAt   time.Time
	UpdatedAt   time.Time
	StartedAt   time.Time
	EndedAt     time.Time
	// NotBefore is created_at + after_seconds; zero without them: at once.
	NotBefore time.Time
	Attempt   int
	// Cancel is the action of a cancel that was asked for: "", interrupt or rollback.
	Cancel string
	// Suspended is set when the run stopped at an interrupt or breakpoint.
	Suspended bool
	Error     json.RawMessage // {"error","message"} of a failed run
	// Resumes lists the interrupt ids that the run answers.
	Resumes []string
	// BaseCheckpoint is the thread's head when the run was admitted, and from its start on the head it
	// started from: where a rollback leads back to.
	BaseCheckpoint string
	// Principal is who created the run.
	Principal string
	// Project and Workspace scope it; "" reads as DefaultProject and DefaultWorkspace.
	Project   string
	Workspace string
	// Warnings report what was dropped of the input (decisions 8).
	Warnings []string
}

// Lease is a worker's fenced ownership of a run. Time is the store's.
type Lease struct {
	ThreadID string
	RunID    string
	Worker   string
	// Token grows with every claim of the thread; a commit with a smaller one is refused.
	Token   int64
	Expires time.Time
	// NextSeq and NextPos are where the owner starts numbering; up to SeqReserved and
	// PosReserved it may number before it stores (decisions 2).
	NextSeq     int64
	NextPos     int64
	SeqReserved int64
	PosReserved int64
	// FrameReserved is the bound of classic frame numbers reserved for the run.
	FrameBase     int64
	FrameReserved int64
	// Lost is how many leases of the run ran out before this one. A run that was
	// given back (shutdown) isn't lost.
	Lost int
}

// The project and the workspace that always exist.
const (
	DefaultProject   = "default"
	DefaultWorkspace = "default"
)
