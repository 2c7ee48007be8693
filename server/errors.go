package server

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
)

// textError is a failure with a plain text body: clients show the text, and
// tests match it, so it must not be wrapped in JSON (spec/rest-api.md 1.6).
type textError struct {
	status int
	text   string
}

func (e *textError) Error() string { return e.text }

// Texts of failures that several handlers share.
const (
	textBusyRun   = "Thread is already running a task. Wait for it to finish or choose a different multitask strategy."
	textBusyState = "Thread is busy"
	textNotFound  = "404 Not Found"
)

var (
	errMalformed    = &textError{http.StatusBadRequest, "Malformed JSON in request body"}
	errTooLarge     = &textError{http.StatusRequestEntityTooLarge, "Request body too large"}
	errTooSlow      = &textError{http.StatusRequestTimeout, "Request body came too slowly"}
	errRoute        = &textError{http.StatusNotFound, textNotFound}
	errRunNotFound  = &textError{http.StatusNotFound, "Run not found"}
	errShuttingDown = &textError{http.StatusServiceUnavailable, "Server is shutting down"}
)

// issue is one fault of a request, in the form that clients of this API know.
type issue struct {
	Code     string `json:"code"`
	Expected string `json:"expected,omitempty"`
	Received string `json:"received,omitempty"`
	// Keys are those that a strict object doesn't have.
	Keys    []string `json:"keys,omitempty"`
	Message string   `json:"message"`
	Path    []any    `json:"path"`
}

// validationError is a request that does not fit its schema.
type validationError struct{ issues []issue }

func (e *validationError) Error() string { return "invalid request: " + e.issues[0].Message }

// invalid returns a validationError with one issue.
func invalid(message string, path ...any) *validationError {
	if path == nil {
		path = []any{}
	}
	return &validationError{[]issue{{Code: "custom", Message: message, Path: path}}}
}

// codeError is a failure with a machine-readable code: the rows of decisions 8.
type codeError struct {
	status int
	body   any
}

func (e *codeError) Error() string { return http.StatusText(e.status) }

type coded struct {
	Error   string `json:"error"`
	Message string `json:"message"`
}

// handleError is echo's error handler and the one place where errors become replies.
func (s *Server) handleError(err error, c echo.Context) {
	if c.Response().Committed {
		// A reply is under way: no status can change any more. Cutting the
		// connection tells the client that it is incomplete.
		s.log.LogAttrs(c.Request().Context(), slog.LevelWarn, "request failed after its reply had begun",
			slog.String("path", c.Request().URL.Path), slog.Any("error", err))
		panic(http.ErrAbortHandler)
	}
	reply := failure(c.Request(), err)
	if reply.status >= http.StatusInternalServerError {
		s.log.LogAttrs(c.Request().Context(), slog.LevelError, "request failed",
			slog.String("method", c.Request().Method), slog.String("path", c.Request().URL.Path), slog.Any("error", err))
	}
	for k, v := range reply.header {
		c.Response().Header()[k] = v
	}
	if reply.json != nil {
		err = writeJSON(c, reply.status, reply.json)
	} else {
		err = c.Blob(reply.status, "text/plain;charset=UTF-8", []byte(reply.text))
	}
	if err != nil {
		s.log.Debug("reply not delivered", "error", err)
	}
}

// reply is a failure on the wire: a text, or a JSON value.
type reply struct {
	status int
	text   string
	json   any
	header http.Header
}

// statusClientGone is logged for requests whose client left; nobody reads it.
const statusClientGone = 499

