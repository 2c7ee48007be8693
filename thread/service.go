package thread

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/parley-dev/parley/agent"
)

// Publisher is told of every event of every thread, in the order of Pos per
// thread: stored ones after their commit, ephemeral ones possibly before. The
// stream hub implements it. Publish must not block.
type Publisher interface {
	Publish(threadID string, entries []Entry)
	// RunEnded tells that a run's row is final; it follows the run's last entry.
	RunEnded(threadID, runID string)
}

// Options configure a Service.
type Options struct {
	Store     Store
	Publisher Publisher // default: none
	Agents    []agent.Agent
	Logger    *slog.Logger // default: slog.Default()
	Clock     agent.Clock  // default: the system clock
	// Workers is how many runs execute at once. Default: 64.
	Workers int
	// Lease is how long a run stays with a worker that gives no sign of life. Default: 10 s.
	Lease time.Duration
	// LogRetention is how long the log of a finished execution is kept. Default: 24 h.
	LogRetention time.Duration
	// OnInputWhileInterrupted is "restart" (default: classic semantics) or "error" (decisions 13).
	OnInputWhileInterrupted string
	// GraphDefaults gives system assistants their config and context, by graph id (LANGGRAPH_CONFIG).
	GraphDefaults map[string]GraphDefault
	// DeliverLocal sends a webhook with a relative URL to the server's own routes.
	DeliverLocal func(ctx context.Context, path string, body []byte) error
	// WebhookSecret signs webhooks (HMAC-SHA256 over timestamp.body); "" sends them unsigned.
	WebhookSecret string
}

// GraphDefault is the configuration of a graph's system assistant.
type GraphDefault struct {
	Config  json.RawMessage `json:"config,omitempty"`
	Context json.RawMessage `json:"context,omitempty"`
}

// Service is the API of the durable truth: everything that servers and CLIs ask for.
type Service struct{}

// NewService returns a service; Start brings up its workers.
func NewService(o Options) (*Service, error) { panic("unimplemented") }

// Start creates the system assistants and starts workers, crons, outbox and retention. Stop ends them:
// running supersteps may finish until ctx ends, then runs are released to other workers.
func (s *Service) Start(ctx context.Context) error { panic("unimplemented") }

// Stop see Start.
func (s *Service) Stop(ctx context.Context) error { panic("unimplemented") }

// Store gives read access to what is stored (log readers).
func (s *Service) Store() Store { panic("unimplemented") }

// StartRun says what run to create.
type StartRun struct {
	ThreadID          string // "" = stateless
	AssistantID       string // assistant UUID or graph id
	Input             json.RawMessage
	HasInput          bool // false: absent
	Command           json.RawMessage
	Metadata          Metadata
	Config            json.RawMessage
	Context           json.RawMessage
	StreamMode        []string // default ["values"]
	StreamSubgraphs   bool
	StreamResumable   bool
	CheckpointID      string
	CheckpointNS      string
	InterruptBefore   json.RawMessage
	InterruptAfter    json.RawMessage
	MultitaskStrategy string // default reject
	OnDisconnect      string // default continue
	OnCompletion      string // stateless: delete (default) or keep
	CreateThread      bool   // if_not_exists: create
	AfterSeconds      float64
	Webhook           string
	FeedbackKeys      []string
	Durability        string // sync, async (default), exit
	IdempotencyKey    string
	Principal         string
	// Headers are request headers copied into configurable (lower-case names).
	Headers map[string]string
	// AuthUser goes to configurable as langgraph_auth_user.
	AuthUser json.RawMessage
	// Filter is the auth filter that the thread must match (else ErrNotFound); ThreadMetadata is set by auth on a new thread.
	Filter Filter
}

// Started is a created or repeated run.
type Started struct {
	Run    Run
	Repeat bool
}

// StartRun validates, admits and queues a run. Errors: ErrNotFound, ErrBusy, *agent.ResumeError,
// *agent.InvalidCommandError, *AlreadyDecidedError, *InvalidInputError.
func (s *Service) StartRun(ctx context.Context, r StartRun) (Started, error) { panic("unimplemented") }

// GetRun, ListRuns, DeleteRun read and remove runs.
func (s *Service) GetRun(ctx context.Context, threadID, runID string) (Run, error) {
	panic("unimplemented")
}

// FindRun finds a run by its id alone.
func (s *Service) FindRun(ctx context.Context, runID string) (Run, error) { panic("unimplemented") }

// ListRuns lists a thread's runs, oldest first.
func (s *Service) ListRuns(ctx context.Context, threadID string, q RunQuery) ([]Run, error) {
	panic("unimplemented")
}

// DeleteRun removes a run with its log and checkpoints.
func (s *Service) DeleteRun(ctx context.Context, threadID, runID string) error {
	panic("unimplemented")
}

// CancelRun asks for a cancel with action interrupt or rollback; it is durable when it returns.
func (s *Service) CancelRun(ctx context.Context, threadID, runID, action string) error {
	panic("unimplemented")
}

// WaitRun returns the run once it has ended (a run that was removed: ErrNotFound).
func (s *Service) WaitRun(ctx context.Context, threadID, runID string) (Run, error) {
	panic("unimplemented")
}

// CreateThread says what thread to create.
type CreateThread struct {
	ID          string // "" = a new UUIDv7
	Metadata    Metadata
	DoNothing   bool // if_exists: do_nothing
	Supersteps  [][]agent.Edit
	TTLMinutes  float64
	TTLStrategy string
}

