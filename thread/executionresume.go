package thread

import (
	"context"
	"errors"

	"github.com/parley-dev/parley/agent"
)

// ExecutionDecision is a flat decision on what an execution waits for (spec/executions.md 5). Who decides is the
// actor of the context.
type ExecutionDecision struct {
	ExecutionID string
	Decision    string
	Notes       string
	// Generation, when above 0, is that of the suspension that the reviewer saw.
	Generation int64
	// IdempotencyKey makes the decision repeatable.
	IdempotencyKey string
	// Run completes the run that goes on; see ReviewDecision.
	Run StartRun
}

// ResumeExecution decides the one review that an execution waits for, by DecideReview, and returns the execution as
// it is then. The same decision again of the same principal is a repeat, until something else was asked. Errors: those of
// DecideReview (*NotFoundError of kind execution), *NotSuspendedError, *SeveralReviewsError.
func (s *Service) ResumeExecution(ctx context.Context, d ExecutionDecision) (e Execution, repeat bool, err error) {
	if e, err = s.Execution(ctx, d.ExecutionID); err != nil {
		return e, false, err
	}
	key := ""
	if d.IdempotencyKey != "" {
		key = "resume " + d.ExecutionID + " " + d.IdempotencyKey
		run, ok, err := s.runOfKey(ctx, e.ThreadID, ActorFrom(ctx).Principal, key)
		if err != nil {
			return e, false, err
		}
		if ok && run.ExecutionID == e.ID {
			return e, true, nil
		}
	}
	open := e.Open()
	var about Review
	switch {
	case len(open) > 1:
		several := &SeveralReviewsError{ExecutionID: e.ID}
		for _, r := range open {
			several.ReviewIDs = append(several.ReviewIDs, r.ID)
		}
		return e, false, several
	case len(open) == 1:
		about = open[0]
	default: // only a repeat can be good
		last := e.LastDecided()
		if last == nil {
			return e, false, s.notSuspended(ctx, e)
		}
		about = *last
	}
	started, _, err := s.DecideReview(ctx, ReviewDecision{
		ReviewID: about.ID, Decision: d.Decision, Notes: d.Notes, Generation: d.Generation, IdempotencyKey: key, RespectClaims: true, Run: d.Run,
	})
	if err != nil {
		return e, false, s.notResumed(ctx, e, len(open) == 1, err)
	}
	if e, err = s.Execution(ctx, e.ID); err != nil {
		return e, false, err
	}
	return e, started.Repeat, nil
}

// notResumed words the refusal of a decision. waited says that the execution was suspended when the decision came.
func (s *Service) notResumed(ctx context.Context, e Execution, waited bool, refusal error) error {
	var (
		generation *GenerationError
		forbidden  *MayNotDecideError
		decided    *AlreadyDecidedError
		closed     *ReviewClosedError
		expired    *ReviewExpiredError
		resume     *agent.ResumeError
	)
	switch {
	case errors.As(refusal, &generation), errors.As(refusal, &forbidden):
		return refusal
	case !waited, errors.As(refusal, &decided), errors.As(refusal, &closed),
		errors.As(refusal, &resume) && (resume.Code == agent.InterruptNotPending || resume.Code == agent.NothingPending):
		if isFault(refusal) {
			return refusal
		}
		return s.notSuspended(ctx, e)
	case errors.As(refusal, &expired):
		return refusal
	}
	return refusal
}

// isFault reports whether an error says nothing of the decision.
func isFault(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUnconfirmed) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// notSuspended says what the execution is instead, and who decided what.
func (s *Service) notSuspended(ctx context.Context, e Execution) error {
	now, err := s.Execution(ctx, e.ID)
	if err != nil {
		return err
	}
	return &NotSuspendedError{ExecutionID: now.ID, Status: now.Status, Decided: now.LastDecided()}
}
