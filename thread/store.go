package thread

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// Errors of a store. Each transition happens whole or, with one of these, not at all.
var (
	// ErrNotFound: no such row. Which one is said by the wrapping error.
	ErrNotFound = errors.New("not found")
	// ErrExists: a row with that id exists already.
	ErrExists = errors.New("already exists")
	// ErrFenced: the lease's token is stale; the caller no longer owns the run.
	ErrFenced = errors.New("stale fencing token")
	// ErrConflict: the thread moved (another head, generation or answer) since the caller read it: reload and validate again.
	ErrConflict = errors.New("conflict")
	// ErrBusy: a run is pending or running on the thread.
	ErrBusy = errors.New("thread is busy")
)

// Store keeps the durable truth. One method is one atomic transition or one
// read. Implementations: thread/local, thread/redis; both pass thread/storetest.
type Store interface {
	Threads
	Runs
	Checkpoints
	Journal
	Log
	Assistants
	ItemStore
	Crons
	Outbox
	// Close waits for transitions under way and releases the store.
	Close() error
}

// Threads are the rows of threads.
type Threads interface {
	// CreateThread stores a new thread; ErrExists when the id is taken.
	CreateThread(ctx context.Context, t Thread) error
	GetThread(ctx context.Context, id string) (Thread, error)
	// PatchThread merges metadata (shallowly) and sets what else the patch names.
	PatchThread(ctx context.Context, id string, p ThreadPatch) (Thread, error)
	// DeleteThread removes the thread and everything of it: runs, checkpoints, journal, log, interrupts.
	DeleteThread(ctx context.Context, id string) error
	// CopyThread copies the row, all checkpoints, task records, blobs and lists to a new thread, with the
	// same checkpoint ids; metadata.thread_id in the thread's and the checkpoints' metadata becomes the new id.
	// Runs, log, answers and interrupts aren't copied.
	CopyThread(ctx context.Context, from, to string, at time.Time) (Thread, error)
	SearchThreads(ctx context.Context, q ThreadQuery) ([]Thread, int, error)
	// TrimThread drops all but the newest checkpoint of each namespace (prune, strategy keep_latest).
	TrimThread(ctx context.Context, id string) error
	// ExpiredThreads lists threads whose ExpiresAt has passed.
	ExpiredThreads(ctx context.Context, now time.Time, limit int) ([]Thread, error)
}

// ThreadPatch says what PatchThread changes; nil fields stay.
type ThreadPatch struct {
	Metadata    Metadata // merged
	Config      json.RawMessage
	ExpiresAt   *time.Time
	TTLStrategy *string
	At          time.Time
}

// ThreadQuery filters and sorts threads. Temporary threads are never found.
type ThreadQuery struct {
	Metadata Metadata // containment
	// Filter is an auth filter on metadata; nil for none.
	Filter  Filter
	IDs     []string
	Status  Status
	SortBy  string // thread_id, status, created_at (default), updated_at, state_updated_at
	SortAsc bool
	Limit   int // <= 0: all
	Offset  int
	// CountOnly: return no rows, only the count of matches.
	CountOnly bool
}

// Filter is an auth filter on metadata: key → value or operator object ($eq, $contains).
type Filter map[string]json.RawMessage

// Runs are the transitions of runs.
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
	// DeleteRun removes the run, its log and the checkpoints whose metadata.run_id is the run's.
	DeleteRun(ctx context.Context, threadID, runID string) error
	// ClaimRun leases the next run that may start: oldest pending run of a thread on which nothing runs and
	// whose NotBefore has passed, or a running one whose lease ran out (attempt + 1). ok is false when there is none.
	ClaimRun(ctx context.Context, c Claim) (run Run, lease Lease, ok bool, err error)
	// NextDue tells when the next delayed run or lease expiry is due; zero when there is none.
	NextDue(ctx context.Context) (time.Time, error)
	// Renew extends the lease and tells what the owner must know: the run's cancel action.
	Renew(ctx context.Context, l Lease, d time.Duration) (expires time.Time, cancel string, err error)
	// ReserveNumbers extends the reserved ranges by n (decisions 2).
	ReserveNumbers(ctx context.Context, l Lease, n int64) (Lease, error)
	// Commit stores one transition of a leased run (agent.Commit in stored form). Repeating a commit id is a no-op.
	Commit(ctx context.Context, l Lease, c Commit) error
	// ReleaseRun gives a leased run back unfinished (shutdown), so that another worker claims it at once.
	ReleaseRun(ctx context.Context, l Lease) error
	// RequestCancel cancels: a pending run ends (interrupt) or is removed (rollback) at once, a running one is
	// marked. It returns the run as it is then; a finished run is left alone.
	RequestCancel(ctx context.Context, threadID, runID, action string, at time.Time) (Run, error)
	// Rollback removes a run that has ended, its log and checkpoints, and recomputes head and status of the thread.
	Rollback(ctx context.Context, l Lease) error
	// EditState stores checkpoints made by a state update; ErrBusy while a run is inflight, ErrConflict when
	// the head of the namespace isn't ExpectHead. Pending interrupts of replaced checkpoints are superseded.
	EditState(ctx context.Context, e StateEdit) error
	// Inflight lists pending and running runs of a thread, oldest first.
	Inflight(ctx context.Context, threadID string) ([]Run, error)
	// PendingInterrupts lists the open questions of a thread.
	PendingInterrupts(ctx context.Context, threadID string) ([]OpenInterrupt, error)
	// Answers returns the accepted answers to the given interrupts.
	Answers(ctx context.Context, threadID string, ids []string) (map[string]agent.Answer, error)
	// ExpireLogs drops the logs of finished, non-suspended executions that ended before the given time.
	ExpireLogs(ctx context.Context, before time.Time, limit int) (int, error)
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

