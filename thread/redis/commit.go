package redis

import (
	"context"
	"slices"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// Commit implements thread.Runs: one round trip; a commit that ends the run takes
// another one for what is derived.
func (s *Store) Commit(ctx context.Context, l thread.Lease, c thread.Commit) (told []thread.Entry, err error) {
	actor, err := actorArg(ctx)
	if err != nil {
		return nil, err
	}
	args := []any{newOp(), l.Token, l.RunID, c.ID, s.keys.threadChannel(l.ThreadID), s.origin, s.keys.control(), actor}
	args = append(args, checkpointArgs(c.Checkpoints)...)
	args = append(args, taskArgs(c.Tasks)...)
	args = append(args, len(c.Steps))
	for _, step := range c.Steps {
		args = append(args, step.Origin, stepMember(step), encodeStep(step))
	}
	batch, err := batchArgs(c.Entries)
	if err != nil {
		return nil, err
	}
	args = append(args, batch...)
	questions := asks(l.ThreadID, l.RunID, c.Tasks)
	reviewed := len(questions)+len(c.Audit) > 0
	if c.Finish == nil && !reviewed {
		return nil, s.step(ctx, l, args, ahead(c.Steps))
	}
	finish, err := finishArgs(c.Finish)
	if err != nil {
		return nil, err
	}
	args = append(args, finish...)
	var r reply
	var mark string
	if reviewed {
		r, mark, err = s.commitReviewed(ctx, l, c, questions, args)
	} else {
		keys := s.keys.thread(l.ThreadID)
		args = append(args, 0, 0)
		r = s.persist(ctx, func() reply { return s.confirmed(ctx, "commit", keys, args...) })
	}
	if err := errorsFirst(err, r.err); err != nil {
		return nil, err
	}
	if r.status(); r.err != nil {
		return nil, fenced(r.err, l)
	}
	w := readRow(l.ThreadID, &r)
	if told, err = takeTold(&r); err != nil {
		return nil, err
	}
	// The entry in the queue stands for a mark: it leaves with what is derived, and until then,
	// when the lease would have ended, who finds nothing to claim reconciles the thread.
	if err := s.derive(ctx, w, derived{wake: c.Finish != nil && w.due > 0, mark: mark}); err != nil {
		s.log.Warn("derived entries of a run", "thread", l.ThreadID, "err", err)
	}
	if s.opts.LogBytes > 0 && w.logBytes > s.opts.LogBytes {
		s.enforce(ctx, l.ThreadID)
	}
	return told, nil
}

// step stores a commit that asks nothing and doesn't end the run.
func (s *Store) step(ctx context.Context, l thread.Lease, args []any, confirm bool) error {
	run := s.eval
	if confirm {
		run = s.confirmed
	}
	keys := s.keys.thread(l.ThreadID)
	r := s.persist(ctx, func() reply { return run(ctx, "step", keys, args...) })
	if r.err != nil {
		return r.err
	}
	if r.status(); r.err == nil && r.more() { // it superseded reviews
		s.repair(context.WithoutCancel(ctx), l.ThreadID)
	}
	return fenced(r.err, l)
}

// ahead tells whether steps are about to be done at most once: that they have begun
// must be as durable as a decision, or a fail-over has them done again (decisions 6).
func ahead(steps []agent.StepRecord) bool {
	return slices.ContainsFunc(steps, func(s agent.StepRecord) bool { return s.Status == agent.StepStarted })
}

// enforce cuts the log of a thread that has grown beyond its bound.
func (s *Store) enforce(ctx context.Context, id string) {
	if _, err := s.cut(context.WithoutCancel(ctx), id, cutRule{mode: "over"}); err != nil {
		s.log.Warn("cut a log that has grown too large", "thread", id, "err", err)
	}
}

// AppendLog implements thread.Log.
func (s *Store) AppendLog(ctx context.Context, l thread.Lease, entries []thread.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	batch, err := batchArgs(entries)
	if err != nil {
		return err
	}
	args := append([]any{l.Token, s.keys.threadChannel(l.ThreadID), s.origin, s.keys.control()}, batch...)
	keys := s.keys.thread(l.ThreadID)[:headLogKeys]
	r := s.persist(ctx, func() reply { return s.eval(ctx, "append", keys, args...) })
	if r.err == nil {
		r.status()
	}
	return fenced(r.err, l)
}

func checkpointArgs(list []agent.CheckpointRecord) []any {
	args := []any{len(list)}
	for _, c := range list {
		args = append(args, c.NS, c.ID, c.ParentID, encodeCheckpoint(c), len(c.Blobs))
		for _, b := range c.Blobs {
			args = append(args, b.ID, b.Data)
		}
		args = append(args, len(c.Lists))
		for _, l := range c.Lists {
			args = append(args, l.Segment, l.Base.Segment, l.Base.Len, l.From, len(l.Entries))
			for _, e := range l.Entries {
				args = append(args, []byte(e))
			}
		}
	}
	return args
}

func taskArgs(list []agent.TaskRecord) []any {
	args := []any{len(list)}
	for _, t := range list {
		args = append(args, t.NS, t.CheckpointID, t.TaskID, encodeTask(t), t.Status == agent.TaskDone)
		if t.Nested || t.TaskID == agent.NullTask { // the nested graph's own record has the questions
			args = append(args, 0)
			continue
		}
		args = append(args, len(t.Interrupts))
		for _, i := range t.Interrupts {
			args = append(args, i.ID, encodeQuestion(i))
		}
	}
	return args
}

func batchArgs(entries []thread.Entry) ([]any, error) {
	if len(entries) == 0 {
		return []any{0}, nil
	}
	data, err := thread.AppendEntries(nil, entries)
	if err != nil {
		return nil, err
	}
	var seq int64
	for _, e := range entries {
		if e.Seq != 0 {
			seq = e.Seq
		}
	}
	return []any{1, entries[0].Pos, entries[len(entries)-1].Pos, seq, len(entries), entries[0].Event.At, data}, nil
}

func finishArgs(f *thread.Finish) ([]any, error) {
	if f == nil {
		return []any{0}, nil
	}
	status, err := runStatusCode(f.Status)
	if err != nil {
		return nil, err
	}
	args := []any{1, status, f.Suspended, f.HasNext, []byte(f.Error), micros(f.At), f.DropThread}
	if d := f.Webhook; d != nil {
		return append(args, 1, d.ID, d.RunID, d.URL, d.Attempt, micros(d.Due)), nil
	}
	return append(args, 0), nil
}
