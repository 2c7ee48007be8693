package transfer

import (
	"bytes"
	"encoding/json"
)

// Record is one piece of a dump: exactly one field is set. Assistants, items, crons,
// API keys and the audit entries of no thread that is left come first, these by rising
// Seq; then each thread, from its Thread to its End: checkpoints before batches
// of the log, those by rising position before runs, runs before keys, questions before
// reviews, and its audit entries by rising ThreadSeq. All audit entries are sealed: a
// source seals what waits before it dumps.
// Times are microseconds since the epoch, 0 for none.
type Record struct {
	Assistant *Assistant `json:"assistant,omitempty"`
	Item      *Item      `json:"item,omitempty"`
	Cron      *Cron      `json:"cron,omitempty"`
	APIKey    *APIKey    `json:"api_key,omitempty"`
	Audit     *Audit     `json:"audit,omitempty"`

	Thread     *Thread     `json:"thread,omitempty"`
	Blob       *Blob       `json:"blob,omitempty"`
	Segment    *Segment    `json:"segment,omitempty"`
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
	Task       *Task       `json:"task,omitempty"`
	Question   *Question   `json:"question,omitempty"`
	Review     *Review     `json:"review,omitempty"`
	Step       *Step       `json:"step,omitempty"`
	Log        *Log        `json:"log,omitempty"`
	Run        *Run        `json:"run,omitempty"`
	Key        *Key        `json:"key,omitempty"`
	Delivery   *Delivery   `json:"delivery,omitempty"`
	End        *End        `json:"end,omitempty"`
}

// Assistant is an assistant with all its versions, oldest first.
type Assistant struct {
	ID       string             `json:"id"`
	Version  int64              `json:"version"` // the current one
	Created  int64              `json:"created"`
	Updated  int64              `json:"updated"`
	Versions []AssistantVersion `json:"versions"`
}

// AssistantVersion is one version of an assistant.
type AssistantVersion struct {
	Version int64 `json:"version"`
	At      int64 `json:"at"`
	Doc     Raw   `json:"doc"` // graph_id, name, description, config, context, metadata
}

// Item is an entry of the long-term store, expired ones included.
type Item struct {
	Namespace []string `json:"namespace"`
	Key       string   `json:"key"`
	Value     Raw      `json:"value"`
	Created   int64    `json:"created"`
	Updated   int64    `json:"updated"`
	TTL       int64    `json:"ttl,omitempty"` // microseconds; 0 for forever
	Expires   int64    `json:"expires,omitempty"`
}

// Cron is a schedule.
type Cron struct {
	ID      string `json:"id"`
	Next    int64  `json:"next,omitempty"`
	Enabled bool   `json:"enabled"`
	Doc     Raw    `json:"doc"` // thread.Cron; Next is newer than what it says
}

// Thread begins a thread: its row, its counters, and what is under way.
type Thread struct {
	ID        string `json:"id"`
	Created   int64  `json:"created"`
	Updated   int64  `json:"updated"`
	Metadata  Raw    `json:"metadata,omitempty"`
	Config    Raw    `json:"config,omitempty"`
	Temporary bool   `json:"temporary,omitempty"`
	Expires   int64  `json:"expires,omitempty"`
	TTL       string `json:"ttl,omitempty"`

	Status       string `json:"status"`
	Rest         string `json:"rest"` // the status when nothing is inflight
	Error        Raw    `json:"error,omitempty"`
	StateUpdated int64  `json:"state_updated,omitempty"`
	Head         string `json:"head,omitempty"`
	Generation   int64  `json:"generation,omitempty"`
	Ended        bool   `json:"ended,omitempty"`
	// NextSeq and NextPos are what the next event gets, or, while a run is leased, what its next owner starts with.
	NextSeq int64 `json:"next_seq"`
	NextPos int64 `json:"next_pos"`
	// EndSeq and EndPos are the numbers of the newest log entry.
	EndSeq int64 `json:"end_seq,omitempty"`
	EndPos int64 `json:"end_pos,omitempty"`
	Token  int64 `json:"token,omitempty"` // of the newest lease
	// Runs and Checkpoints are the numbers of the newest run and checkpoint there ever were.
	Runs        int64  `json:"runs,omitempty"`
	Checkpoints int64  `json:"checkpoints,omitempty"`
	Asked       int64  `json:"asked,omitempty"`     // number of the run that raised the generation
	Suspended   int64  `json:"suspended,omitempty"` // number of the last run of the suspended execution
	LastCommit  string `json:"last_commit,omitempty"`

	Queue   []Queued `json:"queue,omitempty"` // runs that wait for their turn, in order
	Running *Running `json:"running,omitempty"`
}

