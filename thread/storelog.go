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
	// Snapshot marks the entries at the start of a log that was cut: they stand for
	// what was there, on the highest of its numbers (decisions 3).
	Snapshot bool
}

// Log is the event log of threads.
//
// A cut (Runs.ExpireLogs, Threads.TrimThread) drops entries from the start of a
// log only, and only those of whole runs and edits. A snapshot takes the place of
// the highest numbers that were dropped, and leaves at least one before it free: for
// each namespace its checkpoint and values, the root's first, then the beginning
// and the end of the newest run that was dropped. Where it would take more numbers
// than are dropped, nothing is cut. A reader behind it goes on without a hole.
type Log interface {
	// AppendLog stores entries of a leased run outside of a transition (deltas). Storing a batch once more is a
	// no-op; ErrConflict where another one has its place.
	AppendLog(ctx context.Context, l Lease, entries []Entry) error
	// ReadLog returns entries with Pos > after in order, at most about limit of them (it may give a few more).
	ReadLog(ctx context.Context, threadID string, after int64, limit int) ([]Entry, error)
	// ReadRunLog is ReadLog for the entries of one run, snapshots left out; ErrNotFound for an unknown run.
	ReadRunLog(ctx context.Context, threadID, runID string, after int64, limit int) ([]Entry, error)
	// LogStart returns the Pos of the oldest entry kept; 0 for an empty log.
	LogStart(ctx context.Context, threadID string) (int64, error)
	// LogEnd returns the Pos and Seq of the newest entry that was stored for the
	// thread, whether the log still has it or not; both 0 when there never was one.
	LogEnd(ctx context.Context, threadID string) (pos, seq int64, err error)
}
