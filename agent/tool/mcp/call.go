package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// errSlowCall is the cause of a call that took too long.
var errSlowCall = errors.New("mcp: call timed out")

// UnknownOutcomeError says that a call may have taken effect, and that its result is lost.
type UnknownOutcomeError struct {
	Tool string // server.tool
	Err  error
}

func (e *UnknownOutcomeError) Error() string {
	return fmt.Sprintf("%s: %v; it isn't known whether the call took effect", e.Tool, e.Err)
}
func (e *UnknownOutcomeError) Unwrap() error { return e.Err }

// call calls a tool. A call that surely didn't arrive is made once more over a
// new connection, and so is one whose outcome is unknown if the tool may be
// called twice. Errors are for the model, but for the context's own.
func (s *Server) call(parent context.Context, t *Tool, params *sdk.CallToolParams, progress func(Progress)) (*sdk.CallToolResult, error) {
	ctx, cancel := context.WithTimeoutCause(parent, s.cfg.Timeout, errSlowCall)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(s.life, func() { end(ErrClosed) })() //nolint:contextcheck // two lifetimes end the call

	token, done := s.progress.add(progress)
	defer done()
	params.SetProgressToken(token)

	for repeats := map[verdict]int{}; ; {
		conn, err := s.reconnected(ctx)
		if err != nil {
			return nil, s.notReached(parent, ctx, t, err)
		}
		callCtx, way := withDelivery(ctx)
		res, err := conn.session.CallTool(callCtx, params)
		if err == nil {
			s.works()
			return res, nil
		}
		v, err := s.judge(parent, ctx, conn, t, way, err)
		if repeats[v]++; v == final || repeats[v] > maxRepeats[v] {
			return nil, s.hide.err(err)
		}
		s.cfg.Logger.Info("MCP call is made again", "tool", t.remote, "error", s.hide.err(err))
	}
}

// verdict says whether a failed call may be made again.
type verdict int

const (
	final     verdict = iota
	unarrived         // the server surely doesn't know of it
	harmless          // the outcome is unknown, and a repeat does no harm
)

// maxRepeats is how often a call may be made again for one reason.
var maxRepeats = map[verdict]int{unarrived: 2, harmless: 1}

// tries is how often one call tries to connect to a server that was there a moment ago.
const tries = 3

// reconnected is connection for a call: a server that was there may be about to come back.
func (s *Server) reconnected(ctx context.Context) (conn *connection, err error) {
	for range tries {
		var down *DownError
		if conn, err = s.connection(ctx); !errors.As(err, &down) || !s.wasThere() {
			break
		}
	}
	return conn, err
}

// notReached tells of a call for which there was no connection.
func (s *Server) notReached(parent, ctx context.Context, t *Tool, err error) error {
	switch {
	case parent.Err() != nil:
		return context.Cause(parent)
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), errSlowCall):
		return fmt.Errorf("%s was not called: no connection to the server within %s", t.Ref(), s.cfg.Timeout)
	}
	return fmt.Errorf("%s was not called: %w", t.Ref(), err)
}

// judge says what a failed call means: whether it may be made again, and the error for when it isn't.
func (s *Server) judge(parent, ctx context.Context, conn *connection, t *Tool, way *delivery, err error) (verdict, error) {
	if parent.Err() != nil {
		return final, context.Cause(parent)
	}
	if ctx.Err() != nil {
		cause := context.Cause(ctx)
		if errors.Is(cause, errSlowCall) {
			cause = fmt.Errorf("no answer within %s", s.cfg.Timeout)
		}
		return final, &UnknownOutcomeError{t.Ref(), cause}
	}
	if errors.Is(err, sdk.ErrConnectionClosed) {
		conn.settle()
	}
	status := int(way.status.Load())
	fault := conn.broken()
	if fault == nil && malformed(err) {
		fault = fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if fault != nil { // the same call would break the next one, too
		s.drop(conn)
		return final, &UnknownOutcomeError{t.Ref(), fault}
	}
	var rpc *jsonrpc.Error
	isRPC := errors.As(err, &rpc) && rpc.Code != codeRejected
	switch {
	case way.expired.Load() || errors.Is(err, sdk.ErrSessionMissing):
		s.drop(conn)
		return unarrived, fmt.Errorf("%s was not called: the server has ended the session", t.Ref())
	case isRPC: // the server's word on the call
		s.works()
		return final, fmt.Errorf("%s: %s", t.Ref(), rpc.Message)
	case !way.sent.Load():
		s.drop(conn)
		return unarrived, fmt.Errorf("%s was not called: %w", t.Ref(), conn.explain(err))
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout:
		return final, fmt.Errorf("%s was not called: the server answered %d %s", t.Ref(), status, http.StatusText(status))
	case status != 0 && (status < 200 || status > 299):
		return t.ifRepeatable(status >= 500), &UnknownOutcomeError{t.Ref(), fmt.Errorf("the server answered %d %s", status, http.StatusText(status))}
	case unreadable(err):
		s.cfg.Logger.Warn("MCP server answered with what is no tool result", "tool", t.remote, "error", s.hide.err(err))
		return final, &UnknownOutcomeError{t.Ref(), errNoResult}
	}
	err = conn.explain(errLost)
	if !conn.alive() || conn.child != nil { // over HTTP one broken call says nothing of the others
		s.drop(conn)
	}
	return t.ifRepeatable(true), &UnknownOutcomeError{t.Ref(), err}
}

var (
	errLost     = errors.New("the connection was lost during the call")
	errNoResult = errors.New("the server's answer is no tool result")
)

// codeRejected marks, in the SDK, an error of the transport about one message.
const codeRejected = -32005

// unreadable reports whether there was an answer, which is no result of a tool.
func unreadable(err error) bool {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	var data base64.CorruptInputError
	return errors.As(err, &kind) || errors.As(err, &syntax) || errors.As(err, &data) ||
		strings.Contains(err.Error(), "content type") || strings.Contains(err.Error(), "nil content") // the SDK has no values for them
}