// Queued is a run that waits for its turn.
type Queued struct {
	Run int64 `json:"run"` // number
	At  int64 `json:"at"`  // earliest start
}

// Running is a run that began and has no owner now: it was given back, or its owner died.
type Running struct {
	Run           int64  `json:"run"` // number
	ID            string `json:"id"`
	Attempt       int64  `json:"attempt"`
	Lost          int64  `json:"lost,omitempty"` // leases that ran out
	Released      bool   `json:"released,omitempty"`
	FrameBase     int64  `json:"frame_base,omitempty"`
	FrameReserved int64  `json:"frame_reserved,omitempty"`
	Cancel        string `json:"cancel,omitempty"`
	Started       int64  `json:"started"`
	Base          string `json:"base,omitempty"` // head and status at rest when it was claimed
	BaseRest      string `json:"base_rest"`
	CancelledBy   Raw    `json:"cancelled_by,omitempty"` // thread.Actor, JSON
	StartSeq      int64  `json:"start_seq"`              // what its last owner started with
	StartPos      int64  `json:"start_pos"`
	LogFrom       int64  `json:"log_from"`
	Owed          []Owed `json:"owed,omitempty"`
}

// Owed is a run that was dropped before it began, of which the log is told when the
// running one has ended.
type Owed struct {
	ID        string `json:"id"`
	Graph     string `json:"graph,omitempty"`
	Assistant string `json:"assistant,omitempty"`
	Action    string `json:"action"`
	At        int64  `json:"at"` // milliseconds
}

// Blob is a large value of checkpoints.
type Blob struct {
	ID   string `json:"id"`
	Data Raw    `json:"data,omitempty"`
}

// SegmentPart is how many entries of a list segment one record holds at most.
const SegmentPart = 200

// Segment is a part of a message list: SegmentPart entries, fewer in the last part.
type Segment struct {
	ID      string `json:"id"`
	Base    string `json:"base,omitempty"`
	BaseLen int64  `json:"base_len,omitempty"`
	From    int64  `json:"from,omitempty"`
	Entries []Raw  `json:"entries,omitempty"`
}

// Checkpoint is a checkpoint; Seq is its order in the thread.
type Checkpoint struct {
	Seq      int64  `json:"seq"`
	NS       string `json:"ns,omitempty"`
	ID       string `json:"id"`
	Parent   string `json:"parent,omitempty"`
	Run      string `json:"run,omitempty"`
	Step     int64  `json:"step"`
	Source   string `json:"source,omitempty"`
	AtMillis int64  `json:"at_millis"`
	Metadata Raw    `json:"metadata,omitempty"`
	State    Raw    `json:"state,omitempty"`
}

// Task is the record of a checkpoint's task.
type Task struct {
	NS         string  `json:"ns,omitempty"`
	Checkpoint string  `json:"checkpoint"`
	ID         string  `json:"id"`
	Name       string  `json:"name,omitempty"`
	Status     string  `json:"status,omitempty"`
	Path       string  `json:"path,omitempty"`
	Nested     bool    `json:"nested,omitempty"`
	Writes     []Write `json:"writes,omitempty"`
	Asks       []Asked `json:"asks,omitempty"`
	Failure    *Error  `json:"failure,omitempty"`
}

