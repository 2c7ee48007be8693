package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
)

// errClosed is what every call gets once the store is closed.
var errClosed = errors.New("the store is closed")

// maxGroup bounds how many transitions share one commit, so that the first
// of them doesn't wait for ever.
const maxGroup = 256

// op is one transition on its way through the writer.
type op struct {
	run  func(*tx) error
	sync bool
	err  error
	done chan struct{}
	// after is called, with the group committed, in the order of the transitions.
	after []func()
}

var ops = sync.Pool{New: func() any { return &op{done: make(chan struct{}, 1)} }}

// tx is what a transition works on: the writer's connection inside a transaction.
// A transition checks everything before its first write, so that its refusal
// leaves nothing to undo; that makes a SAVEPOINT needless (which copies every
// page it protects). Should one fail behind its first write, the group is rolled
// back and each of its transitions runs again in a transaction of its own.
type tx struct {
	*conn
	op *op
}

// onCommit registers what has to happen once the transition is committed.
func (t *tx) onCommit(f func()) { t.op.after = append(t.op.after, f) }

// writer owns the one connection that writes. It drains its queue into one
// transaction, so that one fsync serves all that wait together.
type writer struct {
	c *conn
	// due is when the next claim is possible, in microseconds; 0 for never.
	due atomic.Int64

	mu     sync.Mutex
	queue  []*op
	closed bool
	wake   chan struct{}
	ended  chan struct{}

	full   bool // the connection's synchronous setting
	memory bool
	log    *slog.Logger
}

func newWriter(c *conn, memory bool, log *slog.Logger) (*writer, error) {
	w := &writer{c: c, memory: memory, log: log, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	if err := w.setFull(true); err != nil {
		return nil, err
	}
	if err := w.readDue(); err != nil {
		return nil, err
	}
	go w.loop()
	return w, nil
}

// do runs a transition and waits until it is committed, or refused. With sync
// set the group's commit is on the disk by then. It doesn't wait for ctx once
// the transition is under way: its outcome would be unknown.
func (w *writer) do(ctx context.Context, sync bool, run func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o := ops.Get().(*op)
	o.run, o.sync, o.err = run, sync, nil
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return errClosed
	}
	w.queue = append(w.queue, o)
	first := len(w.queue) == 1
	w.mu.Unlock()
	if first {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
	<-o.done
	err := o.err
	o.run = nil
	ops.Put(o)
	return err
}

func (w *writer) loop() {
	defer close(w.ended)
	var group []*op
	for {
		w.mu.Lock()
		for len(w.queue) == 0 {
			closed := w.closed
			w.mu.Unlock()
			if closed {
				return
			}
			<-w.wake
			w.mu.Lock()
		}
		n := min(len(w.queue), maxGroup)
		group = append(group[:0], w.queue[:n]...)
		rest := copy(w.queue, w.queue[n:])
		clear(w.queue[rest:])
		w.queue = w.queue[:rest]
		w.mu.Unlock()
		w.commit(group)
		for i, o := range group {
			group[i] = nil
			o.done <- struct{}{}
		}
	}
}

// close waits for the transitions under way; later ones are refused.
func (w *writer) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
	<-w.ended
	w.c.close()
}

// commit carries out a group.
func (w *writer) commit(group []*op) {
	full := false
	for _, o := range group {
		full = full || o.sync
	}
	if err := w.together(group, full); err != nil {
		for _, o := range group {
			o.after = o.after[:0]
			o.err = w.alone(o)
		}
	}
	for _, o := range group {
		if o.err == nil {
			for _, f := range o.after {
				f()
			}
		}
		clear(o.after)
		o.after = o.after[:0]
	}
	if err := w.readDue(); err != nil {
		w.log.Error("look for the next due run", "err", err)
		w.due.Store(1) // the next claim looks for itself
	}
}

// together runs a group in one transaction. An error says that nothing of it was
// stored, and that its members have to run one by one.
func (w *writer) together(group []*op, full bool) error {
	if err := w.begin(full); err != nil {
		return err
	}
	wrote := false
	for _, o := range group {
		w.c.wrote = false
		o.err = o.safely(w.c)
		if o.err != nil && w.c.wrote {
			return errors.Join(o.err, w.rollback())
		}
		wrote = wrote || w.c.wrote
	}
	if _, err := w.c.exec("COMMIT"); err != nil {
		return errors.Join(err, w.rollback())
	}
	return nil
}

// alone runs one transition in its own transaction.
func (w *writer) alone(o *op) error {
	if err := w.begin(o.sync); err != nil {
		return err
	}
	if err := o.safely(w.c); err != nil {
		return errors.Join(err, w.rollback())
	}
	if _, err := w.c.exec("COMMIT"); err != nil {
		return errors.Join(err, w.rollback())
	}
	return nil
}

// safely runs the transition; a panic in it becomes its error.
func (o *op) safely(c *conn) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.wrote = true
			err = fmt.Errorf("transition panicked: %v", p)
		}
	}()
	return o.run(&tx{conn: c, op: o})
}

func (w *writer) begin(full bool) error {
	if err := w.setFull(full); err != nil {
		return err
	}
	_, err := w.c.exec("BEGIN IMMEDIATE")
	return err
}

// rollback undoes the open transaction, if the library has not done so itself.
func (w *writer) rollback() error {
	if !w.c.inTransaction() {
		return nil
	}
	_, err := w.c.exec("ROLLBACK")
	return err
}

// setFull makes commits wait for the disk, or not. It can't be changed inside a transaction.
func (w *writer) setFull(full bool) error {
	if w.full == full || w.memory {
		return nil
	}
	mode := "NORMAL"
	if full {
		mode = "FULL"
	}
	if err := w.c.run("PRAGMA synchronous=" + mode); err != nil {
		return err
	}
	w.full = full
	return nil
}

func (w *writer) readDue() error {
	var due int64
	_, err := w.c.one(func(r *rows) { due = r.int(0) }, "SELECT min(due) FROM heads WHERE due IS NOT NULL")
	if err == nil {
		w.due.Store(due)
	}
	return err
}
