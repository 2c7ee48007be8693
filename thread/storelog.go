package thread

import (
	"context"

	"github.com/parley-dev/parley/agent"
)

// Entry is one event in a thread's log.
type Entry struct {
	// Pos is the entry's position in the thread: 1, 2, 3 … with holes after a crash.
	Pos int64
	// Seq numbers the event in the thread protocol; 0 when it is not shown there.
	Seq int64
	// RunID is "" for the events of an edit from outside, which lie between runs.
	RunID string
	Event agent.Event
}

// Log is the event log of threads.
type Log interface {
	// AppendLog stores entries of a leased run outside of a transition (deltas). Storing a batch once more is a
	// no-op; ErrConflict where another one has its place.
	AppendLog(ctx context.Context, l Lease, entries []Entry) error
	// ReadLog returns entries with Pos > after in order, at most about limit of them (it may give a few more).
	ReadLog(ctx context.Context, threadID string, after int64, limit int) ([]Entry, error)
	// ReadRunLog is ReadLog for the entries of one run; ErrNotFound for an unknown run.
	ReadRunLog(ctx context.Context, threadID, runID string, after int64, limit int) ([]Entry, error)
	// LogStart returns the Pos of the oldest entry kept; 0 for an empty log.
	LogStart(ctx context.Context, threadID string) (int64, error)
	// LogEnd returns the Pos and Seq of the newest entry that was stored for the
	// thread, whether the log still has it or not; both 0 when there never was one.
	LogEnd(ctx context.Context, threadID string) (pos, seq int64, err error)
}
