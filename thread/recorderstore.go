package thread

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/parley-dev/parley/agent"
)

// storeTries is how often a write is tried while the store has a passing fault;
// its commit id makes the repeat harmless.
const storeTries = 4

// firstStorePause is the pause before the second try; it doubles.
const firstStorePause = 20 * time.Millisecond

// store writes commits and entries as one transition; entries alone as a batch.
// It returns what the log got beside the entries.
func (r *recorder) store(ctx context.Context, lease Lease, id string, commits []*pendingCommit, entries []Entry) (told []Entry, err error) {
	stored := storedEntries(entries)
	err = persistently(ctx, func() error {
		told, err = r.storeOnce(ctx, lease, joined(id, commits, stored), commits)
		return err
	})
	return told, err
}

// persistently tries again while the store has a passing fault.
func persistently(ctx context.Context, try func() error) error {
	pause := firstStorePause
	for n := 1; ; n++ {
		err := try()
		if err == nil || n == storeTries || permanent(err) {
			return err
		}
		_ = SystemClock{}.Sleep(ctx, pause)
		pause *= 2
	}
}

// drafts makes the drafts of the questions that tasks ask.
func (r *recorder) drafts(ctx context.Context, tasks []agent.TaskRecord) ([]ReviewDraft, error) {
	if !asks(tasks) {
		return nil, nil
	}
	r.encoding.Lock()
	defer r.encoding.Unlock()
	if r.first == nil {
		first, err := r.s.firstRun(ctx, r.run)
		if err != nil {
			return nil, err
		}
		r.first = &first
	}
	return drafts(r.run, *r.first, tasks, r.s.opts.Notify), nil
}

// storeOnce picks the transition: events alone are a batch of the log; a
// rollback removes the run in place of ending it, with all that it said but its
// last event: no other run can start in between.
func (r *recorder) storeOnce(ctx context.Context, lease Lease, c Commit, commits []*pendingCommit) ([]Entry, error) {
	if n := len(commits); n > 0 && commits[n-1].undo {
		return r.s.store.Rollback(ctx, lease, c.Entries[len(c.Entries)-1:])
	}
	if c.Finish == nil && len(c.Checkpoints)+len(c.Tasks)+len(c.Steps) == 0 {
		return nil, r.s.store.AppendLog(ctx, lease, c.Entries)
	}
	return r.s.store.Commit(ctx, lease, c)
}

// joined is the commits as one.
func joined(id string, commits []*pendingCommit, entries []Entry) Commit {
	all := Commit{ID: id, Entries: entries, Sync: true}
	for _, c := range commits {
		all.Checkpoints = append(all.Checkpoints, c.commit.Checkpoints...)
		all.Tasks = append(all.Tasks, c.commit.Tasks...)
		all.Steps = append(all.Steps, c.commit.Steps...)
		all.Reviews = append(all.Reviews, c.commit.Reviews...)
		all.Audit = append(all.Audit, c.commit.Audit...)
		if c.commit.Finish != nil {
			all.Finish = c.commit.Finish
		}
	}
	return all
}

// permanent reports errors that a repeat can't cure.
func permanent(err error) bool {
	return errors.Is(err, ErrFenced) || errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) || errors.Is(err, ErrExists)
}

// storedEntries are entries as the log keeps them: a state that no checkpoint
// holds goes inline. Only then it is a copy.
func storedEntries(entries []Entry) []Entry {
	stored, copied := entries, false
	for i := range entries {
		v, ok := entries[i].Event.Payload.(*agent.ValuesNote)
		if !ok || v.CheckpointID != "" || v.Inline != nil || v.State == nil {
			continue
		}
		if !copied {
			stored, copied = slices.Clone(entries), true
		}
		stored[i].Event.Payload = &agent.ValuesNote{Inline: v.State.JSON()}
	}
	return stored
}
