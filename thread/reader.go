package thread

import (
	"context"
	"errors"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// reader reads a thread's stored truth for the runtime.
type reader struct {
	s      *Service
	thread string
	// read, when set, is told of each checkpoint that was read.
	read func(*agent.Checkpoint)
}

var _ agent.Reader = (*reader)(nil)

func (s *Service) reader(threadID string) *reader { return &reader{s: s, thread: threadID} }

// Checkpoint implements agent.Reader.
func (r *reader) Checkpoint(ctx context.Context, ns, id string) (*agent.Tuple, error) {
	stored, err := r.s.store.Checkpoint(ctx, r.thread, ns, id)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return r.tuple(ctx, stored)
}

// Checkpoints implements agent.Reader.
func (r *reader) Checkpoints(ctx context.Context, ns string, q agent.CheckpointQuery) ([]*agent.Tuple, error) {
	stored, err := r.s.store.ListCheckpoints(ctx, r.thread, ns, q)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	tuples := make([]*agent.Tuple, 0, len(stored))
	for _, st := range stored {
		t, err := r.tuple(ctx, st)
		if err != nil {
			return nil, err
		}
		tuples = append(tuples, t)
	}
	return tuples, nil
}

// Steps implements agent.Reader.
func (r *reader) Steps(ctx context.Context, origin string) ([]agent.StepRecord, error) {
	return r.s.store.Steps(ctx, r.thread, origin)
}

func (r *reader) tuple(ctx context.Context, stored StoredTuple) (*agent.Tuple, error) {
	cp, err := r.decode(ctx, stored.Record)
	if err != nil {
		return nil, err
	}
	if r.read != nil {
		r.read(cp)
	}
	return &agent.Tuple{Checkpoint: cp, Tasks: stored.Tasks, Answers: stored.Answers}, nil
}

func (r *reader) decode(ctx context.Context, record agent.CheckpointRecord) (*agent.Checkpoint, error) {
	cache := r.s.cache.of(r.thread)
	if cp := cache.checkpoint(record.NS, record.ID); cp != nil {
		return cp, nil
	}
	cp, err := agent.DecodeCheckpoint(record,
		func(ids []string) (map[string][]byte, error) { return r.s.store.Blobs(ctx, r.thread, ids) },
		func(id string, n int) (message.Segment, error) { return r.s.store.Segment(ctx, r.thread, id, n) },
		cache)
	if err != nil {
		return nil, err
	}
	cache.keep(cp)
	return cp, nil
}

// remember keeps what a run has just stored, so that the next read and the next
// run find it in memory.
func (s *Service) remember(threadID string, cp *agent.Checkpoint) {
	cache := s.cache.of(threadID)
	agent.CacheValues(cp, cache)
	cache.keep(cp)
}
