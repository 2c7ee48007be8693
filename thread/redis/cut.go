package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// cutRule says what of a log may go (scripts/findcut.lua).
type cutRule struct {
	mode   string
	before time.Time
	again  bool
	trim   bool
	// limit bounds the runs that are looked at.
	limit int
}

// cutTries bounds how often a cut is looked for again because the thread moved on meanwhile.
const cutTries = 100

// cut replaces the start of a thread's log by a snapshot, and trims its
// checkpoints, as the rule says: what may go is found out first, and goes in one
// transition if the thread is still the same. It returns how many runs ended before the rule's time.
func (s *Store) cut(ctx context.Context, id string, rule cutRule) (runs int, err error) {
	op := newOp()
	for range cutTries {
		p, err := s.findCut(ctx, id, rule)
		if err != nil {
			return 0, err
		}
		if p.cut == nil && len(p.runs) == 0 && !rule.trim {
			return 0, s.derive(ctx, p.row, derived{}) // the index may be wrong
		}
		r := s.confirmed(ctx, "cut", s.keys.thread(id), p.args(op, rule)...)
		if r.err != nil {
			return 0, r.err
		}
		switch r.status() {
		case "OK":
			w := readRow(id, &r)
			if r.err != nil {
				return 0, r.err
			}
			return len(p.runs), s.derive(ctx, w, derived{})
		case "GONE":
			return 0, noThread(id)
		}
	}
	return 0, fmt.Errorf("the log of thread %s: %w", id, thread.ErrConflict)
}

// showAnew makes the snapshot of a log anew, of which a run was deleted.
func (s *Store) showAnew(ctx context.Context, id string) error {
	_, err := s.cut(ctx, id, cutRule{mode: "none", again: true})
	return err
}

// cutPlan is what may go.
type cutPlan struct {
	row      row
	cps      int64
	runs     []string // whose execution ended before the rule's time
	cut      []any    // arguments; nil when nothing is cut
	blobs    []string
	segments []string
}

func (s *Store) findCut(ctx context.Context, id string, rule cutRule) (p cutPlan, err error) {
	r := s.eval(ctx, "findcut", s.keys.thread(id), rule.mode, micros(rule.before), rule.again, rule.trim, rule.limit, thread.MaxSnapshot)
	if r.err == nil && r.status() == "GONE" {
		return p, noThread(id)
	}
	p.row = readRow(id, &r)
	p.cps = r.int()
	old, found := r.inner(), r.inner()
	if r.err != nil {
		return p, r.err
	}
	p.runs = old.texts()
	if p.cut, err = snapshotArgs(id, found); err != nil || !r.more() {
		return p, err
	}
	return p, p.findUnused(&r)
}

// findUnused reads what a trim leaves, and finds what that doesn't refer to.
func (p *cutPlan) findUnused(r *reply) (err error) {
	docs, blobs, segments := r.inner(), r.inner(), r.inner()
	if r.err != nil {
		return r.err
	}
	var refs agent.Refs
	for docs.more() {
		rec, err := decodeCheckpoint(docs.blob())
		if err := errorsFirst(err, refs.Add(rec.State)); err != nil {
			return err
		}
	}
	p.blobs = without(blobs.texts(), refs.Blobs)
	p.segments, err = unusedSegments(&segments, refs.Segments)
	return err
}

func (p *cutPlan) args(op string, rule cutRule) []any {
	args := appendList([]any{op, p.row.version, p.cps, rule.trim}, p.runs)
	if p.cut == nil {
		args = append(args, 0)
	} else {
		args = append(append(args, 1), p.cut...)
	}
	return appendList(appendList(args, p.blobs), p.segments)
}

// snapshotArgs are the arguments of a cut; nil when there is nothing to be cut, or too little for the snapshot.
func snapshotArgs(id string, found reply) ([]any, error) {
	if !found.more() {
		return nil, found.err
	}
	pos, seq := found.int(), found.int()
	docs, newest, runs := found.inner(), found.value(), found.inner()
	if found.err != nil {
		return nil, found.err
	}
	var heads []agent.CheckpointRecord
	for docs.more() {
		c, err := decodeCheckpoint(docs.blob())
		if err != nil {
			return nil, err
		}
		heads = append(heads, c)
	}
	var last *thread.Run
	if list, ok := newest.([]any); ok && len(list) > 0 {
		run, err := takeRun(id, &reply{script: found.script, list: []any{list}})
		if err != nil {
			return nil, err
		}
		last = &run
	}
	states, ends, ok := thread.Snapshot(pos, seq, heads, last)
	if !ok {
		return nil, nil
	}
	args, batches := []any{pos, 0}, 0
	for _, entries := range [][]thread.Entry{states, ends} {
		if len(entries) == 0 {
			continue
		}
		batch, err := batchArgs(entries)
		if err != nil {
			return nil, err
		}
		args = append(append(args, entries[0].RunID), batch...)
		batches++
	}
	args[1] = batches
	return appendList(args, runs.texts()), nil
}

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
		runs, err := s.cut(ctx, id, cutRule{mode: "old", before: before, limit: limit - n})
		switch {
		case isNotFound(err):
			err = s.reconcile(ctx, id, "")
		case errors.Is(err, thread.ErrConflict):
			err = nil // it is very busy: the next round comes
		}
		if err != nil {
			return n, err
		}
		n += runs
	}
	return n, s.purgeItems(ctx)
}

// TrimThread implements thread.Threads.
func (s *Store) TrimThread(ctx context.Context, id string) error {
	_, err := s.cut(ctx, id, cutRule{mode: "over", again: true, trim: true})
	return err
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
