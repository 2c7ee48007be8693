package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// superstepRun is a superstep under way.
type superstepRun struct {
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

func (l *loop) newSuperstep() *superstepRun {
	s := &superstepRun{l: l}
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
func (s *superstepRun) reuse(t *taskRun) bool {
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
func (s *superstepRun) showReused() {
	for _, t := range s.reused {
		if data := s.l.g.updateOf(t.before.Writes); data != nil && !t.planned.node.hidden() {
			s.l.event(UpdatesEmitted, UpdatesNote{Node: t.planned.node.name, Data: data, Cached: true})
		}
	}
}

// run runs the waiting tasks, as many at once as the run's configuration allows,
// and settles each as it ends.
func (s *superstepRun) run(ctx context.Context) {
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
	queue, limit := s.waiting, s.l.r.exec.Config.MaxConcurrency
	for {
		for len(queue) > 0 && (limit <= 0 || running < limit) {
			t := queue[0]
			queue = queue[1:]
			if len(s.errs) > 0 || ctx.Err() != nil {
				s.settle(ctx, t.skip(ctx), running+len(queue))
				continue
			}
			start(t)
		}
		if running == 0 {
			return
		}
		res := <-results
		running--
		if h := s.handler(res); h != nil {
			start(h)
		}
		good := len(s.errs) == 0
		s.settle(ctx, res, running+len(queue))
		if s.l.r.broken() != nil {
			cancel(context.Canceled)
		}
		if good && len(s.errs) > 0 && running > 0 {
			stop := expire(ctx, s.l.r.exec.Clock, s.l.g.errorGrace(), cancel, errAborted)
			defer stop()
		}
	}
}

// errAborted is the error of tasks that didn't end soon enough after another failed.
var errAborted = &NamedError{Name: "AbortError", Message: "Aborted because another task of the superstep failed"}

// ended says how the graph ends if the superstep can't be completed; nil if it can.
func (s *superstepRun) ended(ctx context.Context) *end {
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
func (s *superstepRun) showPartial() {
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
	return &aggregateError{message: strings.Join(messages, "; "), errs: errs}
}

// aggregateError holds the errors of several tasks of one superstep.
type aggregateError struct {
	message string
	errs    []error
}

func (e *aggregateError) Error() string     { return e.message }
func (e *aggregateError) ErrorName() string { return "AggregateError" }
func (e *aggregateError) Unwrap() []error   { return e.errs }

var errStepTimeout = errors.New("Abort") //nolint:staticcheck // the text that clients see

// limiter is a Clock that tells time limits from sleeps, as that of a test does whose
// sleeps take no time.
type limiter interface {
	Limit(ctx context.Context, d time.Duration) error
}

// expire calls cancel with cause after d; the function it returns ends the wait.
func expire(ctx context.Context, clock Clock, d time.Duration, cancel context.CancelCauseFunc, cause error) (stop func()) {
	ctx, end := context.WithCancel(ctx)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		wait := clock.Sleep
		if l, ok := clock.(limiter); ok {
			wait = l.Limit
		}
		if wait(ctx, d) == nil {
			cancel(cause)
		}
	}()
	return func() {
		end()
		<-gone
	}
}
