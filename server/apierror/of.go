package apierror

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
)

// Codes of failures that don't say more.
const (
	CodeInternal    = "UNEXPECTED_ERROR"
	CodeUnavailable = "UNAVAILABLE"
	CodeUnconfirmed = "UNCONFIRMED"
	CodeConflict    = "CONFLICT"
)

// statusGone is logged for requests whose client left; nobody reads it.
const statusGone = 499

// Of maps an error to what callers get: the table of spec/executions.md 5 and decisions 8.
func Of(err error) *Error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	if e := ofReview(err); e != nil {
		return e
	}
	if e := ofRequest(err); e != nil {
		return e
	}
	switch {
	case errors.Is(err, thread.ErrNotFound):
		return New(http.StatusNotFound, "RESOURCE_NOT_FOUND", "There is no such resource.")
	case errors.Is(err, thread.ErrExists):
		return New(http.StatusConflict, "RESOURCE_EXISTS", "It exists already.")
	case errors.Is(err, thread.ErrBusy):
		return New(http.StatusConflict, "SESSION_BUSY", "The session is carrying out another execution; wait for its end, or interrupt it.")
	case errors.Is(err, thread.ErrConflict):
		return New(http.StatusConflict, CodeConflict, "It changed while the request was handled; read it again and repeat.")
	case errors.Is(err, thread.ErrUnconfirmed):
		return away(CodeUnconfirmed, "The request was carried out, but isn't as durable yet as it has to be; repeat it for its result.")
	case errors.Is(err, thread.ErrUnavailable):
		return away(CodeUnavailable, "The data can't be reached; try again.")
	case errors.Is(err, context.Canceled):
		return New(statusGone, "CLIENT_GONE", "The client left.")
	}
	return New(http.StatusInternalServerError, CodeInternal, "Internal Server Error")
}

// away is the reply while the data can't be reached: callers are told when to try again.
func away(code, detail string) *Error {
	e := New(http.StatusServiceUnavailable, code, detail)
	e.Header = http.Header{"Retry-After": {"1"}}
	return e
}

// ofReview maps what is refused because of a review, or of the execution that waits for it.
func ofReview(err error) *Error {
	var (
		decision   *thread.DecisionError
		generation *thread.GenerationError
		closed     *thread.ReviewClosedError
		expired    *thread.ReviewExpiredError
		claimed    *thread.ClaimedError
		forbidden  *thread.MayNotDecideError
		before     *thread.DecidedBeforeError
		decided    *thread.AlreadyDecidedError
		idle       *thread.NotSuspendedError
		several    *thread.SeveralReviewsError
		suspended  *thread.SessionSuspendedError
		foreign    *thread.SessionScopeError
		sealed     *thread.SealedContextError
	)
	switch {
	case errors.As(err, &decision):
		return ofDecision(decision)
	case errors.As(err, &generation):
		return New(http.StatusConflict, "GENERATION_CHANGED", sentence(generation.Error()), generation.Current).
			With("suspend_generation", generation.Current)
	case errors.As(err, &closed):
		return New(http.StatusConflict, "REVIEW_CLOSED", sentence(closed.Error()), string(closed.Review.Status)).
			With("status", string(closed.Review.Status))
	case errors.As(err, &expired):
		return New(http.StatusConflict, "REVIEW_EXPIRED", sentence(expired.Error()), stamp(expired.At)).
			With("status", string(thread.ReviewExpired)).With("expired_at", stamp(expired.At))
	case errors.As(err, &claimed):
		return New(http.StatusConflict, "REVIEW_CLAIMED", sentence(claimed.Error()), claimed.Assignee).
			With("assignee", claimed.Assignee).With("claimed_until", stamp(claimed.Until))
	case errors.As(err, &forbidden):
		var refused *auth.Error
		if errors.As(forbidden.Err, &refused) {
			return ofAuth(refused)
		}
		return New(http.StatusForbidden, "MAY_NOT_DECIDE", sentence(forbidden.Err.Error()))
	case errors.As(err, &before):
		return ofResume(before.Refusal).With("decided", outcomeOf(before.Review))
	case errors.As(err, &decided):
		return ofDecided(decided)
	case errors.As(err, &idle):
		e := New(http.StatusConflict, "EXECUTION_NOT_SUSPENDED", sentence(idle.Error()), string(idle.Status)).With("status", string(idle.Status))
		if r := idle.Decided; r != nil && r.Decided != nil {
			e = e.With("decided", outcomeOf(*r))
		}
		return e
	case errors.As(err, &several):
		return New(http.StatusConflict, "SEVERAL_REVIEWS", sentence(several.Error()), anys(several.ReviewIDs)...).With("review_ids", several.ReviewIDs)
	case errors.As(err, &suspended):
		return New(http.StatusConflict, "SESSION_SUSPENDED", sentence(suspended.Error()), anys(suspended.ReviewIDs)...).
			With("status", string(thread.ExecutionSuspended)).With("review_ids", suspended.ReviewIDs)
	case errors.As(err, &sealed):
		return New(http.StatusServiceUnavailable, "CONTEXT_UNREADABLE", sentence(sealed.Error()))
	case errors.As(err, &foreign):
		return New(http.StatusConflict, "SESSION_OF_OTHER_WORKSPACE", sentence(foreign.Error()), foreign.SessionID)
	}
	return nil
}

