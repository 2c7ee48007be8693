package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/parley-dev/parley/stream"
	"github.com/parley-dev/parley/thread"
)

// streamRun is POST /threads/{thread_id}/runs/stream.
func (s *Server) streamRun(c echo.Context) error {
	id, err := uuidParam(c, "thread_id")
	if err != nil {
		return err
	}
	defer s.hub.Watch(id)() // before the run starts: its events need no read of the log
	started, err := s.start(c, id)
	if err != nil {
		return err
	}
	o := stream.Options{LastEventID: c.Request().Header.Get("Last-Event-ID"), FromStart: !started.Repeat}
	return s.follow(c, started.Run, o, started.Run.Kwargs.OnDisconnect == "cancel")
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
		r := c.Request() // c is another request's once the handler has returned
		o.OnDisconnect = func() { s.abandon(r, run) }
	}
	return s.serveStream(c, o, func(o stream.Options) serveFunc { return s.hub.OpenRun(&run, o).Serve })
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
	o.ThreadState = func(ctx context.Context, ns, checkpointID string) (json.RawMessage, error) {
		snapshot, err := s.svc.State(ctx, id, thread.StateQuery{CheckpointNS: ns, CheckpointID: checkpointID})
		if err != nil || snapshot.CheckpointID == "" {
			return nil, err
		}
		return stateJSON(id, snapshot, false), nil
	}
	return s.serveStream(c, o, func(o stream.Options) serveFunc { return s.hub.OpenThread(id, o).Serve })
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
