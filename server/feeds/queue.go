package feeds

import (
	"context"
	"errors"
	"net/http"
)

// queued is how many hints a client may be behind before it is cut.
const queued = 256

// errStalled ends the stream of a client that doesn't read.
var errStalled = errors.New("feeds: the client is too slow")

// queue is the http.ResponseWriter that the library gets. It never blocks: the
// library sends to all clients of a stream from one goroutine, so that a slow
// one would hold up the others. A full queue ends its own stream only.
type queue struct {
	header http.Header // what the library sets goes nowhere: output sends headers of its own
	status int
	opened chan struct{} // closed when the client is subscribed
	frame  []byte        // written since the last flush
	frames chan []byte   // whole frames
	cancel context.CancelCauseFunc
}

func newQueue(cancel context.CancelCauseFunc) *queue {
	return &queue{header: http.Header{}, opened: make(chan struct{}), frames: make(chan []byte, queued), cancel: cancel}
}

// Header implements http.ResponseWriter.
func (q *queue) Header() http.Header { return q.header }

// WriteHeader implements http.ResponseWriter. The library writes 200 once the client is subscribed.
func (q *queue) WriteHeader(status int) {
	if q.status != 0 {
		return
	}
	q.status = status
	if status == http.StatusOK {
		close(q.opened)
	}
}

// Write implements http.ResponseWriter.
func (q *queue) Write(p []byte) (int, error) {
	q.frame = append(q.frame, p...)
	return len(p), nil
}

// Flush implements http.Flusher: the library calls it at the end of each frame.
func (q *queue) Flush() {
	if len(q.frame) == 0 {
		return
	}
	select {
	case q.frames <- q.frame:
	default:
		q.cancel(errStalled)
	}
	q.frame = nil
}