// Write is a write of a task to a channel.
type Write struct {
	Channel string `json:"channel"`
	Value   Raw    `json:"value,omitempty"`
}

// Asked is a question that a task shows.
type Asked struct {
	ID     string `json:"id"`
	Value  Raw    `json:"value,omitempty"`
	Schema Raw    `json:"schema,omitempty"`
}

// Error is a failure of a task or a step.
type Error struct {
	Name    string `json:"name,omitempty"`
	Message string `json:"message,omitempty"`
}

// The statuses of a Question.
const (
	Pending    = "pending"
	Answered   = "answered"
	Superseded = "superseded"
)

// Question is an interrupt and what became of it. One that was answered on a copied
// thread has no checkpoint: only the answer is known.
type Question struct {
	ID         string  `json:"id"`
	Status     string  `json:"status"`
	NS         string  `json:"ns,omitempty"`
	Checkpoint string  `json:"checkpoint,omitempty"`
	Task       string  `json:"task,omitempty"`
	Run        string  `json:"run,omitempty"`
	Generation int64   `json:"generation,omitempty"`
	Created    int64   `json:"created,omitempty"`
	Value      Raw     `json:"value,omitempty"`
	Schema     Raw     `json:"schema,omitempty"`
	Answer     *Answer `json:"answer,omitempty"`
}

