package thread

import (
	"context"
	"fmt"
)

// The actions of a cancel.
const (
	// CancelInterrupt ends the run and keeps what its finished supersteps left.
	CancelInterrupt = "interrupt"
	// CancelRollback removes the run with its checkpoints: the thread goes back to where it was before.
	CancelRollback = "rollback"
)

// CancelRun asks for a cancel with action interrupt or rollback; it is durable
// when it returns: a queued run never starts, a running one is stopped by its
// worker. A finished run is left alone. Errors: *NotFoundError, *InvalidInputError.
func (s *Service) CancelRun(ctx context.Context, threadID, runID, action string) error {
	if action != CancelInterrupt && action != CancelRollback {
		return &InvalidInputError{Path: []string{"action"}, Message: fmt.Sprintf("unknown cancel action %q", action)}
	}
	run, err := s.GetRun(ctx, threadID, runID)
	if err != nil || run.Status.Ended() {
		return err
	}
	after, told, err := s.store.RequestCancel(ctx, threadID, runID, action, s.clock.Now())
	if err != nil {
		return notFound(err, "run", runID)
	}
	s.tell(threadID, told)
	s.cancelled(after)
	return nil
}

// tell publishes what a transition told the log.
func (s *Service) tell(threadID string, told []Entry) {
	if len(told) > 0 {
		s.publish.Publish(threadID, told)
	}
}

// cancelled acts on a run that the store has marked or ended.
func (s *Service) cancelled(run Run) {
	s.answered(run) // questions that it asked may be dropped with it
	if run.Status == RunRunning {
		s.pool.cancel(run.ID, run.Cancel)
		return
	}
	// It never started, or it ended before the cancel came; readers of its stream wait for the word.
	s.ended(run.ThreadID, run.ID)
	if run.Kwargs.Webhook != "" {
		s.outbox.wake()
	}
	s.pool.wake()
}

// cancelCause is why a running run's context ends.
type cancelCause struct{ action string }

func (c *cancelCause) Error() string { return "run was cancelled (" + c.action + ")" }