// Admission asks for a run.
type Admission struct {
	Run Run
	// CreateThread, when set, is stored first if the thread does not exist.
	CreateThread *Thread
	// ThreadMetadata and ThreadConfig are merged into the thread.
	ThreadMetadata Metadata
	ThreadConfig   json.RawMessage
	// Strategy decides on inflight runs: reject (ErrBusy), enqueue, interrupt, rollback. A resume ignores it.
	Strategy string
	// Resume, when set, is checked and stored whole.
	Resume *ResumeAdmission
	// DropsPending: new input discards the pending superstep; its interrupts become superseded.
	DropsPending bool
	// IdempotencyKey, when set, makes the admission repeatable for KeyTTL.
	IdempotencyKey string
	KeyTTL         time.Duration
	// Fingerprint and the window make a repeat without a key (decisions 9): equal Fingerprint of the newest
	// run, not ended, at most Window old. "" for never.
	Fingerprint string
	Window      time.Duration
	// Claim, when set, claims the run in the same transition if nothing else of the
	// thread is inflight and the run may start at once (decisions 5).
	Claim *Claim
	// WakeAt is for queues: the run's NotBefore.
}

// ResumeAdmission is the part of an admission that answers interrupts.
type ResumeAdmission struct {
	ExpectHead       string
	ExpectGeneration int64 // 0: not checked
	Answers          []agent.Answer
	// Writes is the command's record (update, goto) on the head; nil for none.
	Writes *agent.TaskRecord
	// Fingerprint identifies equal answers by the same principal (decisions 8, "Repeat").
	Fingerprint string
}

// Admitted is the result of AdmitRun.
type Admitted struct {
	Run    Run
	Thread Thread
	// Repeat: the run existed already; nothing was stored.
	Repeat bool
	// ThreadCreated: CreateThread was stored.
	ThreadCreated bool
	// Lease is set when Admission.Claim was granted. Run still reads as pending, as
	// it was admitted.
	Lease *Lease
	// Cancelled are inflight runs that the strategy ended or marked.
	Cancelled []Run
}

// AlreadyDecidedError says that an interrupt was answered before, differently (decisions 8).
type AlreadyDecidedError struct {
	InterruptID string
	Answer      agent.Answer
}

func (e *AlreadyDecidedError) Error() string {
	return "interrupt " + e.InterruptID + " was already decided"
}

// Unwrap makes errors.Is(err, ErrConflict) false on purpose: a reload does not help.
func (e *AlreadyDecidedError) Unwrap() error { return nil }

// RunQuery filters runs.
type RunQuery struct {
	Status RunStatus
	Limit  int
	Offset int
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
	// ID makes the commit idempotent: run id + counter.
	ID          string
	Checkpoints []agent.CheckpointRecord
	Tasks       []agent.TaskRecord
	Steps       []agent.StepRecord
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
	At          time.Time
}

// Checkpoints reads what Commit and EditState stored.
type Checkpoints interface {
	// Checkpoint returns the checkpoint with its task records; with id "" the newest of the namespace. ErrNotFound.
	Checkpoint(ctx context.Context, threadID, ns, id string) (StoredTuple, error)
	// ListCheckpoints returns newest first.
	ListCheckpoints(ctx context.Context, threadID, ns string, q agent.CheckpointQuery) ([]StoredTuple, error)
	Blobs(ctx context.Context, threadID string, ids []string) (map[string][]byte, error)
	// Segment returns the first n entries of a list segment (its base not included).
	Segment(ctx context.Context, threadID, segment string, n int) (message.Segment, error)
}

// StoredTuple is a checkpoint as stored, with the records of its tasks and the answers to their interrupts.
type StoredTuple struct {
	Record  agent.CheckpointRecord
	Seq     int64 // order in the thread
	Tasks   []agent.TaskRecord
	Answers map[string]agent.Answer
}

// Journal reads durable steps.
type Journal interface {
	Steps(ctx context.Context, threadID, origin string) ([]agent.StepRecord, error)
}

// Entry is one event in a thread's log.
type Entry struct {
	// Pos is the entry's position in the thread: 1, 2, 3 … with holes after a crash.
	Pos int64
	// Seq numbers the event in the thread protocol; 0 when it is not shown there.
	Seq   int64
	RunID string
	Event agent.Event
}