// Decided tells who decided what, and when. By is null for nobody who said who they are, and for deadlines.
type Decided struct {
	By       *string `json:"by"`
	At       string  `json:"at"`
	Decision *string `json:"decision"`
	ReviewID string  `json:"review_id,omitempty"`
	Status   string  `json:"status,omitempty"`
}

// outcomeOf is how a review ended.
func outcomeOf(r thread.Review) Decided {
	o := r.Decided
	return Decided{By: nullable(o.By), At: stamp(o.At), Decision: nullable(o.Decision), ReviewID: r.ID, Status: string(r.Status)}
}

func ofDecided(e *thread.AlreadyDecidedError) *Error {
	d := Decided{By: nullable(e.Answer.By), At: stamp(e.Answer.At)}
	var flat struct {
		Decision string `json:"decision"`
		Type     string `json:"type"`
	}
	if json.Unmarshal(e.Answer.Value, &flat) == nil {
		if d.Decision = nullable(flat.Decision); d.Decision == nil {
			d.Decision = nullable(flat.Type)
		}
	}
	return New(http.StatusConflict, "ALREADY_DECIDED", sentence(e.Error())).With("decided", d).
		With("interrupt_id", e.InterruptID).With("answer", e.Answer.Value)
}

// ofDecision refuses a flat decision; the parameters name what is allowed.
func ofDecision(e *thread.DecisionError) *Error {
	field := "decision"
	if e.Code == thread.DecisionNeedsNotes || e.Code == thread.DecisionLongNotes {
		field = "reviewer_notes"
	}
	out := BadField(strings.ToUpper(e.Code), field, sentence(e.Message))
	out.Parameters = anys(e.Allowed)
	allowed := e.Allowed
	if allowed == nil {
		allowed = []string{}
	}
	return out.With("allowed_decisions", allowed)
}

// ofRequest maps what is wrong with a request or its caller.
func ofRequest(err error) *Error {
	var (
		refused  *auth.Error
		missing  *thread.NotFoundError
		resume   *agent.ResumeError
		command  *agent.InvalidCommandError
		input    *thread.InvalidInputError
		update   *agent.InvalidUpdateError
		empty    *agent.EmptyInputError
		noGraph  *thread.NoGraphError
		waits    *thread.InputWhileInterruptedError
		tooLarge *http.MaxBytesError
	)
	switch {
	case errors.As(err, &refused):
		return ofAuth(refused)
	case errors.As(err, &missing):
		return NotFound(missing.Kind, missing.ID)
	case errors.As(err, &resume):
		return ofResume(resume)
	case errors.As(err, &command):
		return New(http.StatusBadRequest, "INVALID_COMMAND", sentence(command.Error()), anys(command.Problems)...)
	case errors.As(err, &input):
		return BadField(CodeInvalid, strings.Join(input.Path, "."), sentence(input.Message))
	case errors.As(err, &update):
		return BadField(CodeInvalid, "input", sentence(update.Message))
	case errors.As(err, &empty):
		return BadField(CodeInvalid, "input", sentence(empty.Message))
	case errors.As(err, &noGraph):
		return New(http.StatusBadRequest, "NO_AGENT", sentence(noGraph.Error()))
	case errors.As(err, &waits):
		return New(http.StatusConflict, "SESSION_SUSPENDED", sentence(waits.Error())).With("status", string(thread.ExecutionSuspended))
	case errors.As(err, &tooLarge):
		return New(http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE", "The request's body is too large.", tooLarge.Limit)
	}
	return nil
}

// ofResume is decisions 8 in this form: an answer that its question doesn't take is a bad request.
func ofResume(e *agent.ResumeError) *Error {
	code := strings.ToUpper(e.Code)
	switch e.Code {
	case agent.AmbiguousResume, agent.EmptyCommand:
		return New(http.StatusBadRequest, code, sentence(e.Message), anys(e.IDs)...)
	case agent.InvalidAnswer:
		out := New(http.StatusBadRequest, code, sentence(e.Message), anys(e.IDs)...)
		for _, i := range e.Issues {
			out.Fields = append(out.Fields, Field{Description: i.Message, Field: "answer" + i.Path})
		}
		return out
	}
	return New(http.StatusConflict, code, sentence(e.Message), anys(e.IDs)...)
}

func ofAuth(e *auth.Error) *Error {
	code := strings.ToUpper(e.Code)
	switch {
	case code != "":
	case e.Status == http.StatusUnauthorized:
		code = "UNAUTHENTICATED"
	default:
		code = "FORBIDDEN"
	}
	return &Error{Status: e.Status, Code: code, Detail: sentence(e.Message), Header: e.Header}
}

// sentence makes a Go error's text one for people.
func sentence(s string) string {
	if s == "" {
		return s
	}
	s = strings.ToUpper(s[:1]) + s[1:]
	if !strings.ContainsAny(s[len(s)-1:], ".!?)") {
		s += "."
	}
	return s
}

func anys(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

func nullable(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
