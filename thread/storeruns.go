package thread

import (
	"context"
	"encoding/json"
	"time"

	"github.com/parley-dev/parley/agent"
)

// Runs are the transitions of runs.
//
// A run that is dropped before it begins is told of in the log by its beginning
// (RunStart.Unbegun) and its end all the same, once (M-19): in the transition
// that drops it, or, while another run of the thread is leased, in the one with
// which nothing is leased any more, behind what that run wrote. Transitions
// return such entries, for the caller to publish.
type Runs interface {
	// AdmitRun stores a new run, or finds that the request is a repeat. One transition: creates the thread if
	// asked to; checks inflight runs against the strategy; for a resume checks head, generation and that no
	// answer exists for the ids, and stores answers and command writes; supersedes pending interrupts if new
	// input drops them; sets the thread's status, metadata and config.
	AdmitRun(ctx context.Context, a Admission) (Admitted, error)
	GetRun(ctx context.Context, threadID, runID string) (Run, error)
	// FindRun finds a run without its thread.
	FindRun(ctx context.Context, runID string) (Run, error)
	ListRuns(ctx context.Context, threadID string, q RunQuery) ([]Run, error)
	// NewestRun returns the newest of the thread's runs that don't wait for their beginning; ErrNotFound when there is none.
	NewestRun(ctx context.Context, threadID string) (Run, error)
	// DeleteRun removes the run, its log and the checkpoints whose metadata.run_id is the run's. The owner of a
	// running one is fenced, and the thread goes back to where it was before. That an inflight one has ended stays in the log.
	DeleteRun(ctx context.Context, threadID, runID string) (told []Entry, err error)
	// ClaimRun leases the next run that may start: oldest pending run of a thread on which nothing runs and
	// whose NotBefore has passed, or a running one whose lease ran out (attempt + 1). ok is false when there is none.
	ClaimRun(ctx context.Context, c Claim) (run Run, lease Lease, ok bool, err error)
	// NextDue tells when the next delayed run or lease expiry is due; zero when there is none.
	NextDue(ctx context.Context) (time.Time, error)
	// Renew extends the lease and tells what the owner must know: the run's cancel action, also one that arms a call.
	Renew(ctx context.Context, l Lease, d time.Duration) (expires time.Time, cancel string, err error)
	// ReserveNumbers extends the reserved ranges by n (decisions 2).
	ReserveNumbers(ctx context.Context, l Lease, n int64) (Lease, error)
	// Commit stores one transition of a leased run (agent.Commit in stored form). Repeating a commit id is a
	// no-op, also when it ended the run. ErrFenced, or ErrConflict for a checkpoint id that isn't above the head.
	// A run that ends cancelled (RunInterrupted) supersedes the open questions of its execution, those of others
	// wait on (decisions 13).
	Commit(ctx context.Context, l Lease, c Commit) (told []Entry, err error)
	// ReleaseRun gives a leased run back unfinished (shutdown), so that another worker claims it at once. Its
	// next attempt doesn't count against Claim.MaxAttempts.
	ReleaseRun(ctx context.Context, l Lease) error
	// RequestCancel cancels: a pending run ends (interrupt) or is removed (rollback) at once, a running one is
	// marked. It returns the run as it is then; a finished run is left alone. What the end of a marked run supersedes
	// or reopens is audited as of the actor who marked it, here or by a strategy of AdmitRun; the one whose action stays.
	// An action that ArmsCall ends and marks nothing: it is Run.Cancel of a pending or running run, for whoever owns it then,
	// until it ends or another action takes its place, which can be any while it is such a one.
	RequestCancel(ctx context.Context, threadID, runID, action string, at time.Time) (run Run, told []Entry, err error)
	// Rollback removes a leased run instead of ending it, its log and checkpoints, and recomputes head and
	// status of the thread. Questions that it answered wait again, with the task records that they had, and those
	// that it was the first to ask are superseded; numbers that it used are not given again.
	// The last entries, its end, take the place of its log.
	Rollback(ctx context.Context, l Lease, last []Entry) (told []Entry, err error)
	// EditState stores checkpoints made by a state update; ErrBusy while a run is inflight, ErrConflict when
	// the head of the namespace isn't ExpectHead. Pending interrupts of replaced checkpoints are superseded.
	// The edit's events follow what the log has, with the next numbers; it returns them so.
	EditState(ctx context.Context, e StateEdit) ([]Entry, error)
	// Inflight lists pending and running runs of a thread, oldest first.
	Inflight(ctx context.Context, threadID string) ([]Run, error)
	// PendingInterrupts lists the open questions of a thread.
	PendingInterrupts(ctx context.Context, threadID string) ([]OpenInterrupt, error)
	// Answers returns the accepted answers to the given interrupts.
	Answers(ctx context.Context, threadID string, ids []string) (map[string]agent.Answer, error)
	// ExpireLogs cuts the logs of threads behind the executions, finished and not suspended, that ended before the
	// given time, and the edits that are as old; it looks at the threads of at most limit such runs and returns how
	// many they were. What else nobody can see any more goes, too: expired items of the store and idempotency keys.
	ExpireLogs(ctx context.Context, before time.Time, limit int) (int, error)
}

// RunQuery filters runs.
type RunQuery struct {
	Status RunStatus
	// ExecutionID selects the runs of an execution; "" all.
	ExecutionID string
	Limit       int
	Offset      int
}

// Claim asks for work.
type Claim struct {
	Worker  string
	Lease   time.Duration
	Reserve int64 // numbers to reserve, default 1<<20
	// MaxAttempts ends a run as error instead of claiming it once more (default 3).
	MaxAttempts int
	// RunID, when set, asks for that run only.
	RunID string
}

// Commit is agent.Commit in stored form, with numbered events.
type Commit struct {
	// ID makes the commit idempotent. It ends in a counter; what precedes that is the same for all commits of a lease.
	ID          string
	Checkpoints []agent.CheckpointRecord
	Tasks       []agent.TaskRecord
	Steps       []agent.StepRecord
	// Reviews are drafts for the interrupts of Tasks. Audit are further entries of the run's project, behind those
	// of reviews; RunID, ExecutionID and Actor are the run's and ActorFrom(ctx) where they are empty.
	Reviews []ReviewDraft
	Audit   []AuditBody
	// Entries are log entries, deltas that waited included, in order.
	Entries []Entry
	// Finish, when set, ends the run: status of run and thread, counters set back from the reserved range.
	Finish *Finish
	// Sync asks for full durability of the commit (all but batches of deltas).
	Sync bool
}

// Finish ends a run.
type Finish struct {
	Status    RunStatus
	Suspended bool
	// HasNext: the head has unfinished tasks, so that the thread becomes interrupted.
	HasNext bool
	Error   json.RawMessage
	At      time.Time
	// Webhook, when set, goes to the outbox in the same transition.
	Webhook *Delivery
	// DropThread: a stateless run's thread is due for removal.
	DropThread bool
}

// StateEdit is a state update from outside.
type StateEdit struct {
	ThreadID    string
	NS          string
	ExpectHead  string
	Checkpoints []agent.CheckpointRecord
	Tasks       []agent.TaskRecord
	// Reviews are drafts for the interrupts of Tasks.
	Reviews []ReviewDraft
	// Events tell readers of the edit.
	Events []agent.Event
	At     time.Time
}

// OpenInterrupt is a stored question and what became of it.
type OpenInterrupt struct {
	agent.InterruptInfo
	ThreadID     string
	RunID        string
	NS           string
	CheckpointID string
	TaskID       string
	Generation   int64
	CreatedAt    time.Time
	Status       string // pending, answered, superseded
}
