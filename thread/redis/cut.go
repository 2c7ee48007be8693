package redis

import (
	"context"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// cutRule says what of a log may go (scripts/findcut.lua).
type cutRule struct {
	mode   string
	before time.Time
	again  bool
}

// cutTries bounds how often a cut is looked for again because the thread moved on
// meanwhile. What isn't cut now is with the next cut.
const cutTries = 8

// cut replaces the start of a log by a snapshot: found says how far, as a script
// told it. It returns the thread's row if something was cut.
func (s *Store) cut(ctx context.Context, id string, found reply, rule cutRule) (*row, error) {
	for range cutTries {
		args, err := snapshotArgs(id, found)
		if err != nil || args == nil {
			return nil, err
		}
		r := s.eval(ctx, "cut", s.keys.thread(id), args...)
		if r.err != nil {
			return nil, r.err
		}
		switch r.status() {
		case "OK":
			w := readRow(id, &r)
			return &w, r.err
		case "GONE":
			return nil, nil
		}
		r = s.eval(ctx, "findcut", s.keys.thread(id), rule.mode, micros(rule.before), rule.again, thread.MaxSnapshot)
		if r.err != nil || r.status() == "GONE" {
			return nil, r.err
		}
		found = r.inner()
	}
	return nil, nil
}

// showAnew makes the snapshot of a log anew, of which a run was deleted.
func (s *Store) showAnew(ctx context.Context, id string) error {
	rule := cutRule{mode: "none", again: true}
	r := s.eval(ctx, "findcut", s.keys.thread(id), rule.mode, 0, rule.again, thread.MaxSnapshot)
	if r.err != nil || r.status() == "GONE" {
		return r.err
	}
	w, err := s.cut(ctx, id, r.inner(), rule)
	if err != nil || w == nil {
		return err
	}
	return s.derive(ctx, *w, derived{})
}

// snapshotArgs are the arguments of a cut; nil when there is nothing to be cut, or too little for the snapshot.
func snapshotArgs(id string, found reply) ([]any, error) {
	if !found.more() {
		return nil, found.err
	}
	version, pos, seq := found.int(), found.int(), found.int()
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
	args, batches := []any{version, pos, 0}, 0
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
	args[2] = batches
	return appendList(args, runs.texts()), nil
}