// CreateThread stores a thread, with the given history if any. Errors: ErrExists.
func (s *Service) CreateThread(ctx context.Context, c CreateThread) (Thread, error) {
	panic("unimplemented")
}

// GetThread returns a thread.
func (s *Service) GetThread(ctx context.Context, id string) (Thread, error) { panic("unimplemented") }

// ThreadView is a thread with what is read from its head checkpoint.
type ThreadView struct {
	Thread
	// Values and Interrupts are nil until a run ended or a state update was stored (spec/rest-api.md 5.4).
	Values     json.RawMessage
	Interrupts map[string][]agent.InterruptInfo // by task id
	// TaskOrder is the order of the keys of Interrupts.
	TaskOrder []string
}

// ViewThread adds values and interrupts.
func (s *Service) ViewThread(ctx context.Context, t Thread) (ThreadView, error) {
	panic("unimplemented")
}

// PatchThread merges metadata and sets a TTL.
func (s *Service) PatchThread(ctx context.Context, id string, p ThreadPatch) (Thread, error) {
	panic("unimplemented")
}

// DeleteThread cancels what runs and removes the thread.
func (s *Service) DeleteThread(ctx context.Context, id string) error { panic("unimplemented") }

// CopyThread copies a thread.
func (s *Service) CopyThread(ctx context.Context, id string) (Thread, error) { panic("unimplemented") }

// SearchThreads finds threads; Values, when set, is matched against the threads' values (containment).
func (s *Service) SearchThreads(ctx context.Context, q ThreadQuery, values Metadata) ([]Thread, int, error) {
	panic("unimplemented")
}

// PruneThreads removes threads (delete) or all but their newest checkpoint (keep_latest).
func (s *Service) PruneThreads(ctx context.Context, ids []string, strategy string) (int, error) {
	panic("unimplemented")
}

// StateQuery addresses a state.
type StateQuery struct {
	CheckpointID string
	CheckpointNS string
	Subgraphs    bool
}

// State returns the state; a Snapshot with an empty CheckpointID when there is none.
func (s *Service) State(ctx context.Context, threadID string, q StateQuery) (*agent.Snapshot, error) {
	panic("unimplemented")
}

// HistoryQuery bounds History.
type HistoryQuery struct {
	CheckpointNS string
	CheckpointID string // just that one
	Before       string
	Limit        int
	Metadata     Metadata
}

// History lists states, newest first, all branches.
func (s *Service) History(ctx context.Context, threadID string, q HistoryQuery) ([]*agent.Snapshot, error) {
	panic("unimplemented")
}

// StateUpdate edits a state.
type StateUpdate struct {
	Values       json.RawMessage
	AsNode       string
	CheckpointID string
	CheckpointNS string
	// Headers and AuthUser: as in StartRun, for configurable graphs.
	Metadata Metadata
}

// UpdateState stores a new checkpoint and returns its address (Map is nil at the root).
func (s *Service) UpdateState(ctx context.Context, threadID string, u StateUpdate) (ns, id string, m map[string]string, err error) {
	panic("unimplemented")
}

// CreateAssistant stores an assistant; with doNothing an existing one is returned unchanged.
func (s *Service) CreateAssistant(ctx context.Context, a Assistant, doNothing bool) (Assistant, error) {
	panic("unimplemented")
}

// Assistant resolves an assistant UUID or a graph id.
func (s *Service) Assistant(ctx context.Context, idOrGraph string) (Assistant, error) {
	panic("unimplemented")
}

// AssistantPatch changes an assistant; nil fields stay.
type AssistantPatch struct {
	GraphID     *string
	Name        *string
	Description *string
	Config      json.RawMessage
	Context     json.RawMessage
	Metadata    Metadata
}

// PatchAssistant stores a new version.
func (s *Service) PatchAssistant(ctx context.Context, id string, p AssistantPatch) (Assistant, error) {
	panic("unimplemented")
}

// DeleteAssistant removes an assistant, its runs, and with threads those whose metadata.assistant_id is its id.
func (s *Service) DeleteAssistant(ctx context.Context, id string, threads bool) error {
	panic("unimplemented")
}

// GraphOf returns the assistant's graph, compiled with its configuration.
func (s *Service) GraphOf(ctx context.Context, a Assistant) (*agent.Graph, error) {
	panic("unimplemented")
}

// Materialize returns the state of a checkpoint as JSON, for values events read from the log.
func (s *Service) Materialize(ctx context.Context, threadID, ns, checkpointID string) (*agent.State, error) {
	panic("unimplemented")
}

// CreateCron validates and stores a cron. Errors: *InvalidInputError.
func (s *Service) CreateCron(ctx context.Context, c Cron) (Cron, error) { panic("unimplemented") }

// PatchCron changes a cron and computes its next run.
func (s *Service) PatchCron(ctx context.Context, id string, change func(*Cron)) (Cron, error) {
	panic("unimplemented")
}

// InvalidInputError names the field that is wrong.
type InvalidInputError struct {
	Path    []string
	Message string
}

func (e *InvalidInputError) Error() string { return e.Message }

// NotFoundError says what was not found; it matches ErrNotFound.
type NotFoundError struct{ Kind, ID string }

func (e *NotFoundError) Error() string { return e.Kind + " " + e.ID + " not found" }

// Unwrap makes errors.Is(err, ErrNotFound) true.
func (e *NotFoundError) Unwrap() error { return ErrNotFound }
