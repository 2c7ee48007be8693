package thread

import (
	"context"
	"errors"
	"time"

	"github.com/parley-dev/parley/agent"
)

// StateQuery addresses a state.
type StateQuery struct {
	CheckpointID string
	CheckpointNS string
	Subgraphs    bool
}

// State returns the state; a Snapshot with an empty CheckpointID when there is
// none. Errors: *NotFoundError (thread).
func (s *Service) State(ctx context.Context, threadID string, q StateQuery) (*agent.Snapshot, error) {
	none := &agent.Snapshot{NS: q.CheckpointNS, State: agent.NewState(nil, nil)}
	g, r, err := s.view(ctx, threadID, q.CheckpointNS)
	if err != nil || r == nil {
		return none, err
	}
	tuple, err := r.Checkpoint(ctx, q.CheckpointNS, q.CheckpointID)
	if err != nil || tuple == nil {
		return none, err
	}
	return g.SnapshotOf(ctx, r, tuple, q.CheckpointID == "", q.Subgraphs)
}

// HistoryQuery bounds History.
type HistoryQuery struct {
	CheckpointNS string
	CheckpointID string // just that one
	Before       string
	Limit        int
	Metadata     Metadata
}

// History lists states, newest first, all branches; none for a thread without a
// graph. Errors: *NotFoundError.
func (s *Service) History(ctx context.Context, threadID string, q HistoryQuery) ([]*agent.Snapshot, error) {
	g, r, err := s.view(ctx, threadID, q.CheckpointNS)
	if err != nil || r == nil || q.Limit <= 0 {
		return nil, err
	}
	var tuples []*agent.Tuple
	if q.CheckpointID != "" {
		var one *agent.Tuple
		if one, err = r.Checkpoint(ctx, q.CheckpointNS, q.CheckpointID); one != nil {
			tuples = append(tuples, one)
		}
	} else {
		tuples, err = r.Checkpoints(ctx, q.CheckpointNS, agent.CheckpointQuery{Limit: q.Limit, Before: q.Before, Metadata: q.Metadata})
	}
	if err != nil {
		return nil, err
	}
	states := make([]*agent.Snapshot, 0, len(tuples))
	for _, t := range tuples {
		snap, err := g.SnapshotOf(ctx, r, t, false, false)
		if err != nil {
			return nil, err
		}
		states = append(states, snap)
	}
	return states, nil
}

// view returns the graph that runs in a namespace of a thread, nil for one that a
// node invoked by hand or that isn't registered any more, and the thread's reader,
// nil when the thread has no graph.
func (s *Service) view(ctx context.Context, threadID, ns string) (*agent.Graph, *reader, error) {
	t, err := s.GetThread(ctx, threadID)
	if err != nil {
		return nil, nil, err
	}
	g, _, err := s.threadGraph(ctx, t)
	if unregistered(err) {
		return nil, s.reader(threadID), nil
	}
	if err != nil || g == nil {
		return nil, nil, err
	}
	return g.SubgraphAt(ns), s.reader(threadID), nil
}

// Materialize returns the state of a checkpoint, for values events read from the
// log: what the checkpoint holds, without anything that was stored about its next
// superstep since. Errors: *NotFoundError.
func (s *Service) Materialize(ctx context.Context, threadID, ns, checkpointID string) (*agent.State, error) {
	r := s.reader(threadID)
	tuple, err := r.Checkpoint(ctx, ns, checkpointID)
	if err != nil {
		return nil, err
	}
	if tuple == nil {
		return nil, &NotFoundError{Kind: "checkpoint", ID: checkpointID}
	}
	g, err := s.checkpointGraph(ctx, threadID, tuple.Checkpoint)
	if err != nil {
		return nil, err
	}
	// g is nil for a graph that a node invoked by hand.
	snap, err := g.SnapshotOf(ctx, r, &agent.Tuple{Checkpoint: tuple.Checkpoint}, false, false)
	if err != nil {
		return nil, err
	}
	return snap.State, nil
}

// checkpointGraph is the graph that made a checkpoint, nil for one that a node
// invoked by hand or that isn't registered any more; a thread may have had runs of several.
func (s *Service) checkpointGraph(ctx context.Context, threadID string, cp *agent.Checkpoint) (*agent.Graph, error) {
	t, err := s.GetThread(ctx, threadID)
	if err != nil {
		return nil, err
	}
	if id := graphID(cp.Metadata); id != "" {
		t.Metadata = merged(t.Metadata, Metadata{"graph_id": quoted(id)})
	}
	g, _, err := s.threadGraph(ctx, t)
	if unregistered(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if g == nil {
		return nil, &NoGraphError{ThreadID: threadID}
	}
	return g.SubgraphAt(cp.NS), nil
}

// Head is the newest checkpoint of a namespace with its state.
type Head struct {
	NS    string
	Note  agent.CheckpointNote
	At    time.Time
	State *agent.State
}

// maxHeads bounds the namespaces of which Heads are read.
const maxHeads = 64

// Heads returns the newest checkpoints of the thread's namespaces, the root
// first; none for an unknown thread. For readers whose place in the log is gone.
func (s *Service) Heads(ctx context.Context, threadID string) ([]Head, error) {
	namespaces, err := s.store.Namespaces(ctx, threadID, maxHeads)
	if err != nil {
		if errors.Is(err, ErrNotFound) {
			err = nil
		}
		return nil, err
	}
	r := s.reader(threadID)
	heads := make([]Head, 0, len(namespaces))
	for _, ns := range namespaces {
		tuple, err := r.Checkpoint(ctx, ns, "")
		if err != nil {
			return nil, err
		}
		if tuple == nil {
			continue
		}
		cp := tuple.Checkpoint
		state, err := s.Materialize(ctx, threadID, ns, cp.ID)
		if err != nil {
			return nil, err
		}
		heads = append(heads, Head{NS: ns, At: cp.At, State: state, Note: agent.CheckpointNote{
			ID: cp.ID, ParentID: cp.ParentID, Step: cp.Step, Source: cp.Source,
		}})
	}
	return heads, nil
}
