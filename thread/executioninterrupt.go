package thread

import (
	"context"
	"slices"
)

// InterruptOutcome is what an interrupt of an execution did.
type InterruptOutcome string

// The outcomes (spec/executions.md 4).
const (
	InterruptAborted      InterruptOutcome = "aborted"             // the call in flight is aborted: the execution ends, cancelled
	InterruptArmed        InterruptOutcome = "armed"               // the call will be aborted as soon as it begins
	InterruptAlreadyArmed InterruptOutcome = "already_armed"       // it was asked for before
	InterruptTerminal     InterruptOutcome = "noop_terminal"       // the execution has ended
	InterruptElsewhere    InterruptOutcome = "in_flight_elsewhere" // another process carries the run out; see InterruptExecution
	InterruptNoop         InterruptOutcome = "noop"                // nothing is in flight, or not that call any more
)

// InterruptExecution aborts the call of a model or tool that an execution has in flight, and with it the execution,
// which ends as cancelled; the session takes the next invocation. With a step above 0 it aborts that step only
// (Step.Number): at once if it is in flight, which the next one is, too, while no other is; else as soon as it begins, in this run.
// Another step takes the place of one that was armed before.
//
// A run that another process carries out is aborted by that one, within a second. What is armed is stored with the run: it
// counts in every process that begins it or goes on with it. Errors: *NotFoundError.
func (s *Service) InterruptExecution(ctx context.Context, id string, step int) (InterruptOutcome, Execution, error) {
	e, err := s.Execution(ctx, id)
	if err != nil {
		return "", e, err
	}
	outcome, err := s.interrupt(ctx, e, step)
	if err != nil {
		return "", e, err
	}
	if outcome != InterruptTerminal {
		e, err = s.Execution(ctx, id)
	}
	return outcome, e, err
}

func (s *Service) interrupt(ctx context.Context, e Execution, step int) (InterruptOutcome, error) {
	switch {
	case e.Status.Ended():
		return InterruptTerminal, nil
	case e.Status == ExecutionSuspended:
		return InterruptNoop, nil
	}
	at := slices.IndexFunc(e.Runs, func(r Run) bool { return !r.Status.Ended() })
	active := e.Runs[at]
	if active.Cancel != "" && !ArmsCall(active.Cancel) {
		return InterruptAlreadyArmed, nil
	}
	here := s.pool.find(active.ID)
	if step > 0 {
		outcome, err := s.armStep(ctx, e, at, here, step)
		if err != nil || outcome != InterruptAborted {
			return outcome, err
		}
	}
	for _, run := range slices.Backward(e.Runs[at:]) { // what waits behind it first
		if run.Status.Ended() {
			continue
		}
		if err := s.CancelRun(ctx, run.ThreadID, run.ID, CancelInterrupt); err != nil {
			return "", err
		}
	}
	if active.Status == RunRunning && here == nil && s.pool.find(active.ID) == nil {
		return InterruptElsewhere, nil
	}
	return InterruptAborted, nil
}

// armStep arms a step of the active run; InterruptAborted asks for it to be aborted at once.
func (s *Service) armStep(ctx context.Context, e Execution, at int, here *active, step int) (InterruptOutcome, error) {
	var f stepFold
	for _, run := range e.Runs[:at] {
		if err := s.foldRun(ctx, &f, run); err != nil {
			return "", err
		}
	}
	run, n := e.Runs[at], step-len(f.steps) // of the run's calls
	if n <= 0 {
		return InterruptNoop, nil
	}
	action := armAction(n, ActorFrom(ctx))
	switch {
	case here != nil:
		s.pool.hears(here, action)
		if outcome, err := s.armCall(ctx, here, action); err != nil || outcome != InterruptArmed {
			return outcome, err
		}
	case run.Status == RunRunning: // what its process knows, its log tells a moment later
		if err := s.foldRun(ctx, &f, run); err != nil {
			return "", err
		}
		if step <= len(f.steps) && f.steps[step-1].EndedAt.IsZero() {
			return InterruptAborted, nil
		}
		if step <= len(f.steps) {
			return InterruptNoop, nil
		}
	}
	if old, _, armed := armedBy(run.Cancel); armed && old == n {
		return InterruptAlreadyArmed, nil
	}
	after, _, err := s.store.RequestCancel(ctx, run.ThreadID, run.ID, action, s.clock.Now())
	switch {
	case err != nil:
		return "", notFound(err, "run", run.ID)
	case after.Status.Ended():
		return InterruptNoop, nil
	case !ArmsCall(after.Cancel): // a cancel was faster
		return InterruptAlreadyArmed, nil
	}
	s.pool.cancel(run.ID, after.Cancel) // it may have begun here meanwhile
	return InterruptArmed, nil
}

// armCall has a call of a run of this process aborted as soon as it begins, as the action says. InterruptAborted tells
// that it is in flight already.
func (s *Service) armCall(ctx context.Context, a *active, action string) (InterruptOutcome, error) {
	n, by, ok := armedBy(action)
	if !ok {
		return InterruptNoop, nil
	}
	lost, err := s.callsBefore(ctx, a.run, a.recorder.began)
	if err != nil {
		return "", err
	}
	if n -= lost; n <= 0 {
		return InterruptNoop, nil
	}
	later := WithActor(context.WithoutCancel(ctx), by)
	return a.recorder.arm(n, func() { s.strike(later, a.run) }), nil
}

// strike aborts what a run has in flight.
func (s *Service) strike(ctx context.Context, run Run) {
	if err := s.CancelRun(ctx, run.ThreadID, run.ID, CancelInterrupt); err != nil {
		s.complain(ctx, "abort a call of run "+run.ID, err)
	}
}

// callsBefore counts the calls that a run made, in the hands of earlier workers, before a position.
func (s *Service) callsBefore(ctx context.Context, run Run, pos int64) (int, error) {
	if run.Attempt <= 1 {
		return 0, nil
	}
	var f stepFold
	f.run(run.ID)
	for after := int64(0); ; {
		entries, err := s.store.ReadRunLog(ctx, run.ThreadID, run.ID, after, stepsBatch)
		if err != nil {
			return 0, notFound(err, "run", run.ID)
		}
		for _, e := range entries {
			if e.Pos >= pos {
				return len(f.steps), nil
			}
			f.see(e.Event)
		}
		if len(entries) == 0 {
			return len(f.steps), nil
		}
		after = entries[len(entries)-1].Pos
	}
}

// find is a run that this process carries out; nil for any other.
func (p *pool) find(runID string) *active {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running[runID]
}

// hears notes what a run was last told to be armed; false when it has been told before.
func (p *pool) hears(a *active, action string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	news := a.armed != action
	a.armed = action
	return news
}

// arm arms a call of a run as another process, or a moment ago this one, was asked to. It doesn't wait for that.
func (p *pool) arm(a *active, action string) {
	if !p.hears(a, action) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.started {
		return
	}
	p.wg.Add(1)
	go func() {
		defer p.wg.Done()
		p.armNow(p.ctx, a, action)
	}()
}

// armNow is arm, done when it returns.
func (p *pool) armNow(ctx context.Context, a *active, action string) {
	switch outcome, err := p.s.armCall(ctx, a, action); {
	case err != nil:
		p.s.complain(ctx, "arm a call of run "+a.run.ID, err)
		p.hears(a, "") // and tried again with the next renewal
	case outcome == InterruptAborted:
		_, by, _ := armedBy(action)
		p.s.strike(WithActor(context.WithoutCancel(ctx), by), a.run)
	}
}
