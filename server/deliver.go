package server

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"
)

// localHost is the host of requests that the server sends to itself.
const localHost = "localhost"

// deliverLocal posts a webhook to one of the server's own routes. It carries no
// credentials: where auth is installed, the route must be public.
func (s *Server) deliverLocal(ctx context.Context, path string, body []byte) (err error) {
	defer func() { // handlers abort their connection by panicking; here there is none
		if p := recover(); p != nil {
			err = fmt.Errorf("webhook %s: aborted: %v", path, p)
		}
	}()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+localHost+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", echo.MIMEApplicationJSON)
	r.RequestURI, r.RemoteAddr = path, "127.0.0.1:0"
	w := &discard{header: http.Header{}}
	s.handler.ServeHTTP(w, r)
	if w.status >= http.StatusBadRequest {
		return fmt.Errorf("webhook %s: status %d", path, w.status)
	}
	return nil
}

// discard is the reply to a request that the server sends to itself: only its status counts.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header { return d.header }

func (d *discard) WriteHeader(status int) {
	if d.status == 0 {
		d.status = status
	}
}

func (d *discard) Write(b []byte) (int, error) {
	d.WriteHeader(http.StatusOK)
	return len(b), nil
}

// Flush implements http.Flusher.
func (d *discard) Flush() {}
