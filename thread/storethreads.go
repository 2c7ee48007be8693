package thread

import (
	"context"
	"encoding/json"
	"time"
)

// Threads are the rows of threads.
type Threads interface {
	// CreateThread stores a new thread; ErrExists when the id is taken.
	CreateThread(ctx context.Context, t Thread) error
	GetThread(ctx context.Context, id string) (Thread, error)
	// PatchThread merges metadata (shallowly) and sets what else the patch names.
	PatchThread(ctx context.Context, id string, p ThreadPatch) (Thread, error)
	// DeleteThread removes the thread and everything of it: runs, checkpoints, journal, log, interrupts, reviews. Its
	// audit entries stay (see Audit); open reviews are audited as superseded before.
	DeleteThread(ctx context.Context, id string) error
	// CopyThread copies the row, all checkpoints, task records, blobs and lists to a new thread, with the
	// same checkpoint ids; metadata.thread_id in the thread's and the checkpoints' metadata becomes the new id.
	// Runs, log, answers and interrupts aren't copied. But where the thread has open reviews, the copy gets its open
	// questions, of no run and generation 1, with reviews of its own: made anew from the drafts (without ExecutionID),
	// not claimed, with the time of the copy as their beginning, and audited as AuditRequested for CauseCopy (decisions 13).
	CopyThread(ctx context.Context, from, to string, at time.Time) (Thread, error)
	SearchThreads(ctx context.Context, q ThreadQuery) ([]Thread, int, error)
	// TrimThread drops all but the newest checkpoint of each namespace (prune, strategy keep_latest), with
	// the blobs and list segments that no other refers to. While a run is inflight, which may grow from a
	// checkpoint that is dropped, these stay. The log is cut behind the executions that are over.
	TrimThread(ctx context.Context, id string) error
	// ExpiredThreads lists threads whose ExpiresAt has passed, earliest first. The thread of a stateless run
	// is left out while its webhooks wait: they are made from its run.
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
