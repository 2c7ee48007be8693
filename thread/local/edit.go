package local

import (
	"context"
	"fmt"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// EditState implements thread.Runs.
func (s *Store) EditState(ctx context.Context, e thread.StateEdit) (entries []thread.Entry, err error) {
	tasks := make([][]byte, len(e.Tasks))
	for i, t := range e.Tasks {
		tasks[i] = encodeTask(t)
	}
	actor := thread.ActorFrom(ctx)
	err = s.write(ctx, true, func(t *tx) error {
		h, err := loadHead(t.conn, e.ThreadID)
		if err != nil {
			return err
		}
		if h.inflight() {
			return fmt.Errorf("thread %s: %w", e.ThreadID, thread.ErrBusy)
		}
		head, err := headOf(t.conn, h, e.NS)
		if err != nil {
			return err
		}
		if head != e.ExpectHead {
			return fmt.Errorf("head of %q is %q, not %q: %w", e.NS, head, e.ExpectHead, thread.ErrConflict)
		}
		h.do(actor, s.now())
		at, floor := micros(s.orNow(e.At)), h.head
		for i := range e.Checkpoints {
			if e.Checkpoints[i].ID <= floor {
				return fmt.Errorf("checkpoint %s is not above the head %s: %w", e.Checkpoints[i].ID, floor, thread.ErrConflict)
			}
		}
		for i := range e.Checkpoints {
			if err := putCheckpoint(t.conn, h, &e.Checkpoints[i], floor, at, thread.CauseEdit); err != nil {
				return err
			}
		}
		by := asker{now: at, cause: thread.CauseEdit, drafts: e.Reviews}
		for i := range e.Tasks {
			if err := putTask(t.conn, h.k, e.Tasks[i], tasks[i]); err != nil {
				return err
			}
			if err := raise(t.conn, h, &e.Tasks[i], &by); err != nil {
				return err
			}
		}
		if entries, err = h.tell(t.conn, e.Events); err != nil {
			return err
		}
		h.ended = true
		h.updated = at
		return h.save(t.conn)
	})
	return entries, err
}

// outsideRuns stands for the number of a run in log rows that belong to none.
const outsideRuns = 0

// tell appends events that belong to no run to the log. Nothing may be inflight.
func (h *head) tell(c *conn, events []agent.Event) ([]thread.Entry, error) {
	return h.append(c, outsideRuns, "", events)
}

// headOf is the id of the newest checkpoint of a namespace; "" for none.
func headOf(c *conn, h *head, ns string) (string, error) {
	if ns == "" {
		return h.head, nil
	}
	t, err := findCheckpoint(c, h, ns, "")
	if isNotFound(err) {
		return "", nil
	}
	return t.Record.ID, err
}
