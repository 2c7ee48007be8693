package thread

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/parley-dev/parley/agent"
)

// ReviewClosedError says that a review can't be changed or decided any more. Review says how it ended.
type ReviewClosedError struct{ Review Review }

func (e *ReviewClosedError) Error() string {
	return e.Review.outcomeWords()
}

// DecidedBeforeError refuses an answer that named no question, as Refusal says, and tells how the
// last question of the thread ended: that is whose answer was faster.
type DecidedBeforeError struct {
	Refusal *agent.ResumeError
	// Review is decided or expired.
	Review Review
}

func (e *DecidedBeforeError) Error() string {
	return e.Refusal.Error() + ": " + e.Review.outcomeWords()
}

func (e *DecidedBeforeError) Unwrap() error { return e.Refusal }

// GenerationError says that the caller saw an earlier suspension than the present one.
type GenerationError struct{ Given, Current int64 }

func (e *GenerationError) Error() string {
	return fmt.Sprintf("the decision was made for generation %d; the current one is %d", e.Given, e.Current)
}

// Unwrap makes errors.Is(err, ErrConflict) true.
func (e *GenerationError) Unwrap() error { return ErrConflict }

// The codes of DecisionError.
const (
	DecisionMissing    = "decision_missing"     // no decision was given
	DecisionNotAllowed = "decision_not_allowed" // it isn't among Allowed
	DecisionNotCommon  = "no_common_decision"   // no decision is allowed for every tool call (decisions 14)
	DecisionNeedsNotes = "notes_missing"        // respond answers with the notes
	DecisionLongNotes  = "notes_too_long"       // they have more than LongestNotes
	DecisionNeedsMore  = "answer_needed"        // edit and the like: the decision alone doesn't say enough
)

// DecisionError refuses a flat decision.
type DecisionError struct {
	Code     string
	Decision string
	// Allowed are the review's decisions.
	Allowed []string
	Message string
}

func (e *DecisionError) Error() string { return e.Message }

// MayNotDecideError says that the caller is not allowed to answer the question of a review.
type MayNotDecideError struct {
	ReviewID    string
	InterruptID string
	// Err is what Options.MayDecide returned.
	Err error
}

func (e *MayNotDecideError) Error() string {
	return "not allowed to decide on review " + e.ReviewID + ": " + e.Err.Error()
}

func (e *MayNotDecideError) Unwrap() error { return e.Err }

func notAllowed(decision string, allowed []string) *DecisionError {
	quoted := make([]string, len(allowed))
	for i, a := range allowed {
		quoted[i] = strconv.Quote(a)
	}
	return &DecisionError{
		Code: DecisionNotAllowed, Decision: decision, Allowed: allowed,
		Message: fmt.Sprintf("the decision %q is not allowed; allowed are %s", decision, strings.Join(quoted, ", ")),
	}
}
