package server

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/r3labs/sse/v2"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/stream"
	"github.com/parley-dev/parley/stream/classic"
	"github.com/parley-dev/parley/thread"
)

// streamRun is POST /threads/{thread_id}/runs/stream.
func (s *Server) streamRun(c echo.Context) error {
	id, err := uuidParam(c, "thread_id")
	if err != nil {
		return err
	}
	defer s.hub.Watch(id)() // before the run starts: its first events need no read of the log
	run, err := s.startRun(c, id)
	if err != nil {
		return err
	}
	return s.follow(c, run, stream.Options{LastEventID: c.Request().Header.Get("Last-Event-ID")}, run.Kwargs.OnDisconnect == "cancel")
}

// streamStateless is POST /runs/stream.
func (s *Server) streamStateless(c echo.Context) error {
	run, err := s.startRun(c, "")
	if err != nil {
		return err
	}
	return s.follow(c, run, stream.Options{LastEventID: c.Request().Header.Get("Last-Event-ID")}, run.Kwargs.OnDisconnect == "cancel")
}

// Messages of streams of what is not there: a stream has no status of its own,
// so that they say it (decisions 20).
const (
	streamNoThread = "404: Thread not found"
	streamNoRun    = "404: Run not found"
)

// joinStream is GET /threads/{thread_id}/runs/{run_id}/stream.
func (s *Server) joinStream(c echo.Context) error {
	run, err := s.run(c, "read")
	var missing *thread.NotFoundError
	switch {
	case errors.As(err, &missing):
		return stream.ServeError(direct(c), c.Request(), "Error", streamNoThread)
	case errors.Is(err, errRunNotFound):
		return stream.ServeError(direct(c), c.Request(), "Error", streamNoRun)
	case err != nil:
		return err
	}
	return s.join(c, run)
}

// joinStatelessStream is GET /runs/{run_id}/stream; an unknown run gives an empty stream.
func (s *Server) joinStatelessStream(c echo.Context) error {
	id, err := uuidParam(c, "run_id")
	if err != nil {
		return err
	}
	run, err := s.svc.FindRun(c.Request().Context(), id)
	if err == nil {
		err = s.allowThread(c, "read", run.ThreadID)
	}
	if errors.Is(err, thread.ErrNotFound) {
		return stream.ServeEmpty(direct(c), c.Request())
	} else if err != nil {
		return err
	}
	return s.join(c, run)
}

// join sends a run's stream to one more reader.
func (s *Server) join(c echo.Context, run thread.Run) error {
	o := stream.Options{LastEventID: c.Request().Header.Get("Last-Event-ID"), Modes: queryList(c, "stream_mode")}
	return s.follow(c, run, o, truthy(c.QueryParam("cancel_on_disconnect")))
}

// follow sends a run's stream. With leaveCancels the run ends when the client leaves.
func (s *Server) follow(c echo.Context, run thread.Run, o stream.Options, leaveCancels bool) error {
	locate(c, run)
	if !s.opts.NoEventIDs { // with it, clients come again after a network error
		c.Response().Header().Set("Location", runPath(run)+"/stream")
	}
	if leaveCancels {
		o.OnDisconnect = func() { s.abandon(c.Request(), run) }
	}
	return s.serveStream(c, o, func(w http.ResponseWriter, r *http.Request, o stream.Options) error {
		return stream.ServeRun(w, r, s.hub, run, o)
	})
}

// followThread is GET /threads/{thread_id}/stream.
func (s *Server) followThread(c echo.Context) error {
	if strings.EqualFold(c.Request().Header.Get("Upgrade"), "websocket") {
		return errRoute // kept for the thread protocol
	}
	id, err := uuidParam(c, "thread_id")
	if err != nil {
		return err
	}
	err = s.allowThread(c, "read", id)
	if err == nil {
		_, err = s.svc.GetThread(c.Request().Context(), id)
	}
	if errors.Is(err, thread.ErrNotFound) {
		return stream.ServeError(direct(c), c.Request(), "Error", streamNoThread)
	} else if err != nil {
		return err
	}
	o := stream.Options{LastEventID: c.Request().Header.Get("Last-Event-ID"), Modes: queryList(c, "stream_mode")}
	return s.serveStream(c, o, func(w http.ResponseWriter, r *http.Request, o stream.Options) error {
		return stream.ServeThread(w, r, s.hub, id, o)
	})
}

// errExpired ends the streams of a user whose credentials expired (D-73).
var errExpired = errors.New("credentials expired")

// serveStream sends a stream until its end, the client's leave, the server's
// stop, or the expiry of the user's credentials.
func (s *Server) serveStream(c echo.Context, o stream.Options, send func(http.ResponseWriter, *http.Request, stream.Options) error) error {
	r, w := c.Request(), direct(c)
	o.NoIDs, o.Stop = s.opts.NoEventIDs, s.life.Done()
	ctx := r.Context()
	if u := auth.UserFrom(ctx); u != nil && !u.Expires.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, u.Expires, errExpired)
		defer cancel()
		leave := o.OnDisconnect
		o.OnDisconnect = func() {
			if leave != nil && !errors.Is(context.Cause(ctx), errExpired) {
				leave()
			}
		}
	}
	err := send(w, r.WithContext(ctx), o)
	switch {
	case err == nil:
		return nil
	case !c.Response().Committed:
		return err
	case errors.Is(context.Cause(ctx), errExpired):
		e := &sse.Event{Event: []byte("error"), Data: classic.AppendError(nil, "Unauthorized", "401: credentials expired")}
		err = stream.NewWriter(w, 0).Event(e)
	}
	s.log.Debug("stream ended by its client", "path", r.URL.Path, "error", err)
	return nil
}

// direct returns the writer for streams: behind echo's own, which hides errors
// of Flush, but with its bookkeeping of the status.
func direct(c echo.Context) http.ResponseWriter {
	w := c.Response().Writer
	for {
		outer, ok := w.(*echo.Response) // the deployment's echo around ours
		if !ok {
			return &directWriter{ResponseWriter: w, response: c.Response()}
		}
		w = outer.Writer
	}
}

type directWriter struct {
	http.ResponseWriter
	response *echo.Response
}

func (w *directWriter) WriteHeader(status int) { w.response.WriteHeader(status) }

func (w *directWriter) Write(b []byte) (int, error) {
	if !w.response.Committed {
		w.response.WriteHeader(http.StatusOK)
	}
	n, err := w.ResponseWriter.Write(b)
	w.response.Size += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *directWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
