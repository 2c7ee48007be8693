package agenttest

import (
	"context"
	"fmt"
	"slices"

	"github.com/parley-dev/parley/agent"
)

// Edit updates the newest state of a namespace from outside, one checkpoint per superstep.
func (t *Thread) Edit(ctx context.Context, ns string, supersteps ...[]agent.Edit) error {
	return t.EditAt(ctx, ns, "", supersteps...)
}

// EditAt updates the checkpoint with the given id, which may be an older one; "" is the newest.
func (t *Thread) EditAt(ctx context.Context, ns, checkpointID string, supersteps ...[]agent.Edit) error {
	g := t.graph.SubgraphAt(ns)
	if g == nil {
		return fmt.Errorf("agenttest: no graph at %q", ns)
	}
	base, err := t.Checkpoint(ctx, ns, checkpointID)
	if err != nil {
		return err
	}
	edited, err := g.EditState(ctx, agent.EditRequest{
		ThreadID: t.ID, NS: ns, Base: base, BaseAddressed: checkpointID != "", Supersteps: supersteps, Config: t.Config, Reader: t, Clock: t.clock, IDs: ids{t},
	})
	if err != nil {
		return err
	}
	return recorder{t}.Commit(ctx, agent.Commit{Checkpoints: edited.Checkpoints, Tasks: edited.Tasks})
}

// Copy returns a thread with the given id that has the checkpoints of t, as a copy in the
// store has: no records of tasks, no answers, no journal.
func (t *Thread) Copy(id string) *Thread {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := New(t.graph)
	c.ID, c.Config, c.Items, c.clock = id, t.Config, t.Items, t.clock
	c.checkpoints, c.ids, c.runs = slices.Clone(t.checkpoints), t.ids, t.runs
	return c
}

// Snapshots are the checkpoints of a namespace as the history shows them, newest first.
func (t *Thread) Snapshots(ctx context.Context, ns string) ([]*agent.Snapshot, error) {
	g := t.graph.SubgraphAt(ns)
	if g == nil {
		return nil, fmt.Errorf("agenttest: no graph at %q", ns)
	}
	tuples, err := t.Checkpoints(ctx, ns, agent.CheckpointQuery{Limit: len(t.History(ns))})
	if err != nil {
		return nil, err
	}
	var all []*agent.Snapshot
	for _, tuple := range tuples {
		s, err := g.SnapshotOf(ctx, t, tuple, false, false)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
