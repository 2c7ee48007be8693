package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/r3labs/sse/v2"

	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/stream"
	"github.com/parley-dev/parley/stream/classic"
)

// errExpired ends the streams of a user whose credentials expired (D-73).
var errExpired = errors.New("credentials expired")

// serveFunc sends a stream; it returns only errors that are the client's leave or
// come before the first byte.
type serveFunc func(w http.ResponseWriter, r *http.Request) error

// opened is a stream that its handler has prepared.
type opened struct {
	serve   serveFunc
	request *http.Request
	release func() // of the request's context; nil without
}

// serveStream has a stream sent until its end, the client's leave, the server's
// stop, or the expiry of the user's credentials.
func (s *Server) serveStream(c echo.Context, o stream.Options, open func(stream.Options) serveFunc) error {
	p := &opened{request: c.Request()}
	o.NoIDs, o.Stop = s.opts.NoEventIDs, s.life.Done()
	ctx, release, err := s.lasting(p.request.Context())
	if err != nil {
		return err
	}
	if release != nil {
		p.request, p.release = p.request.WithContext(ctx), release
		leave := o.OnDisconnect
		o.OnDisconnect = func() {
			if leave != nil && !errors.Is(context.Cause(ctx), errExpired) {
				leave()
			}
		}
	}
	p.serve = open(o)
	if w := s.bare(c); w != nil {
		w.opened = p
		return nil
	}
	return s.send(direct(c), p, func() bool { return c.Response().Committed })
}

// lasting is the context of a reply that lasts: it ends, with errExpired, when the
// user's credentials do. It counts as one of the user's open streams until release, which is nil when
// there is nothing to release.
func (s *Server) lasting(ctx context.Context) (_ context.Context, release func(), err error) {
	u := auth.UserFrom(ctx)
	if u == nil {
		return ctx, nil, nil
	}
	closed, err := s.limiter.Stream(limitedAs(u))
	if err != nil {
		return nil, nil, err
	}
	steps := []func(){closed}
	if !u.Expires.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, u.Expires, errExpired)
		steps = append(steps, cancel)
	}
	if watched(u) {
		var end context.CancelCauseFunc
		ctx, end = context.WithCancelCause(ctx)
		steps = append(steps, s.watch.enter(u.KeyID, end), func() { end(nil) })
	}
	return ctx, func() {
		for _, step := range steps {
			step()
		}
	}, nil
}

// bare returns the reply's innermost writer if nothing of the deployment's stands
// around it: then a stream can be sent when the handlers have returned. Foreign
// middleware has to see the reply's end before it returns.
func (s *Server) bare(c echo.Context) *statusWriter {
	if s.opts.Routes != nil || len(s.opts.Middleware) > 0 {
		return nil
	}
	w, _ := c.Response().Writer.(*statusWriter)
	return w
}

// serveOpened sends the stream that a handler has opened once the handlers have
// returned: their stack frames and echo's would cost every waiting stream 8 KiB.
func (s *Server) serveOpened(next *echo.Echo) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		sw, ok := w.(*statusWriter)
		if !ok || sw.opened == nil {
			return
		}
		p := sw.opened
		sw.opened = nil
		if err := s.send(sw, p, func() bool { return sw.status != 0 }); err != nil {
			s.handleError(err, next.NewContext(r, sw))
		}
	})
}

// send sends the stream. It returns only errors from before the first byte.
func (s *Server) send(w http.ResponseWriter, p *opened, begun func() bool) error {
	if p.release != nil {
		defer p.release()
	}
	err := p.serve(w, p.request)
	switch {
	case err == nil:
		return nil
	case !begun():
		return err
	case errors.Is(context.Cause(p.request.Context()), errExpired):
		e := &sse.Event{Event: []byte("error"), Data: classic.AppendError(nil, "Unauthorized", "401: credentials expired")}
		err = stream.NewWriter(w, 0).Event(e)
	}
	s.log.Debug("stream ended by its client", "path", p.request.URL.Path, "error", err)
	return nil
}
