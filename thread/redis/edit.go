package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/parley-dev/parley/thread"
)

// EditState implements thread.Runs.
func (s *Store) EditState(ctx context.Context, e thread.StateEdit) (entries []thread.Entry, err error) {
	actor, err := actorArg(ctx)
	if err != nil {
		return nil, err
	}
	args := []any{newOp(), s.keys.threadChannel(e.ThreadID), s.origin, s.keys.control(), actor, e.NS, e.ExpectHead, micros(e.At)}
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
	r, err := s.editReviewed(ctx, e, args)
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

// editReviewed stores the edit; where it asks questions, with their reviews.
func (s *Store) editReviewed(ctx context.Context, e thread.StateEdit, args []any) (r reply, err error) {
	questions := asks(e.ThreadID, "", e.Tasks)
	if len(questions) == 0 {
		_, r, err = s.changeReply(ctx, e.ThreadID, "edit", append(args, 0), derived{})
		return r, err
	}
	generation := int64(0)
	for range askTries {
		known, _, err := s.readReviews(ctx, e.ThreadID, sortedIDs(questions)...)
		if err != nil {
			return r, err
		}
		if generation == 0 {
			generation = known.byEdit
		}
		drafts, err := draftArgs(ctx, questions, e.Reviews, known.reviews, generation, known.now)
		if err != nil {
			return r, err
		}
		_, r, err = s.changeReply(ctx, e.ThreadID, "edit", slices.Concat(args, drafts), derived{})
		var misfit *misfitError
		if !errors.As(err, &misfit) {
			return r, err
		}
		generation = misfit.generation
	}
	return r, thread.ErrConflict
}
