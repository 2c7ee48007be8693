package local

import (
	"context"
	"fmt"
	"strconv"

	"github.com/parley-dev/parley/thread"
)

// encoded is a commit with all encoding done outside of the writer.
type encoded struct {
	thread.Commit
	tasks [][]byte
	steps [][]byte
	log   logBatch
}

func encodeCommit(c thread.Commit) (e encoded, err error) {
	e.Commit = c
	for _, b := range c.Audit {
		if _, err := b.Canonical(); err != nil {
			return e, err
		}
	}
	for _, t := range c.Tasks {
		e.tasks = append(e.tasks, encodeTask(t))
	}
	for _, s := range c.Steps {
		e.steps = append(e.steps, encodeStep(s))
	}
	e.log, err = encodeLog(c.Entries)
	return e, err
}

// Commit implements thread.Runs.
func (s *Store) Commit(ctx context.Context, l thread.Lease, c thread.Commit) (told []thread.Entry, err error) {
	e, err := encodeCommit(c)
	if err != nil {
		return nil, err
	}
	actor := thread.ActorFrom(ctx)
	err = s.write(ctx, c.Sync, func(t *tx) error {
		told = nil
		h, err := owned(t.conn, l)
		if err != nil {
			if h == nil {
				return err
			}
			return finishedBefore(t.conn, l, c.ID, err)
		}
		if repeats(h.lastCommit, c.ID) {
			return nil
		}
		h.do(actor, s.now())
		told, err = s.commit(t, h, l, &e)
		return err
	})
	return told, err
}

// finishedBefore is nil when the lease is stale because this very commit ended
// the run; otherwise it is err.
func finishedBefore(c *conn, l thread.Lease, commit string, err error) error {
	w, e := oneRun(c, l.ThreadID, l.RunID)
	if e == nil && w.status > runRunning && repeats(w.lastCommit, commit) {
		return nil
	}
	return err
}

// repeats tells whether the commit with that id was stored before the newest or
// is the newest: ids of a run's commits end in a counter.
func repeats(newest, id string) bool {
	if newest == "" || id == "" {
		return false
	}
	if newest == id {
		return true
	}
	a, m, ok := counter(newest)
	b, n, also := counter(id)
	return ok && also && a == b && n <= m
}

// counter splits an id into what precedes its last digits, and their number.
func counter(id string) (prefix string, n uint64, ok bool) {
	i := len(id)
	for i > 0 && id[i-1] >= '0' && id[i-1] <= '9' {
		i--
	}
	n, err := strconv.ParseUint(id[i:], 10, 64)
	return id[:i], n, err == nil
}

// commit stores a transition of a run whose lease is valid. It returns what the log got beside.
func (s *Store) commit(t *tx, h *head, l thread.Lease, e *encoded) ([]thread.Entry, error) {
	now := micros(s.now())
	floor := h.head
	for i := range e.Checkpoints {
		rec := &e.Checkpoints[i]
		if rec.ID <= floor {
			return nil, fmt.Errorf("checkpoint %s is not above the head %s: %w", rec.ID, floor, thread.ErrConflict)
		}
		if rec.NS == "" {
			floor = rec.ID
		}
	}
	floor = h.head
	for i := range e.Checkpoints {
		rec := &e.Checkpoints[i]
		if err := putCheckpoint(t.conn, h, rec, floor, now, thread.CauseRun); err != nil {
			return nil, err
		}
	}
	by := asker{id: l.RunID, run: h.running, now: now, cause: thread.CauseRun, drafts: e.Reviews}
	for i := range e.Tasks {
		if err := putTaskOf(t.conn, h.k, h.running, e.Tasks[i], e.tasks[i]); err != nil {
			return nil, err
		}
		if err := raise(t.conn, h, &e.Tasks[i], &by); err != nil {
			return nil, err
		}
	}
	for i := range e.Steps {
		if err := putStep(t.conn, h.k, e.Steps[i], e.steps[i]); err != nil {
			return nil, err
		}
	}
	if err := e.log.put(t.conn, h.k, h.running); err != nil {
		return nil, err
	}
	h.lastCommit = e.ID
	if e.Finish == nil && len(e.Audit) == 0 {
		return nil, h.save(t.conn)
	}
	w, err := runByNumber(t.conn, l.ThreadID, h.k, h.running)
	if err != nil {
		return nil, err
	}
	if err := h.auditRun(t.conn, w, e.Audit); err != nil {
		return nil, err
	}
	if e.Finish == nil {
		return nil, h.save(t.conn)
	}
	pos, seq, err := logEnd(t.conn, h.k, h.startPos-1, h.startSeq-1)
	if err != nil {
		return nil, err
	}
	h.nextPos, h.nextSeq = pos+1, seq+1
	return finish(t.conn, h, e.Finish, e.ID, w)
}

// AppendLog implements thread.Log.
func (s *Store) AppendLog(ctx context.Context, l thread.Lease, entries []thread.Entry) error {
	batch, err := encodeLog(entries)
	if err != nil {
		return err
	}
	return s.write(ctx, false, func(t *tx) error {
		h, err := owned(t.conn, l)
		if err != nil {
			return err
		}
		return batch.put(t.conn, h.k, h.running)
	})
}
