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
//
// A run that another process carries out is aborted by that one, within a second; a step of it that hasn't begun can be
// armed by a request to that process alone. Errors: *NotFoundError.
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
	if active.Cancel != "" {
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
	if step <= len(f.steps) {
		return InterruptNoop, nil
	}
	run := e.Runs[at]
	later := context.WithoutCancel(ctx)
	strike := func() {
		if err := s.CancelRun(later, run.ThreadID, run.ID, CancelInterrupt); err != nil {
			s.complain(later, "abort a call of run "+run.ID, err)
		}
	}
	switch {
	case run.Status == RunPending && here == nil:
		return s.pool.armLater(run.ID, armedCall{n: step - len(f.steps), strike: strike}), nil
	case here == nil:
		return InterruptElsewhere, nil
	}
	lost, err := s.callsBefore(ctx, run, here.recorder.began)
	if err != nil {
		return "", err
	}
	n := step - len(f.steps) - lost
	if n <= 0 {
		return InterruptNoop, nil
	}
	return here.recorder.arm(n, strike), nil
}

// callsBefore counts the calls that a run made, in the hands of earlier workers, before a position.
func (s *Service) callsBefore(ctx context.Context, run Run, pos int64) (int, error) {
	if run.Attempt <= 1 {
		return 0, nil
	}
	var c calls
	for after := int64(0); ; {
		entries, err := s.store.ReadRunLog(ctx, run.ThreadID, run.ID, after, stepsBatch)
		if err != nil {
			return 0, notFound(err, "run", run.ID)
		}
		for _, e := range entries {
			if e.Pos >= pos {
				return c.begun, nil
			}
			c.see(e.Event)
		}
		if len(entries) == 0 {
			return c.begun, nil
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

// armedCall is a run's n-th call, which strike aborts.
type armedCall struct {
	n      int
	strike func()
}

// mostArms bounds for how many runs an armed call is kept.
const mostArms = 10_000

// armLater arms a call of a run that waits, for the case that this process begins it.
func (p *pool) armLater(runID string, a armedCall) InterruptOutcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	old, armed := p.arms[runID]
	switch {
	case armed && old.n == a.n:
		return InterruptAlreadyArmed
	case !armed && len(p.arms) >= mostArms:
		return InterruptNoop
	}
	p.arms[runID] = a
	return InterruptArmed
}

// disarm takes what was armed of a run that begins, or never will.
func (p *pool) disarm(runID string) (a armedCall, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, ok = p.arms[runID]
	delete(p.arms, runID)
	return a, ok
}
