package server

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
)

// Codes of the thread protocol's errors (spec/streaming-protocol.md 1.2).
const (
	codeInvalid      = "invalid_argument"
	codeNoRun        = "no_such_run"
	codeNoInterrupt  = "no_such_interrupt"
	codeNoCheckpoint = "no_such_checkpoint"
	codeNoNamespace  = "no_such_namespace"
	codeNotSupported = "not_supported"
	codeUnknown      = "unknown_command"
	codeDenied       = "permission_denied"
	codeFailed       = "unknown_error"
)

// protocolError is a command that is refused: HTTP 200 with type "error".
type protocolError struct {
	code, message string
	// meta says more, by key; may be nil.
	meta map[string]any
}

func (e *protocolError) Error() string { return e.message }

func refuse(code, message string) *protocolError { return &protocolError{code: code, message: message} }

// commandRequest is one command of the thread protocol.
type commandRequest struct {
	ID     int64
	Method string
	Params *fields
	body   *fields // all of it
}

// commandReply answers a command.
type commandReply struct {
	Type    string         `json:"type"` // success or error
	ID      any            `json:"id"`   // the command's; null where it has none
	Result  any            `json:"result,omitempty"`
	Error   string         `json:"error,omitempty"`
	Message string         `json:"message,omitempty"`
	Meta    map[string]any `json:"meta,omitempty"`
}

// postCommand is POST /threads/{thread_id}/commands.
func (s *Server) postCommand(c echo.Context) error {
	threadID, err := uuidParam(c, "thread_id")
	if err != nil {
		return err
	}
	body, err := s.object(c)
	if err != nil {
		return err
	}
	cmd, err := commandOf(body)
	if err != nil {
		return err
	}
	reply, err := s.command(c, threadID, cmd)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, reply)
}

// commandOf reads a command; an id and a method are required.
func commandOf(f *fields) (commandRequest, error) {
	f.require("id", "method")
	cmd := commandRequest{ID: int64(f.integer("id", 0, 0, 1<<53)), Method: f.str("method"), body: f}
	params := f.object("params")
	if params == nil {
		params = json.RawMessage("{}")
	}
	if err := f.err(); err != nil {
		return cmd, err
	}
	var err error
	cmd.Params, err = objectOf(params, "params")
	return cmd, err
}

// command carries out a command on a thread. Errors are those that are no
// protocol errors: what the thread does not show (404), permissions, faults of the server.
func (s *Server) command(c echo.Context, threadID string, cmd commandRequest) (commandReply, error) {
	handle, ok := map[string]func(echo.Context, string, commandRequest) (any, error){
		"run.start":              s.runStart,
		"input.respond":          s.inputRespond,
		"input.inject":           s.inputInject,
		"state.get":              s.stateGet,
		"state.listCheckpoints":  s.stateListCheckpoints,
		"state.fork":             s.stateFork,
		"agent.getTree":          s.agentGetTree,
		"subscription.subscribe": s.needsSocket, "subscription.unsubscribe": s.needsSocket, "subscription.reconnect": s.needsSocket,
	}[cmd.Method]
	if !ok {
		return refusal(cmd.ID, refuse(codeUnknown, "Unknown protocol command: "+cmd.Method)), nil
	}
	if err := mayUse(auth.UserFrom(c.Request().Context()), commandClasses[cmd.Method]); err != nil {
		return commandReply{}, err
	}
	// The barrier is read before the command acts: it lies at or above every older
	// interrupt and below those of the run that the command starts (M-17).
	seq, err := s.appliedSeq(c, threadID)
	if err != nil {
		return commandReply{}, err
	}
	result, err := handle(c, threadID, cmd)
	if err != nil {
		refused := refusedCommand(err)
		if refused == nil {
			return commandReply{}, err
		}
		return refusal(cmd.ID, refused), nil
	}
	return commandReply{Type: "success", ID: cmd.ID, Result: result, Meta: map[string]any{
		"thread_id": threadID, "applied_through_seq": seq,
	}}, nil
}