// replyOf maps an error to its status and body (spec/rest-api.md 1.6, decisions 8).
func replyOf(err error) reply {
	var (
		text       *textError
		validation *validationError
		code       *codeError
		refused    *auth.Error
		missing    *thread.NotFoundError
		resume     *agent.ResumeError
		before     *thread.DecidedBeforeError
		decided    *thread.AlreadyDecidedError
		late       *thread.ReviewExpiredError
		claimed    *thread.ClaimedError
		sealed     *thread.SealedContextError
		command    *agent.InvalidCommandError
		input      *thread.InvalidInputError
		update     *agent.InvalidUpdateError
		noGraph    *thread.NoGraphError
		waits      *thread.InputWhileInterruptedError
		tooLarge   *http.MaxBytesError
		routing    *echo.HTTPError
	)
	switch {
	case errors.As(err, &text):
		return reply{status: text.status, text: text.text}
	case errors.As(err, &validation):
		return reply{status: http.StatusBadRequest, json: validationBody(validation.issues)}
	case errors.As(err, &code):
		return reply{status: code.status, json: code.body}
	case errors.As(err, &refused):
		return reply{status: refused.Status, text: refused.Message, header: refused.Header}
	case errors.As(err, &missing):
		return reply{status: http.StatusNotFound, text: missingText(missing)}
	case errors.As(err, &before):
		return beforeReply(before)
	case errors.As(err, &resume):
		return resumeReply(resume)
	case errors.As(err, &decided):
		return decidedReply(decided)
	case errors.As(err, &late):
		return reply{status: http.StatusConflict, json: struct {
			coded
			InterruptID string `json:"interrupt_id"`
			ExpiredAt   string `json:"expired_at"`
		}{coded{"review_expired", late.Error()}, late.InterruptID, timestamp(late.At)}}
	case errors.As(err, &claimed):
		return reply{status: http.StatusConflict, json: struct {
			coded
			InterruptID string `json:"interrupt_id"`
			Assignee    string `json:"assignee"`
		}{coded{"review_claimed", claimed.Error()}, claimed.InterruptID, claimed.Assignee}}
	case errors.As(err, &sealed):
		return reply{status: http.StatusServiceUnavailable, json: coded{"context_unreadable", sealed.Error()}}
	case errors.As(err, &command):
		return reply{status: http.StatusUnprocessableEntity, json: struct {
			coded
			Problems []string `json:"problems"`
		}{coded{"invalid_command", command.Error()}, command.Problems}}
	case errors.As(err, &input):
		path := make([]any, len(input.Path))
		for i, p := range input.Path {
			path[i] = p
		}
		return reply{status: http.StatusBadRequest, json: validationBody(invalid(input.Message, path...).issues)}
	case errors.As(err, &update):
		return reply{status: http.StatusBadRequest, text: update.Message}
	case errors.As(err, &noGraph):
		return reply{status: http.StatusBadRequest, text: noGraph.Error()}
	case errors.As(err, &waits):
		return resumeReply(&agent.ResumeError{Code: "interrupted", Message: waits.Error(), Pending: waits.Pending})
	case errors.As(err, &tooLarge):
		return reply{status: errTooLarge.status, text: errTooLarge.text}
	case errors.As(err, &routing):
		if routing.Code == http.StatusNotFound || routing.Code == http.StatusMethodNotAllowed {
			return reply{status: http.StatusNotFound, text: textNotFound}
		}
		return reply{status: routing.Code, text: routingText(routing)}
	case errors.Is(err, thread.ErrNotFound):
		return reply{status: http.StatusNotFound, text: "Not found"}
	case errors.Is(err, thread.ErrExists):
		return reply{status: http.StatusConflict, text: "Already exists"}
	case errors.Is(err, thread.ErrBusy):
		return reply{status: http.StatusConflict, text: textBusyState}
	case errors.Is(err, thread.ErrConflict):
		return reply{status: http.StatusConflict, json: coded{"conflict", "The thread changed while the request was handled; read it again and repeat."}}
	case errors.Is(err, thread.ErrUnconfirmed):
		return away(coded{"unconfirmed", "The request was carried out, but isn't as durable yet as it has to be; repeat it for its result."})
	case errors.Is(err, thread.ErrUnavailable):
		return away(coded{"unavailable", "The data can't be reached; try again."})
	case errors.Is(err, context.Canceled):
		return reply{status: statusClientGone}
	}
	return reply{status: http.StatusInternalServerError, text: "Internal Server Error"}
}