// Log is the event log of threads.
type Log interface {
	// AppendLog stores entries of a leased run outside of a transition (deltas).
	AppendLog(ctx context.Context, l Lease, entries []Entry) error
	// ReadLog returns entries with Pos > after in order, at most about limit of them (it may give a few more).
	ReadLog(ctx context.Context, threadID string, after int64, limit int) ([]Entry, error)
	// ReadRunLog is ReadLog for the entries of one run.
	ReadRunLog(ctx context.Context, threadID, runID string, after int64, limit int) ([]Entry, error)
	// LogStart returns the Pos of the oldest entry kept; 0 for an empty log.
	LogStart(ctx context.Context, threadID string) (int64, error)
}

// Assistant is a named, versioned configuration of a graph.
type Assistant struct {
	ID          string
	GraphID     string
	Name        string
	Description *string
	Version     int
	Config      json.RawMessage
	Context     json.RawMessage
	Metadata    Metadata
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Assistants are the rows of assistants and their versions.
type Assistants interface {
	// CreateAssistant stores version 1; ErrExists when the id is taken.
	CreateAssistant(ctx context.Context, a Assistant) error
	GetAssistant(ctx context.Context, id string) (Assistant, error)
	// PatchAssistant stores a new version: highest version + 1.
	PatchAssistant(ctx context.Context, id string, change func(*Assistant)) (Assistant, error)
	// SetAssistantVersion makes an existing version the current one.
	SetAssistantVersion(ctx context.Context, id string, version int, at time.Time) (Assistant, error)
	AssistantVersions(ctx context.Context, id string, metadata Metadata, limit, offset int) ([]Assistant, error)
	DeleteAssistant(ctx context.Context, id string) error
	SearchAssistants(ctx context.Context, q AssistantQuery) ([]Assistant, int, error)
}

// AssistantQuery filters and sorts assistants.
type AssistantQuery struct {
	GraphID  string
	Name     string // case-insensitive substring
	Metadata Metadata
	Filter   Filter
	SortBy   string
	SortAsc  bool
	Limit    int
	Offset   int
}

// ItemStore is the long-term key-value store.
type ItemStore interface {
	PutItem(ctx context.Context, it agent.Item, expires time.Time) error
	// GetItem returns ErrNotFound when there is none, or it has expired.
	GetItem(ctx context.Context, namespace []string, key string) (agent.Item, error)
	DeleteItem(ctx context.Context, namespace []string, key string) error
	SearchItems(ctx context.Context, q ItemQuery) ([]agent.Item, error)
	ItemNamespaces(ctx context.Context, q NamespaceQuery) ([][]string, error)
	// RefreshItem sets a new expiry of an item that has one.
	RefreshItem(ctx context.Context, namespace []string, key string, expires time.Time) error
}

// ItemQuery finds items.
type ItemQuery struct {
	Prefix []string
	Filter map[string]json.RawMessage // equality or $eq,$ne,$gt,$gte,$lt,$lte,$in,$nin
	// Auth is an auth filter on value plus namespace and key.
	Auth   Filter
	Limit  int
	Offset int
}

// NamespaceQuery finds namespaces; "*" in prefix and suffix matches one label.
type NamespaceQuery struct {
	Prefix, Suffix []string
	MaxDepth       int
	Auth           Filter
	Limit, Offset  int
}

// Cron is a schedule that creates runs.
type Cron struct {
	ID             string
	AssistantID    string
	ThreadID       string // "" for a stateless cron
	Schedule       string
	Timezone       string
	EndTime        time.Time
	Enabled        bool
	OnRunCompleted string
	Payload        json.RawMessage
	Metadata       Metadata
	UserID         string
	NextRun        time.Time
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// Crons are the rows of crons.
type Crons interface {
	PutCron(ctx context.Context, c Cron) error
	GetCron(ctx context.Context, id string) (Cron, error)
	DeleteCron(ctx context.Context, id string) error
	SearchCrons(ctx context.Context, q CronQuery) ([]Cron, int, error)
	// FireCron claims one due firing: it sets NextRun only if it still is the one given, so a firing happens once.
	FireCron(ctx context.Context, id string, due, next time.Time) (bool, error)
}

// CronQuery finds crons.
type CronQuery struct {
	AssistantID, ThreadID string
	Enabled               *bool
	Metadata              Metadata
	DueBefore             time.Time
	SortBy                string
	SortAsc               bool
	Limit, Offset         int
}

// Delivery is one message of the outbox: a webhook to be sent.
type Delivery struct {
	ID       string
	ThreadID string
	RunID    string
	URL      string
	Attempt  int
	Due      time.Time
	// Payload is made when it is sent, from the run as it ended.
}

// Outbox holds webhooks until they are delivered.
type Outbox interface {
	DueDeliveries(ctx context.Context, now time.Time, limit int) ([]Delivery, error)
	// RetryDelivery puts it off; FinishDelivery removes it.
	RetryDelivery(ctx context.Context, id string, due time.Time, lastError string) error
	FinishDelivery(ctx context.Context, id string) error
}

// Truncate empties collections; only the conformance sets offer it.
type Truncate struct{ Runs, Threads, Assistants, Checkpoints, Items bool }

// Truncater is implemented by stores that can be emptied for tests.
type Truncater interface {
	Truncate(ctx context.Context, t Truncate) error
}
