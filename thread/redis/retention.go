package redis

import (
	"context"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// ExpireLogs implements thread.Runs.
func (s *Store) ExpireLogs(ctx context.Context, before time.Time, limit int) (n int, err error) {
	ids, _, err := s.earliest(ctx, s.keys.retiring, before, 0, limit)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if n >= limit {
			break
		}
		dropped, err := s.expireLogs(ctx, id, before, limit-n)
		if err != nil {
			return n, err
		}
		n += dropped
	}
	return n, s.purgeItems(ctx)
}

func (s *Store) expireLogs(ctx context.Context, id string, before time.Time, limit int) (int, error) {
	r := s.eval(ctx, "expire", s.keys.thread(id), newOp(), micros(before), limit, thread.MaxSnapshot)
	if r.err != nil {
		return 0, r.err
	}
	if r.status() == "GONE" {
		return 0, s.reconcile(ctx, id, "")
	}
	w := readRow(id, &r)
	n := int(r.int())
	found := r.inner()
	if r.err != nil {
		return 0, r.err
	}
	stored, err := s.cut(ctx, id, found, cutRule{mode: "old", before: before})
	if stored != nil {
		w = *stored
	}
	return n, errorsFirst(err, s.derive(ctx, w, derived{}))
}

// TrimThread implements thread.Threads: first the checkpoints go, then the values
// that those which stay don't refer to. The second part is left out when the
// thread has moved on meanwhile: the next trim does it.
func (s *Store) TrimThread(ctx context.Context, id string) error {
	r := s.eval(ctx, "trim", s.keys.thread(id), thread.MaxSnapshot)
	if r.err != nil {
		return r.err
	}
	if r.status() == "GONE" {
		return noThread(id)
	}
	found := r.inner()
	if r.err == nil {
		stored, err := s.cut(ctx, id, found, cutRule{mode: "over", again: true})
		if err == nil && stored != nil {
			err = s.derive(ctx, *stored, derived{})
		}
		if err != nil {
			return err
		}
	}
	idle, cps := r.bool(), r.int()
	docs, blobs, segments := r.inner(), r.inner(), r.inner()
	if r.err != nil || !idle {
		return r.err
	}
	var refs agent.Refs
	for docs.more() {
		rec, err := decodeCheckpoint(docs.blob())
		if err == nil {
			err = refs.Add(rec.State)
		}
		if err != nil {
			return err
		}
	}
	unused := []any{cps}
	unused = appendList(unused, without(blobs.texts(), refs.Blobs))
	drop, err := unusedSegments(&segments, refs.Segments)
	if err != nil {
		return err
	}
	r = s.eval(ctx, "drop", s.keys.thread(id), appendList(unused, drop)...)
	return r.err
}

func appendList(args []any, list []string) []any {
	args = append(args, len(list))
	for _, v := range list {
		args = append(args, v)
	}
	return args
}

func without(list []string, used map[string]bool) (unused []string) {
	for _, v := range list {
		if !used[v] {
			unused = append(unused, v)
		}
	}
	return unused
}

// unusedSegments are the list segments that are neither used nor below one that is.
func unusedSegments(r *reply, used map[string]bool) (unused []string, err error) {
	bases := map[string]string{}
	for r.more() {
		id := r.text()
		base, err := segmentBase(r.text())
		if err != nil {
			return nil, err
		}
		bases[id] = base.Segment
	}
	keep := map[string]bool{}
	for id := range used {
		for base, ok := id, true; ok && !keep[base]; base = bases[base] {
			keep[base] = true
			_, ok = bases[base]
		}
	}
	for id := range bases {
		if !keep[id] {
			unused = append(unused, id)
		}
	}
	return unused, r.err
}

// outboxes reads the webhooks of threads.
func (s *Store) outboxes(ctx context.Context, ids []string) (list []thread.Delivery, err error) {
	calls := make([]*call, len(ids))
	for i, id := range ids {
		calls[i] = &call{script: "deliveries", keys: s.keys.thread(id)}
	}
	if err := s.evalAll(ctx, calls...); err != nil {
		return nil, err
	}
	for i, c := range calls {
		for c.reply.more() {
			in := c.reply.inner()
			d := thread.Delivery{ThreadID: ids[i], ID: in.text(), RunID: in.text(), URL: in.text(), Attempt: int(in.int()), Due: timeOf(in.int())}
			if in.err != nil {
				return nil, in.err
			}
			list = append(list, d)
		}
	}
	return list, nil
}
