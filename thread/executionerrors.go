package thread

import "fmt"

// NotSuspendedError says that an execution waits for no decision.
type NotSuspendedError struct {
	ExecutionID string
	Status      ExecutionStatus
	// Decided is the review of the execution that was decided last; nil for none.
	Decided *Review
}

func (e *NotSuspendedError) Error() string {
	text := fmt.Sprintf("the execution %s is %s, not %s", e.ExecutionID, e.Status, ExecutionSuspended)
	if e.Decided != nil && e.Decided.Decided != nil {
		text += ": " + e.Decided.outcomeWords()
	}
	return text
}

// SeveralReviewsError says that an execution waits for several decisions, so that a flat one doesn't say which it is.
type SeveralReviewsError struct {
	ExecutionID string
	ReviewIDs   []string
}

func (e *SeveralReviewsError) Error() string {
	return fmt.Sprintf("the execution %s waits for %d reviews; decide each of them by its id", e.ExecutionID, len(e.ReviewIDs))
}

// SessionSuspendedError refuses an invocation because the session waits for decisions (decisions 19).
type SessionSuspendedError struct {
	SessionID string
	ReviewIDs []string
}

func (e *SessionSuspendedError) Error() string {
	return "the session " + e.SessionID + " waits for a decision; resume its execution, or interrupt it, first"
}

// SessionScopeError refuses an invocation of a session that another workspace began.
type SessionScopeError struct{ SessionID string }

func (e *SessionScopeError) Error() string {
	return "the session " + e.SessionID + " belongs to another workspace"
}
