package server

import (
	"bufio"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
)

// recover turns a panic into a 500, or cuts the connection when a reply is
// under way. http.ErrAbortHandler passes: it is how streams are cut on purpose.
func (s *Server) recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &statusWriter{ResponseWriter: w}
		defer func() {
			if p := recover(); p != nil {
				s.panicked(rec, r, p)
			}
		}()
		next.ServeHTTP(rec, r)
	})
}

// panicked answers a request whose handler panicked.
func (s *Server) panicked(w *statusWriter, r *http.Request, p any) {
	if err, ok := p.(error); ok && err == http.ErrAbortHandler { //nolint:errorlint // the sentinel itself, as net/http compares it
		panic(p)
	}
	s.log.LogAttrs(r.Context(), slog.LevelError, "panic in a handler",
		slog.String("method", r.Method), slog.String("path", r.URL.Path),
		slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
	if w.taken != nil {
		_ = w.taken.Close() // nobody else has it any more
		return
	}
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	http.Error(w, "Internal Server Error", http.StatusInternalServerError)
}

// statusWriter remembers the status of a reply.
type statusWriter struct {
	http.ResponseWriter
	status int
	taken  net.Conn // the connection, once it was taken over: then nothing more is to be written here
	opened *opened  // a stream to be sent when the handlers have returned
}

func (w *statusWriter) WriteHeader(status int) {
	if w.taken != nil {
		return // what went wrong behind an upgrade can't be said in HTTP
	}
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.taken != nil {
		return 0, http.ErrHijacked
	}
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Hijack implements http.Hijacker: from then on the status is that of an upgrade.
func (w *statusWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.taken, w.status = conn, http.StatusSwitchingProtocols
	}
	return conn, rw, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
