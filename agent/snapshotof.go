package agent

import (
	"context"
)

// SnapshotOf derives what readers see of a stored checkpoint. latest applies the
// pending writes of finished tasks (the newest state); history does not (spec/runtime.md 1.11).
// With subgraphs, nested snapshots are read through r.
func (g *Graph) SnapshotOf(ctx context.Context, r Reader, t *Tuple, latest, subgraphs bool) (*Snapshot, error) {
	panic("unimplemented")
}
