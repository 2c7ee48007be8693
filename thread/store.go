package thread

import (
	"context"
	"errors"
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
	ReviewStore
	// Close waits for transitions under way and releases the store.
	Close() error
}

// Truncate empties collections; only the conformance sets offer it.
type Truncate struct{ Runs, Threads, Assistants, Checkpoints, Items bool }

// Truncater is implemented by stores that can be emptied for tests.
type Truncater interface {
	Truncate(ctx context.Context, t Truncate) error
}
