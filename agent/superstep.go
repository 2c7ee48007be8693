package agent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

// superstep carries out the tasks that the checkpoint starts and makes the next
// checkpoint. It returns how the graph ended, or nil when it goes on.
func (l *loop) superstep(ctx context.Context) *end {
	if len(l.tasks) == 0 {
		return &end{kind: endFinished}
	}
	if l.tasks[0].node.name == Start {
		return l.enter(ctx, &l.tasks[0])
	}
	if ctx.Err() != nil {
		return l.cutOff()
	}
	limit := l.r.exec.Config.RecursionLimit
	if limit <= 0 {
		limit = DefaultRecursionLimit
	}
	if l.steps >= limit {
		return failed(&RecursionError{Limit: limit})
	}
	s := l.newStep()
	if len(s.waiting) > 0 {
		s.showReused()
		if l.breaksAt(slices.Concat(l.g.interruptBefore, l.atRoot(l.r.exec.InterruptBefore)), l.tasks) {
			return &end{kind: endStopped}
		}
		for i := range l.tasks {
			l.started(&l.tasks[i])
		}
		l.state()
		l.r.commit(context.WithoutCancel(ctx), &l.pend)
		if l.r.broken() != nil {
			return &end{kind: endCancelled}
		}
		l.steps++
		s.run(ctx)
	}
	if e := s.ended(ctx); e != nil {
		return e
	}
	next, err := s.all()
	if err != nil {
		return failed(err)
	}
	return l.complete(s.done, next)
}

// atRoot returns breakpoints of the run, which are meant for the root graph.
func (l *loop) atRoot(names []string) []string {
	if l.ns != "" {
		return nil
	}
	return names
}

// breaksAt tells whether a static breakpoint stops the graph (spec/runtime.md
// 2.7): one of the tasks is listed, and something changed since the last stop.
func (l *loop) breaksAt(names []string, tasks []plannedTask) bool {
	if len(names) == 0 {
		return false
	}
	seen := l.ch.seen[breakpointSeen]
	changed := false
	for name, ch := range l.ch.values {
		changed = changed || ch.Version > seen[name]
	}
	return changed && slices.ContainsFunc(tasks, func(t plannedTask) bool {
		return slices.Contains(names, t.node.name) || !t.node.hidden() && slices.Contains(names, "*")
	})
}

// complete makes the checkpoint after a superstep. next are the channels with the results applied.
func (l *loop) complete(done []taskWrites, next *channels) *end {
	ran := l.tasks
	l.ch = next
	l.advance(SourceLoop, nil)
	l.announce(l.wrote(done))
	if len(l.tasks) > 0 && l.breaksAt(slices.Concat(l.g.interruptAfter, l.atRoot(l.r.exec.InterruptAfter)), ran) {
		return &end{kind: endStopped}
	}
	return nil
}

// wrote tells whether a state key was written.
func (l *loop) wrote(done []taskWrites) bool {
	for _, t := range done {
		for _, w := range t.writes {
			if spec := l.g.specs[w.Channel]; spec != nil && spec.state {
				return true
			}
		}
	}
	return false
}

// enter runs the hidden node __start__, which hands the input to the state keys.
func (l *loop) enter(ctx context.Context, t *plannedTask) *end {
	var input map[string]json.RawMessage
	v := l.ch.values[Start].Value
	if v == nil || json.Unmarshal(v.JSON, &input) != nil {
		return failed(&InvalidUpdateError{Message: "The input of a graph must be an object."})
	}
	values := Values{}
	for k, raw := range input {
		if spec := l.g.specs[k]; spec != nil && spec.state && spec.notInput {
			continue
		}
		values[k] = raw
	}
	tc := l.context(ctx, &taskRun{planned: t, loop: l}, 1)
	writes, err := l.g.writersOf(tc, t.node, values, l.ch, t.id)
	done := []taskWrites{t.writesOf(writes)}
	var next *channels
	if err == nil {
		next, err = l.ch.applied(done)
	}
	if err != nil {
		l.record(t, TaskRecord{Status: TaskFailed, Error: ErrorInfoOf(err)})
		return failed(err)
	}
	l.record(t, TaskRecord{Status: TaskDone, Writes: l.kept(writes)})
	return l.complete(done, next)
}

// record adds a task's record to the next commit.
func (l *loop) record(t *plannedTask, rec TaskRecord) {
	rec.NS, rec.CheckpointID, rec.TaskID, rec.Name, rec.Path = l.ns, l.cp.ID, t.id, t.node.name, t.path
	l.pend.Tasks = append(l.pend.Tasks, rec)
}

// kept leaves out writes to keys that are never stored.
func (l *loop) kept(writes []Write) []Write {
	if !slices.ContainsFunc(writes, func(w Write) bool { return l.g.specs[w.Channel] != nil && l.g.specs[w.Channel].kind == kindUntracked }) {
		return writes
	}
	return slices.DeleteFunc(slices.Clone(writes), func(w Write) bool {
		return l.g.specs[w.Channel] != nil && l.g.specs[w.Channel].kind == kindUntracked
	})
}

// cutOff ends a cancelled graph before its tasks ran.
func (l *loop) cutOff() *end {
	for i := range l.tasks {
		t := &l.tasks[i]
		if rec, ok := l.records[t.id]; ok && rec.Status != TaskCancelled && rec.Status != "" {
			continue
		}
		l.record(t, TaskRecord{Status: TaskCancelled, Error: cancelledError})
	}
	return &end{kind: endCancelled}
}

