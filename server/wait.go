package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/thread"
)

// waitRun is POST /threads/{thread_id}/runs/wait.
func (s *Server) waitRun(c echo.Context) error {
	id, err := uuidParam(c, "thread_id")
	if err != nil {
		return err
	}
	run, err := s.startRun(c, id)
	if err != nil {
		return err
	}
	locate(c, run)
	return s.sendResult(c, run, run.Kwargs.OnDisconnect == "cancel")
}

// waitStateless is POST /runs/wait.
func (s *Server) waitStateless(c echo.Context) error {
	run, err := s.startRun(c, "")
	if err != nil {
		return err
	}
	locate(c, run)
	return s.sendResult(c, run, run.Kwargs.OnDisconnect == "cancel")
}

// joinRun is GET /threads/{thread_id}/runs/{run_id}/join.
func (s *Server) joinRun(c echo.Context) error {
	run, err := s.run(c, "read")
	if err != nil {
		return err
	}
	return s.sendResult(c, run, truthy(c.QueryParam("cancel_on_disconnect")))
}

// keepAlive is the time between the line feeds that keep a waiting connection
// alive: white space before a JSON document is legal (spec/rest-api.md 2.4).
const keepAlive = time.Second

// writeTimeout bounds one write of a waiting reply.
const writeTimeout = 30 * time.Second

// sendResult waits for a run's end and sends its result. The headers go out at
// once: from them the client learns the run's id.
func (s *Server) sendResult(c echo.Context, run thread.Run, leaveCancels bool) error {
	lasting, release, err := s.lasting(c.Request().Context())
	if err != nil {
		return err
	}
	if release != nil {
		defer release()
	}
	w := direct(c)
	c.Response().Header().Set("Content-Type", echo.MIMEApplicationJSON)
	w.WriteHeader(http.StatusOK)
	rc := http.NewResponseController(w)
	send := func(b []byte) error {
		// Not every writer has deadlines; those that have must not wait for ever.
		if err := rc.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		return rc.Flush()
	}
	ctx, cancel := s.untilShutdown(lasting)
	defer cancel()
	done := s.outcome(ctx, run)
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	err = rc.Flush()
	for err == nil {
		select {
		case <-tick.C:
			err = send([]byte{'\n'})
			continue
		case o := <-done:
			if err = o.err; err != nil {
				break
			}
			return s.delivered(send(append(o.result, '\n')))
		}
	}
	if errors.Is(context.Cause(lasting), errExpired) {
		return s.delivered(send([]byte(expiredResult)))
	}
	cancel()
	if leaveCancels {
		s.abandon(c.Request(), run)
	}
	if c.Request().Context().Err() == nil {
		panic(http.ErrAbortHandler) // the reply can't be completed: cut it
	}
	return nil
}

// expiredResult is what is sent in place of the result when the client's credentials ended before the run.
const expiredResult = `{"__error__":{"error":"Unauthorized","message":"401: credentials expired"}}` + "\n"

// delivered logs that a result didn't reach its client; the run is over.
func (s *Server) delivered(err error) error {
	if err != nil {
		s.log.Debug("result not delivered", "error", err)
	}
	return nil
}

type outcome struct {
	result json.RawMessage
	err    error
}

// outcome waits for the end of a run. The goroutine ends with the run or ctx.
func (s *Server) outcome(ctx context.Context, run thread.Run) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		ended, err := s.svc.WaitRun(ctx, run.ThreadID, run.ID)
		var o outcome
		if err == nil {
			o.result, err = s.hub.Result(ctx, ended)
		}
		if errors.Is(err, thread.ErrNotFound) { // rolled back or deleted, before its end or just now
			o.result, err = json.RawMessage(`{"__error__":{"error":"Error","message":"The run was removed"}}`), nil
		}
		o.err = err
		done <- o
	}()
	return done
}
