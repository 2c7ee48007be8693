package server

import (
	"fmt"
	"log/slog"
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
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	http.Error(w, "Internal Server Error", http.StatusInternalServerError)
}

// statusWriter remembers the status of a reply.
type statusWriter struct {
	http.ResponseWriter
	status int
	opened *opened // a stream to be sent when the handlers have returned
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