// cancelledError is what the record of a task says that a cancel cut off.
var cancelledError = &ErrorInfo{Name: "CancelledError", Message: "Run was cancelled"}

// step is a superstep under way.
type step struct {
	l *loop
	// done holds the results that are known, reused ones included; doneTasks their tasks.
	done      []taskWrites
	doneTasks []doneTask
	// next are the channels with all results applied; trial those with the results so
	// far, in the order in which the tasks ended. writers are the writes that must stay alone.
	next, trial *channels
	writers     map[string]write
	// reused are tasks with a stored result, waiting those to be run.
	reused, waiting []*taskRun
	// How the tasks ended that aren't done.
	errs                         []error
	raised                       []InterruptInfo
	suspended, stopped, cutShort bool
	toParent                     *Command
}

func (l *loop) newStep() *step {
	s := &step{l: l}
	for i := range l.tasks {
		t := &taskRun{planned: &l.tasks[i], loop: l}
		rec, ok := l.records[t.planned.id]
		if ok {
			t.before = &rec
		}
		if ok && rec.Status == TaskDone && s.reuse(t) {
			continue
		}
		if ok && rec.Status == TaskFailed && t.planned.node.onError != "" && rec.Error != nil {
			t = l.handlerOf(t, rec.Error) // only the handler runs again
		}
		s.waiting = append(s.waiting, t)
	}
	return s
}

// reuse hands back a task's stored result, unless it can't be applied any more
// because the graph has changed: then the task runs again.
func (s *step) reuse(t *taskRun) bool {
	n := len(s.done)
	s.add(t.planned, t.before.Writes, t.before.Interrupts)
	s.reuseHandler(t)
	if s.try(t.planned, t.before.Writes, false) != nil {
		s.done, s.doneTasks = s.done[:n], s.doneTasks[:n]
		return false
	}
	s.reused = append(s.reused, t)
	return true
}

// showReused reports results that are handed back from an earlier run.
func (s *step) showReused() {
	for _, t := range s.reused {
		if data := s.l.g.updateOf(t.before.Writes); data != nil && !t.planned.node.hidden() {
			s.l.event(UpdatesEmitted, UpdatesNote{Node: t.planned.node.name, Data: data, Cached: true})
		}
	}
}

// run runs the waiting tasks and settles each as it ends.
func (s *step) run(ctx context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if d := s.l.g.stepTimeout; d > 0 {
		stop := expire(ctx, s.l.r.exec.Clock, d, cancel, errStepTimeout)
		defer stop()
	}
	results := make(chan *taskResult)
	running := 0
	start := func(t *taskRun) {
		running++
		go func() { results <- t.run(ctx) }()
	}
	if len(s.waiting) == 1 { // the usual case needs no goroutine
		res := s.waiting[0].run(ctx)
		if h := s.handler(res); h != nil {
			s.settle(ctx, res, 1)
			res = h.run(ctx)
		}
		s.settle(ctx, res, 0)
		return
	}
	for _, t := range s.waiting {
		start(t)
	}
	for running > 0 {
		res := <-results
		running--
		if h := s.handler(res); h != nil {
			start(h)
		}
		s.settle(ctx, res, running)
		if s.l.r.broken() != nil {
			cancel(context.Canceled)
		}
	}
}

// ended says how the graph ends if the superstep can't be completed; nil if it can.
func (s *step) ended(ctx context.Context) *end {
	switch {
	case s.l.r.broken() != nil:
		return &end{kind: endCancelled}
	case s.cutShort:
		return &end{kind: endCancelled}
	case len(s.errs) > 0:
		return failed(joinErrors(s.errs))
	case s.toParent != nil:
		return &end{kind: endToParent, command: s.toParent}
	case s.suspended || s.stopped:
		s.showPartial()
		if s.suspended {
			return &end{kind: endSuspended, raised: s.raised}
		}
		return &end{kind: endStopped}
	}
	return nil
}

// showPartial shows the state with the results of the tasks that are done, when
// others wait for a person (spec/streaming-protocol.md 3.12 E).
func (s *step) showPartial() {
	if !s.l.wrote(s.done) {
		return
	}
	if ch, err := s.l.ch.applied(s.done); err == nil {
		s.l.values(ch.state(s.l.g.keys), true)
	}
}

// joinErrors is the error of a superstep in which tasks failed.
func joinErrors(errs []error) error {
	if len(errs) == 1 || !slices.ContainsFunc(errs, func(err error) bool { return !errors.Is(err, errStepTimeout) }) {
		return errs[0]
	}
	messages := make([]string, len(errs))
	for i, err := range errs {
		messages[i] = err.Error()
	}
	return &aggregateError{NamedError: NamedError{Name: "AggregateError", Message: strings.Join(messages, "; ")}, errs: errs}
}

// aggregateError holds the errors of several tasks of one superstep.
type aggregateError struct {
	NamedError
	errs []error
}

// ErrorName implements the name that clients see.
func (e *aggregateError) ErrorName() string { return e.Name }

var errStepTimeout = errors.New("Abort") //nolint:staticcheck // the text that clients see

// expire calls cancel with cause after d; the function it returns ends the wait.
func expire(ctx context.Context, clock Clock, d time.Duration, cancel context.CancelCauseFunc, cause error) (stop func()) {
	ctx, end := context.WithCancel(ctx)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if clock.Sleep(ctx, d) == nil {
			cancel(cause)
		}
	}()
	return func() {
		end()
		<-gone
	}
}