func refusal(id any, e *protocolError) commandReply {
	return commandReply{Type: "error", ID: id, Error: e.code, Message: e.message, Meta: e.meta}
}

// needsSocket answers subscriptions over HTTP, where a stream is its own subscription.
func (s *Server) needsSocket(echo.Context, string, commandRequest) (any, error) {
	return nil, refuse(codeNotSupported, "Subscriptions belong to a WebSocket; over HTTP open POST /threads/{thread_id}/stream/events.")
}

// refusedCommand words an error as the protocol does (decisions 8); nil for one that is none of its own.
func refusedCommand(err error) *protocolError {
	var (
		own     *protocolError
		fault   *validationError
		resume  *agent.ResumeError
		before  *thread.DecidedBeforeError
		decided *thread.AlreadyDecidedError
		late    *thread.ReviewExpiredError
		command *agent.InvalidCommandError
		update  *agent.InvalidUpdateError
		input   *thread.InvalidInputError
		coded   *codeError
		text    *textError
		waits   *thread.InputWhileInterruptedError
	)
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &fault):
		return &protocolError{codeInvalid, fault.issues[0].Message, map[string]any{"issues": fault.issues}}
	case errors.As(err, &decided):
		return &protocolError{codeNoInterrupt, decided.Error(), map[string]any{
			"interrupt_id": decided.InterruptID, "by": decided.Answer.By, "at": timestamp(decided.Answer.At), "decision": decided.Answer.Value,
		}}
	case errors.As(err, &late):
		return &protocolError{codeNoInterrupt, late.Error(), map[string]any{"interrupt_id": late.InterruptID, "expired_at": timestamp(late.At)}}
	case errors.As(err, &before):
		refused, d := refusedResume(before.Refusal), decidedBeforeOf(before.Review)
		refused.meta["interrupt_id"], refused.meta["by"], refused.meta["at"], refused.meta["decision"] = d.InterruptID, d.By, d.At, d.Decision
		return refused
	case errors.As(err, &resume):
		return refusedResume(resume)
	case errors.As(err, &waits):
		return &protocolError{codeInvalid, waits.Error(), map[string]any{"pending": waits.Pending}}
	case errors.As(err, &command):
		return &protocolError{codeInvalid, command.Error(), map[string]any{"problems": command.Problems}}
	case errors.As(err, &update):
		return refuse(codeInvalid, update.Message)
	case errors.As(err, &input):
		return refuse(codeInvalid, input.Message)
	case errors.As(err, &coded) && coded.status == http.StatusUnprocessableEntity:
		return refuse(codeInvalid, codedMessage(coded))
	case errors.As(err, &text) && text.text == textBusyRun:
		return refuse(codeInvalid, text.text)
	case errors.Is(err, thread.ErrConflict):
		return refuse(codeFailed, "The thread changed while the command was handled; read it again and repeat.")
	}
	return nil
}

func refusedResume(e *agent.ResumeError) *protocolError {
	code, message := codeInvalid, e.Message
	switch e.Code {
	case agent.NothingPending:
		message = "input.respond can only be used while the run is interrupted."
	case agent.InterruptNotPending:
		code = codeNoInterrupt
	}
	meta := map[string]any{}
	if len(e.IDs) > 0 {
		meta["interrupt_ids"] = e.IDs
	}
	pending := make([]string, len(e.Pending))
	for i, p := range e.Pending {
		pending[i] = p.ID
	}
	meta["pending_ids"] = pending
	if len(e.Issues) > 0 {
		meta["issues"] = e.Issues
	}
	return &protocolError{code, message, meta}
}

// codedMessage is the message in a codeError's body.
func codedMessage(e *codeError) string {
	if body, ok := e.body.(coded); ok {
		return body.Message
	}
	return e.Error()
}
