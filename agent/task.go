package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
)

// taskKind says how a task ended.
type taskKind uint8

const (
	taskDone taskKind = iota
	taskFailed
	taskSuspended // waits for a person
	taskStopped   // its nested graph stands at a breakpoint
	taskCutOff    // cancelled
	taskToParent  // spoke to the graph around its own
)

// taskRun is a task that is run, over all its attempts.
type taskRun struct {
	planned *plannedTask
	loop    *loop
	// before is the task's stored record; nil if it never ran.
	before  *TaskRecord
	journal journal
}

// mayHaveRun tells whether the store can hold something of the task: nested checkpoints, steps.
func (t *taskRun) mayHaveRun() bool { return t.loop.loaded }

// taskResult is what a task leaves.
type taskResult struct {
	run  *taskRun
	kind taskKind
	err  error // of taskFailed
	// handled is set when an error handler takes over.
	handled bool
	writes  []Write
	// returned is set when the node returned an update, be it empty.
	returned, cached bool
	// messages are the events of messages that the node returned.
	messages []Event
	// asked are all questions of the task, raised those without an answer; nested if a nested graph asks.
	asked, raised []InterruptInfo
	nested        bool
	// skipped is set when the task wasn't started.
	skipped bool
	command *Command // of taskToParent
	// pend is what nested graphs left to commit.
	pend Commit
}

// run runs the task, with retries, until its end.
func (t *taskRun) run(ctx context.Context) *taskResult {
	n := t.planned.node
	key, hit := t.cached()
	if hit != nil {
		return hit
	}
	policy := n.retry
	if policy == nil {
		policy = t.loop.g.retry
	}
	for attempt := 1; ; attempt++ {
		res := t.attempt(ctx, attempt)
		if res.kind == taskDone && key != "" && !slices.ContainsFunc(res.writes, func(w Write) bool { return isSealed(w.Channel) }) {
			t.loop.g.cache.put(key, res.writes, t.loop.r.exec.Clock.Now(), n.cacheTTL)
		}
		if res.kind != taskFailed || policy == nil || attempt >= policy.attempts() || !policy.retries(res.err) {
			return res
		}
		t.loop.r.commit(context.WithoutCancel(ctx), &res.pend)
		if t.loop.r.exec.Clock.Sleep(ctx, policy.pause(attempt, rand.Float64)) != nil {
			if t.cancelled(ctx) {
				res.kind = taskCutOff
			}
			return res
		}
	}
}

// cancelled tells whether the run was cancelled, rather than a time limit reached.
func (t *taskRun) cancelled(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return ctx.Err() != nil && !errors.Is(cause, errStepTimeout) && !errors.Is(cause, errAborted)
}

// skip is the result of a task that isn't started any more, because of ctx or
// because another one failed.
func (t *taskRun) skip(ctx context.Context) *taskResult {
	res := &taskResult{run: t, kind: taskFailed, err: errAborted, skipped: true}
	switch {
	case t.cancelled(ctx):
		res.kind = taskCutOff
	case ctx.Err() != nil:
		res.err = context.Cause(ctx)
	}
	return res
}

// attempt calls the node once.
func (t *taskRun) attempt(ctx context.Context, attempt int) *taskResult {
	n := t.planned.node
	callCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if n.timeout > 0 {
		stop := expire(callCtx, t.loop.r.exec.Clock, n.timeout, cancel, errNodeTimeout)
		defer stop()
	}
	tc := t.loop.context(callCtx, t, attempt)
	res := &taskResult{run: t}
	update, err := tc.call(n)
	if err == nil && callCtx.Err() != nil && ctx.Err() == nil {
		err = context.Cause(callCtx) // what comes too late is dropped
	}
	tc.close(res)
	if res.kind != taskDone { // suspended: whatever the node returned is thrown away
		return res
	}
	var up *parentCommand
	if errors.As(err, &up) { // a nested graph speaks to this one
		update, err = &Command{Update: up.cmd.Update, Goto: up.cmd.Goto}, nil
	}
	if err == nil {
		err = tc.finish(res, n, update)
	}
	switch {
	case err == nil:
		return res
	case t.cancelled(ctx):
		res.kind = taskCutOff
		return res
	case errors.Is(context.Cause(callCtx), errNodeTimeout):
		err = &timeoutError{name: "NodeTimeoutError", message: fmt.Sprintf("Node %q did not end within %s", n.name, n.timeout)}
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	res.kind, res.err = taskFailed, err
	return res
}

// timeoutError is a time limit that was reached; it is context.DeadlineExceeded, too.
type timeoutError struct{ name, message string }

func (e *timeoutError) Error() string     { return e.message }
func (e *timeoutError) ErrorName() string { return e.name }
func (e *timeoutError) Unwrap() error     { return context.DeadlineExceeded }

var errNodeTimeout = errors.New("agent: node timeout")

// call calls the node's function; a panic is an error.
func (c *taskContext) call(n *node) (update Update, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in node %q: %v", n.name, p)
			ReportPanic(c, p)
		}
	}()
	if n.name == Start { // a goto beside an input that waits
		return c.loop.given()
	}
	return n.run(c, c.loop.inputFor(c.planned))
}

// inputFor is input for concurrent tasks: the state was made when the tasks were started.
func (l *loop) inputFor(t *plannedTask) taskInput {
	if t.send != nil {
		return taskInput{raw: t.send}
	}
	return taskInput{state: l.view}
}

// finish turns what the node returned into writes and events.
func (c *taskContext) finish(res *taskResult, n *node, update Update) error {
	w := updateWriter{g: c.loop.g, taskID: c.planned.id, thread: c.exec.ThreadID}
	err := w.add(update)
	var up *parentCommand
	if errors.As(err, &up) {
		if c.loop.caller != nil {
			res.kind, res.command = taskToParent, up.cmd
		}
		return nil // at the root nobody listens (spec/runtime.md 1.15)
	}
	if err != nil {
		return err
	}
	edges, err := c.loop.g.edgeWrites(c, n, &w, c.loop.ch)
	if err != nil {
		return err
	}
	res.writes, res.returned = append(slices.Clip(w.writes), edges...), w.returned
	res.messages = c.returnedMessages(w.plain)
	return nil
}
