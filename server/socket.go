package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/stream"
	"github.com/parley-dev/parley/thread"
)

// errOrigin refuses sockets of pages that may not call.
var errOrigin = &textError{http.StatusForbidden, "Origin not allowed"}

// openSocket is GET /threads/{thread_id}/stream/events (spec/streaming-protocol.md 1.5).
func (s *Server) openSocket(c echo.Context) error {
	r := c.Request()
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return errRoute
	}
	if !s.cors.allowsSocket(r) {
		return errOrigin
	}
	id, err := uuidParam(c, "thread_id")
	if err != nil {
		return s.refuseSocket(c, stream.CloseInvalid, "Invalid uuid")
	}
	admit, err := s.admitEvents(c, id)
	var refused *auth.Error
	switch {
	case errors.Is(err, thread.ErrNotFound):
		return s.refuseSocket(c, stream.CloseNotFound, "Thread not found")
	case errors.As(err, &refused):
		return s.refuseSocket(c, stream.CloseForbidden, "Forbidden")
	case err != nil:
		return err
	}
	o := stream.SocketOptions{
		ThreadID: id, Events: stream.EventOptions{Admit: admit, NoFailureText: s.opts.NoFailureText}, ReadLimit: s.limits.Body,
		Expired: func(cause error) bool { return errors.Is(cause, errExpired) }, Logger: s.log,
	}
	return s.serveStream(c, stream.Options{}, func(so stream.Options) serveFunc {
		o.Stop = so.Stop
		return func(w http.ResponseWriter, r *http.Request) error {
			if !s.sockets.enter() {
				return errShuttingDown
			}
			defer s.sockets.leave()
			o.Commands = &commander{s: s, threadID: id, request: r, echo: s.newEcho()}
			return stream.ServeSocket(w, r, s.hub, o)
		}
	})
}

// refuseSocket tells a page why it gets no socket: of a refused upgrade it would see nothing.
func (s *Server) refuseSocket(c echo.Context, code websocket.StatusCode, reason string) error {
	return s.serveStream(c, stream.Options{}, func(stream.Options) serveFunc {
		return func(w http.ResponseWriter, r *http.Request) error { return stream.RefuseSocket(w, r, code, reason) }
	})
}

// commander carries out the commands of a socket as POST …/commands does.
type commander struct {
	s        *Server
	threadID string
	request  *http.Request
	echo     *echo.Echo
}

// Command implements protocol.Commander.
func (c *commander) Command(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	reply, err := c.carryOut(ctx, raw)
	if err != nil {
		return nil, err
	}
	return json.Marshal(reply)
}

func (c *commander) carryOut(ctx context.Context, raw json.RawMessage) (commandReply, error) {
	body, err := cleanJSON(raw, c.s.limits.Depth)
	if err != nil {
		return refusal(nil, refuse(codeInvalid, err.Error())), nil
	}
	f, err := objectOf(body)
	if err != nil {
		return refusal(nil, refuse(codeInvalid, err.Error())), nil
	}
	cmd, err := commandOf(f)
	if err != nil {
		return refusal(nil, refuse(codeInvalid, err.Error())), nil
	}
	reply, err := c.s.command(c.echo.NewContext(c.request.WithContext(ctx), nil), c.threadID, cmd)
	if err == nil || ctx.Err() != nil {
		return reply, err
	}
	// What would have been a status of HTTP is said as a refusal.
	switch failure := replyOf(err); failure.status {
	case http.StatusInternalServerError, http.StatusServiceUnavailable:
		return reply, err
	case http.StatusUnauthorized, http.StatusForbidden:
		return refusal(cmd.ID, refuse(codeDenied, err.Error())), nil
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return refusal(cmd.ID, refuse(codeInvalid, failure.message(err))), nil
	default:
		return refusal(cmd.ID, refuse(codeFailed, failure.message(err))), nil
	}
}

// message is the text of a failure.
func (r reply) message(err error) string {
	if r.text != "" {
		return r.text
	}
	return err.Error()
}
