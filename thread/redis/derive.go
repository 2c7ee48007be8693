package redis

import (
	"context"

	"github.com/google/uuid"
)

// derived says how a transition's derived entries are written.
type derived struct {
	// metadata: metadata may have changed.
	metadata bool
	// mark, when set, is removed with them.
	mark string
	// anew makes the snapshot of the log anew, if that shows what is gone.
	anew bool
	// wake tells all replicas that there is work.
	wake bool
	// whole: the row's parts are all that there are.
	whole bool
}

// derive writes the entries in the thread's shard that follow from its row. They
// carry the row's version: in whatever order writers come, the newest stays
// (decisions 4). It is done although the caller has left.
func (s *Store) derive(ctx context.Context, w row, d derived) error {
	args := []any{w.id, w.version, 0, w.due, w.expires, w.retires}
	members := w.members()
	args = append(args, len(members))
	for _, m := range members {
		args = append(args, m)
	}
	args = append(args, len(w.deliveries))
	for _, out := range w.deliveries {
		args = append(args, out.id, out.at)
	}
	if !d.metadata {
		args = append(args, 0, 0)
	} else {
		m, err := decodeMetadata(w.metadata)
		if err != nil {
			return err
		}
		members = w.metadataMembers(s.seed, m)
		args = append(args, w.mv, len(members))
		for _, m := range members {
			args = append(args, m)
		}
	}
	args = append(args, d.mark, s.wakeChannel(d.wake), w.unsealed, w.before, w.parts, d.whole, len(w.changed))
	for _, p := range w.changed {
		args = p.args(args)
	}
	ctx = context.WithoutCancel(ctx)
	r := s.eval(ctx, "derive", s.keys.shard(s.keys.shardOf(w.id)), args...)
	if r.err != nil {
		return r.err
	}
	if w.unsealed != 0 {
		s.sealing.add(w.id)
	}
	if behind := r.int() == 2; behind && !d.whole {
		return s.reconcile(ctx, w.id, d.mark)
	}
	return r.err
}

func (s *Store) wakeChannel(wake bool) string {
	if wake {
		return s.keys.control()
	}
	return ""
}

// underive removes the entries of a thread that was deleted with the given version.
func (s *Store) underive(ctx context.Context, id string, version int64, mark string) error {
	r := s.eval(context.WithoutCancel(ctx), "derive", s.keys.shard(s.keys.shardOf(id)), id, 0, version, 0, 0, 0, 0, 0, 0, 0, mark, "", 0, 0, 0, 0, 0)
	return r.err
}

// markSeparator divides the parts of a mark: thread, run, and what makes it unique.
const markSeparator = "\n"

// newMark is a mark of a thread, and of a run whose id it is about to take.
func newMark(threadID, runID string) string {
	return threadID + markSeparator + runID + markSeparator + uuid.NewString()[:13]
}

// marking is the call that marks a thread.
func (s *Store) marking(threadID, mark string) *call {
	return &call{script: "mark", keys: []string{s.keys.dirty(s.keys.shardOf(threadID))}, args: []any{mark}}
}

// unmark takes a mark back: nothing was stored.
func (s *Store) unmark(ctx context.Context, threadID, mark string) {
	key := s.keys.dirty(s.keys.shardOf(threadID))
	if err := s.client.ZRem(context.WithoutCancel(ctx), key, mark).Err(); err != nil {
		s.log.Debug("mark left to the sweeper", "thread", threadID, "err", err)
	}
}

// reconcile brings the derived entries of a thread in line with it.
func (s *Store) reconcile(ctx context.Context, id, mark string) error {
	w, version, err := s.readRow(ctx, id)
	if isNotFound(err) {
		if w.leaving {
			if err := s.bury(ctx, id); err != nil {
				return err
			}
		}
		return s.underive(ctx, id, version, mark)
	}
	if err != nil {
		return err
	}
	if w.parts != 0 {
		if err := s.readParts(ctx, &w); err != nil {
			return err
		}
	}
	if w.stale {
		if err := s.showAnew(ctx, id); err != nil {
			return err
		}
	}
	return s.derive(ctx, w, derived{metadata: true, mark: mark, whole: true})
}

// readParts makes all parts of a thread those of its row.
func (s *Store) readParts(ctx context.Context, w *row) error {
	r := s.eval(context.WithoutCancel(ctx), "parts", s.keys.thread(w.id))
	if r.err == nil && r.status() == "GONE" {
		return nil // its deletion finds them
	}
	w.parts, w.changed = r.int(), nil
	w.before = w.parts
	for r.more() {
		w.changed = append(w.changed, takePart(w.id, &r))
	}
	return r.err
}

// readRow reads a thread; for one that doesn't exist at is the store's time, and the error ErrNotFound.
func (s *Store) readRow(ctx context.Context, id string) (w row, at int64, err error) {
	r := s.eval(ctx, "row", s.keys.thread(id))
	return takeRow(id, &r)
}

func takeRow(id string, r *reply) (w row, at int64, err error) {
	if r.status() == "GONE" {
		at, w.leaving = r.int(), r.bool()
		if r.err == nil {
			return w, at, noThread(id)
		}
	}
	w = readRow(id, r)
	return w, 0, r.err
}

// repair is reconcile where an entry was found to be wrong: a failure leaves it to the next who finds it.
func (s *Store) repair(ctx context.Context, id string) {
	if err := s.reconcile(ctx, id, ""); err != nil && ctx.Err() == nil {
		s.log.Warn("repair the index", "thread", id, "err", err)
	}
}