// away is the reply while the data can't be reached: clients are told when to try again.
func away(body coded) reply {
	return reply{status: http.StatusServiceUnavailable, json: body, header: http.Header{"Retry-After": {"1"}}}
}

// missingText says what was not found.
func missingText(e *thread.NotFoundError) string {
	switch e.Kind {
	case "thread":
		return "Thread with ID " + e.ID + " not found"
	case "run":
		return errRunNotFound.text
	case "assistant":
		return "Assistant not found"
	case "version":
		return "Assistant version not found"
	case "graph":
		return `Graph "` + e.ID + `" not found`
	case "checkpoint":
		return "Checkpoint not found"
	case "cron":
		return "Cron not found"
	}
	return "Not found"
}

// pendingReply is the body of a refused resume.
type pendingReply struct {
	coded
	IDs     []string              `json:"interrupt_ids,omitempty"`
	Pending []agent.InterruptInfo `json:"pending"`
	Issues  []agent.Issue         `json:"issues,omitempty"`
}

// resumeReply gives the rows of decisions 8 for a resume that was refused.
func resumeReply(e *agent.ResumeError) reply {
	open := e.Pending
	if open == nil {
		open = []agent.InterruptInfo{}
	}
	status := http.StatusConflict
	switch e.Code {
	case agent.AmbiguousResume, agent.EmptyCommand:
		status = http.StatusBadRequest
	case agent.InvalidAnswer:
		status = http.StatusUnprocessableEntity
	}
	return reply{status: status, json: pendingReply{coded{e.Code, e.Message}, e.IDs, open, e.Issues}}
}

// decidedBefore tells, in the words of decidedReply, how the last question ended.
type decidedBefore struct {
	InterruptID string          `json:"interrupt_id"`
	By          any             `json:"by"`
	At          string          `json:"at"`
	Decision    json.RawMessage `json:"decision"`
	RunID       string          `json:"run_id,omitempty"`
}

func decidedBeforeOf(r thread.Review) decidedBefore {
	d := decidedBefore{r.InterruptID, nil, timestamp(r.Decided.At), rawOr(r.Decided.Answer, "null"), r.Decided.RunID}
	if r.Decided.By != "" {
		d.By = r.Decided.By
	}
	return d
}

// beforeReply is resumeReply with who decided what instead, and when (D-32).
func beforeReply(e *thread.DecidedBeforeError) reply {
	r := resumeReply(e.Refusal)
	if body, ok := r.json.(pendingReply); ok {
		body.Message = e.Error()
		r.json = struct {
			pendingReply
			decidedBefore
		}{body, decidedBeforeOf(e.Review)}
	}
	return r
}

// decidedReply tells who decided what, and when (D-32).
func decidedReply(e *thread.AlreadyDecidedError) reply {
	var by any
	if e.Answer.By != "" {
		by = e.Answer.By
	}
	return reply{status: http.StatusConflict, json: struct {
		coded
		InterruptID string          `json:"interrupt_id"`
		By          any             `json:"by"`
		At          string          `json:"at"`
		Decision    json.RawMessage `json:"decision"`
		RunID       string          `json:"run_id,omitempty"`
	}{coded{"already_decided", e.Error()}, e.InterruptID, by, timestamp(e.Answer.At), rawOr(e.Answer.Value, "null"), e.Answer.RunID}}
}

// validationBody is the body of a validation failure; success and
// error.issues are what clients look at.
func validationBody(issues []issue) any {
	type inner struct {
		Name   string  `json:"name"`
		Issues []issue `json:"issues"`
	}
	return struct {
		Success bool  `json:"success"`
		Error   inner `json:"error"`
	}{false, inner{"ValidationError", issues}}
}

func routingText(e *echo.HTTPError) string {
	if s, ok := e.Message.(string); ok {
		return s
	}
	return http.StatusText(e.Code)
}

// timestamp formats a time as clients read it: UTC, milliseconds, Z.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
