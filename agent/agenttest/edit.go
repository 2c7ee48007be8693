package agenttest

import (
	"context"
	"fmt"

	"github.com/parley-dev/parley/agent"
)

// Edit updates the newest state of a namespace from outside, one checkpoint per superstep.
func (t *Thread) Edit(ctx context.Context, ns string, supersteps ...[]agent.Edit) error {
	g := t.graph.SubgraphAt(ns)
	if g == nil {
		return fmt.Errorf("agenttest: no graph at %q", ns)
	}
	base, err := t.Checkpoint(ctx, ns, "")
	if err != nil {
		return err
	}
	edited, err := g.EditState(ctx, agent.EditRequest{
		ThreadID: t.ID, NS: ns, Base: base, Supersteps: supersteps, Config: t.Config, Reader: t, Clock: t.clock, IDs: ids{t},
	})
	if err != nil {
		return err
	}
	return recorder{t}.Commit(ctx, agent.Commit{Checkpoints: edited.Checkpoints, Tasks: edited.Tasks})
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
