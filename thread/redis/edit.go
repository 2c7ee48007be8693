package redis

import (
	"context"
	"fmt"

	"github.com/parley-dev/parley/thread"
)

// EditState implements thread.Runs.
func (s *Store) EditState(ctx context.Context, e thread.StateEdit) (entries []thread.Entry, err error) {
	args := []any{newOp(), s.keys.threadChannel(e.ThreadID), s.origin, s.keys.control(), e.NS, e.ExpectHead, micros(e.At)}
	args = append(append(args, checkpointArgs(e.Checkpoints)...), taskArgs(e.Tasks)...)
	if len(e.Events) == 0 {
		args = append(args, 0)
	} else {
		b, err := thread.FloatEvents(e.Events)
		if err != nil {
			return nil, err
		}
		args = append(append(args, 1), floating(b)...)
	}
	_, r, err := s.changeReply(ctx, e.ThreadID, "edit", args, derived{})
	if err != nil {
		return nil, fmt.Errorf("thread %s: %w", e.ThreadID, err)
	}
	pos, seq := r.int(), r.int()
	for _, ev := range e.Events {
		en := thread.Entry{Pos: pos, Event: ev}
		pos++
		if ev.Kind.Numbered() {
			en.Seq = seq
			seq++
		}
		entries = append(entries, en)
	}
	return entries, r.err
}
