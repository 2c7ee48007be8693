package thread

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// The actions of a cancel.
const (
	// CancelInterrupt ends the run and keeps what its finished supersteps left.
	CancelInterrupt = "interrupt"
	// CancelRollback removes the run with its checkpoints: the thread goes back to where it was before.
	CancelRollback = "rollback"
)

// callAction begins the actions by which a call of a run is armed; see ArmsCall.
const callAction = "call "

// ArmsCall reports whether an action of RequestCancel cancels nothing yet, but names the call of a model or tool with which
// the run's owner shall cancel it (InterruptExecution). What else it says is the service's business.
func ArmsCall(action string) bool { return strings.HasPrefix(action, callAction) }

// armAction arms a run's n-th call, over all its attempts, in the name of an actor.
func armAction(n int, a Actor) string {
	return callAction + strconv.Itoa(n) + " " + string(encodeJSON(a))
}

// armedBy undoes armAction; false for what arms nothing.
func armedBy(action string) (n int, a Actor, ok bool) {
	number, actor, ok := strings.Cut(strings.TrimPrefix(action, callAction), " ")
	if !ok || !ArmsCall(action) {
		return 0, a, false
	}
	n, err := strconv.Atoi(number)
	return n, a, err == nil && json.Unmarshal([]byte(actor), &a) == nil
}

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
