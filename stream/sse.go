package stream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/r3labs/sse/v2"

	"github.com/parley-dev/parley/stream/frame"
)

// Defaults of a stream (design 3.12, decisions 11).
const (
	DefaultHeartbeat    = 5 * time.Second
	DefaultWriteTimeout = 30 * time.Second
)

// GapHeader says, with the value "truncated", that the log no longer has all
// that the client asked for (decisions 3).
const GapHeader = "X-Parley-Replay"

// heartbeat is a comment with one line end only: with an empty line after it,
// older clients would make an event of it.
const heartbeat = ": heartbeat\n"

// gapComment announces that events were lost before the next one.
const gapComment = ": gap\n"

// writePiece is the most that is written under one deadline, so that a slow but
// living reader of a large state is not cut.
const writePiece = 256 << 10

// Writer writes server-sent events to one response. Use it from one goroutine.
type Writer struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
	set     time.Time // when the deadline was set

	mu      sync.Mutex
	hurried bool // the deadline is the last one
	done    bool // the connection is no longer the writer's
}

// NewWriter returns a writer. Pass the innermost writer that still counts:
// echo's own Response hides the errors of Flush. Timeout is the deadline of each
// write; 0 is DefaultWriteTimeout.
func NewWriter(w http.ResponseWriter, timeout time.Duration) *Writer {
	if timeout <= 0 {
		timeout = DefaultWriteTimeout
	}
	return &Writer{w: w, rc: http.NewResponseController(w), timeout: timeout}
}

// Open sends the headers and a first heartbeat at once, so that neither client
// nor proxy waits for the first event (D-61, D-62). Headers set before are kept.
func (w *Writer) Open(r *http.Request) error {
	h := w.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	if r.ProtoMajor == 1 { // forbidden in HTTP/2 (D-63)
		h.Set("Connection", "keep-alive")
	}
	w.w.WriteHeader(http.StatusOK)
	return w.Heartbeat()
}

// Heartbeat sends a heartbeat comment; only between events.
func (w *Writer) Heartbeat() error {
	if err := w.Write([]byte(heartbeat)); err != nil {
		return err
	}
	return w.Flush()
}

// Event sends one event, flushed.
func (w *Writer) Event(e *sse.Event) error {
	b, err := frame.Append(nil, e)
	if err != nil {
		return err
	}
	if err := w.Write(b); err != nil {
		return err
	}
	return w.Flush()
}

// Write writes whole encoded events, each piece of them under a deadline of its own.
func (w *Writer) Write(b []byte) error {
	for len(b) > 0 {
		piece := b[:min(len(b), writePiece)]
		if err := w.deadline(); err != nil {
			return err
		}
		n, err := w.w.Write(piece)
		if err != nil {
			return fmt.Errorf("stream: write: %w", err)
		}
		b = b[n:]
	}
	return nil
}

// Flush sends what was written.
func (w *Writer) Flush() error {
	if err := w.deadline(); err != nil {
		return err
	}
	if err := w.rc.Flush(); err != nil {
		return fmt.Errorf("stream: flush: %w", err)
	}
	return nil
}

// deadline lets the next write take the timeout, to a few percent. A response
// that has no deadlines, as in tests, goes without.
func (w *Writer) deadline() error {
	now := time.Now()
	if now.Sub(w.set) < w.timeout/32 {
		return nil
	}
	w.set = now
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hurried {
		return nil
	}
	if err := w.rc.SetWriteDeadline(now.Add(w.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("stream: write deadline: %w", err)
	}
	return nil
}

// hurriedBy gives writes little time once the server's life has ended, also one that hangs by
// then; call stop when the response ends.
func (w *Writer) hurriedBy(life context.Context) (stop func()) {
	forget := context.AfterFunc(life, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.hurried = true; !w.done {
			_ = w.rc.SetWriteDeadline(time.Now().Add(leaveWithin)) // without deadlines the write ends with the connection
		}
	})
	return func() {
		if forget() {
			return
		}
		w.mu.Lock()
		w.done = true
		w.mu.Unlock()
	}
}
