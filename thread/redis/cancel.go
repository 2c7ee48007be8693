package redis

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// RequestCancel implements thread.Runs. The owner of a running run is told at once.
func (s *Store) RequestCancel(ctx context.Context, threadID, runID, action string, at time.Time) (run thread.Run, told []thread.Entry, err error) {
	if action != "interrupt" && action != "rollback" && !thread.ArmsCall(action) {
		return run, nil, fmt.Errorf("redis: no cancel action %q", action)
	}
	if threadID == "" {
		if threadID, err = s.ownerOf(ctx, runID); err != nil {
			return run, nil, err
		}
	}
	if run, err = s.GetRun(ctx, threadID, runID); err != nil || run.Status.Ended() {
		return run, nil, err
	}
	b, err := unbegun(run, action, orNow(at))
	if err != nil {
		return run, nil, err
	}
	actor, err := actorArg(ctx)
	if err != nil {
		return run, nil, err
	}
	args := []any{newOp(), s.keys.threadChannel(threadID), s.origin, s.keys.control(), actor, runID, action, micros(at), agent.NullTask}
	args = append(args, floating(b)...)
	r := s.confirmed(ctx, "cancel", s.keys.thread(threadID), args...)
	if r.err != nil {
		return run, nil, r.err
	}
	if r.status() == "GONE" {
		return run, nil, noRun(runID)
	}
	if run, err = takeRun(threadID, &r); err != nil {
		return run, nil, err
	}
	w := readRow(threadID, &r)
	if told, err = takeTold(&r); err != nil {
		return run, nil, err
	}
	if run.Status != thread.RunInterrupted || run.Cancel == "" {
		return run, told, r.unconfirmed // marked, or ended before
	}
	if action == "rollback" {
		if err := s.disown(ctx, runID); err != nil {
			return run, told, err
		}
	}
	return run, told, errorsFirst(s.derive(ctx, w, derived{wake: w.due > 0}), r.unconfirmed)
}

// Rollback implements thread.Runs.
func (s *Store) Rollback(ctx context.Context, l thread.Lease, last []thread.Entry) (told []thread.Entry, err error) {
	batch, err := batchArgs(last)
	if err != nil {
		return nil, err
	}
	actor, err := actorArg(ctx)
	if err != nil {
		return nil, err
	}
	args := append([]any{newOp(), l.Token, s.keys.threadChannel(l.ThreadID), s.origin, s.keys.control(), actor, agent.NullTask}, batch...)
	keys := s.keys.thread(l.ThreadID)
	r := s.persist(ctx, func() reply { return s.confirmed(ctx, "rollback", keys, args...) })
	if r.err == nil {
		r.status()
	}
	if r.err != nil {
		return nil, fenced(r.err, l)
	}
	w := readRow(l.ThreadID, &r)
	if told, err = takeTold(&r); err != nil {
		return nil, err
	}
	if err := s.disown(ctx, l.RunID); err != nil {
		return told, err
	}
	return told, s.derive(ctx, w, derived{wake: w.due > 0})
}

// DeleteRun implements thread.Runs.
func (s *Store) DeleteRun(ctx context.Context, threadID, runID string) (told []thread.Entry, err error) {
	run, err := s.GetRun(ctx, threadID, runID)
	if err != nil {
		return nil, err
	}
	now, err := s.storeTime(ctx)
	if err != nil {
		return nil, err
	}
	end, err := ended(agent.RunFinish{GraphID: run.GraphID, Status: string(thread.RunInterrupted), Cancel: "rollback"}, now.UnixMilli())
	if err != nil {
		return nil, err
	}
	never, err := unbegun(run, "rollback", now)
	if err != nil {
		return nil, err
	}
	actor, err := actorArg(ctx)
	if err != nil {
		return nil, err
	}
	args := []any{newOp(), s.keys.threadChannel(threadID), s.origin, s.keys.control(), actor, runID, agent.NullTask}
	args = append(append(args, floating(end)...), floating(never)...)
	_, r, err := s.changeReply(ctx, threadID, "remove", args, derived{wake: true, anew: true})
	if isNotFound(err) {
		err = noRun(runID)
	}
	if err != nil {
		return nil, err
	}
	if told, err = takeTold(&r); err != nil {
		return nil, err
	}
	return told, s.disown(ctx, runID)
}
