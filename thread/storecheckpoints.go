package thread

import (
	"context"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// Checkpoints reads what Commit and EditState stored.
type Checkpoints interface {
	// Checkpoint returns the checkpoint with its task records; with id "" the newest of the namespace. ErrNotFound.
	Checkpoint(ctx context.Context, threadID, ns, id string) (StoredTuple, error)
	// ListCheckpoints returns newest first.
	ListCheckpoints(ctx context.Context, threadID, ns string, q agent.CheckpointQuery) ([]StoredTuple, error)
	// Namespaces returns at most limit namespaces that have checkpoints: the root first, then those that were
	// written last.
	Namespaces(ctx context.Context, threadID string, limit int) ([]string, error)
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