// Answer is the accepted answer to a question.
type Answer struct {
	Value       Raw    `json:"value,omitempty"`
	By          string `json:"by,omitempty"`
	At          int64  `json:"at"`
	Run         string `json:"run,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
}

// Step is a journaled step.
type Step struct {
	Origin     string `json:"origin"`
	Name       string `json:"name"`
	Occurrence int64  `json:"occurrence,omitempty"`
	Status     string `json:"status"`
	Attempt    int64  `json:"attempt,omitempty"`
	Result     Raw    `json:"result,omitempty"`
	Failure    *Error `json:"failure,omitempty"`
}

// Log is a batch of log entries, in thread.AppendEntries' form.
type Log struct {
	First int64 `json:"first"` // positions
	Last  int64 `json:"last"`
	// Owner is the number of the run whose log it is; 0 for an edit, or a run without a row.
	Owner    int64  `json:"owner,omitempty"`
	Run      string `json:"run,omitempty"` // id that the entries name
	Snapshot bool   `json:"snapshot,omitempty"`
	Data     Raw    `json:"data"`
}

// Run is the row of a run. One that is running is as it was before it began: what has
// changed since is in Thread.Running.
type Run struct {
	Number      int64    `json:"number"` // within the thread, by admission
	ID          string   `json:"id"`
	Status      string   `json:"status"`
	Execution   string   `json:"execution"`
	Created     int64    `json:"created"`
	Updated     int64    `json:"updated"`
	Started     int64    `json:"started,omitempty"`
	Ended       int64    `json:"ended,omitempty"`
	NotBefore   int64    `json:"not_before,omitempty"`
	Attempt     int64    `json:"attempt,omitempty"`
	Cancel      string   `json:"cancel,omitempty"`
	Suspended   bool     `json:"suspended,omitempty"`
	Error       Raw      `json:"error,omitempty"`
	Base        string   `json:"base,omitempty"`
	LogFrom     int64    `json:"log_from,omitempty"` // its first position in the log; 0 for none
	Retires     int64    `json:"retires,omitempty"`  // when its execution ended; 1 for long ago
	Fingerprint string   `json:"fingerprint,omitempty"`
	LastCommit  string   `json:"last_commit,omitempty"`
	Writes      bool     `json:"writes,omitempty"` // writes of a command were stored with it
	Assistant   string   `json:"assistant,omitempty"`
	Graph       string   `json:"graph,omitempty"`
	Metadata    Raw      `json:"metadata,omitempty"`
	Kwargs      Raw      `json:"kwargs"`
	Strategy    string   `json:"strategy,omitempty"`
	Resumes     []string `json:"resumes,omitempty"`
	Principal   string   `json:"principal,omitempty"`
	Project     string   `json:"project,omitempty"`
	Workspace   string   `json:"workspace,omitempty"`
	Warnings    []string `json:"warnings,omitempty"`
}

// Key is an idempotency key.
type Key struct {
	Key     string `json:"key"`
	Run     string `json:"run"`
	Expires int64  `json:"expires"`
}

// Delivery is a webhook to be sent.
type Delivery struct {
	ID      string `json:"id"`
	Run     string `json:"run"`
	URL     string `json:"url"`
	Attempt int64  `json:"attempt,omitempty"`
	Due     int64  `json:"due"`
	Error   string `json:"error,omitempty"`

	Event     string `json:"event,omitempty"`
	Interrupt string `json:"interrupt,omitempty"`
	Dead      bool   `json:"dead,omitempty"`
}

// End ends a thread.
type End struct {
	ID string `json:"id"`
}

// runDoc is how stores keep what never changes of a run.
type runDoc struct {
	Assistant string          `json:"assistant,omitempty"`
	Graph     string          `json:"graph,omitempty"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`
	Kwargs    json.RawMessage `json:"kwargs"`
	Strategy  string          `json:"strategy,omitempty"`
	Resumes   []string        `json:"resumes,omitempty"`
	Writes    bool            `json:"writes,omitempty"`
	Principal string          `json:"principal,omitempty"`
	Project   string          `json:"project,omitempty"`
	Workspace string          `json:"workspace,omitempty"`
	Warnings  []string        `json:"warnings,omitempty"`
}

// TakeDoc takes over what a store keeps of a run that never changes.
func (r *Run) TakeDoc(b []byte) error {
	var d runDoc
	if err := json.Unmarshal(b, &d); err != nil {
		return err
	}
	r.Assistant, r.Graph, r.Metadata, r.Kwargs, r.Strategy = d.Assistant, d.Graph, Raw(d.Metadata), Raw(d.Kwargs), d.Strategy
	r.Resumes, r.Principal, r.Warnings, r.Project, r.Workspace = d.Resumes, d.Principal, d.Warnings, d.Project, d.Workspace
	r.Writes = r.Writes || d.Writes
	return nil
}

// EncodeDoc is what a store keeps of a run that never changes. JSON in it stays as it is.
func (r *Run) EncodeDoc() (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(runDoc{Assistant: r.Assistant, Graph: r.Graph, Metadata: json.RawMessage(r.Metadata), Kwargs: json.RawMessage(r.Kwargs),
		Strategy: r.Strategy, Resumes: r.Resumes, Writes: r.Writes, Principal: r.Principal, Warnings: r.Warnings,
		Project: r.Project, Workspace: r.Workspace})
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Size is about how many bytes of data the record holds, for those who collect several.
func (r *Record) Size() int {
	n := 64
	switch {
	case r.Blob != nil:
		n += len(r.Blob.Data)
	case r.Segment != nil:
		for _, e := range r.Segment.Entries {
			n += len(e)
		}
	case r.Checkpoint != nil:
		n += len(r.Checkpoint.State) + len(r.Checkpoint.Metadata)
	case r.Task != nil:
		for _, w := range r.Task.Writes {
			n += len(w.Value)
		}
	case r.Step != nil:
		n += len(r.Step.Result)
	case r.Log != nil:
		n += len(r.Log.Data)
	case r.Run != nil:
		n += len(r.Run.Kwargs)
	case r.Review != nil:
		n += len(r.Review.Draft) + len(r.Review.Comments) + len(r.Review.Outcome)
	case r.Audit != nil:
		n += len(r.Audit.Body)
	}
	return n
}
