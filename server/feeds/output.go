package feeds

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/parley-dev/parley/stream"
)

// output writes a client's queue to its connection.
type output struct {
	conn *conn
	w    *stream.Writer
	beat time.Duration
}

func newOutput(w http.ResponseWriter, o Options) *output {
	c := &conn{ResponseWriter: w}
	return &output{conn: c, w: stream.NewWriter(c, o.WriteTimeout), beat: o.Heartbeat}
}

// run sends the headers as soon as the client is subscribed, then its frames,
// and a heartbeat comment every so often, until a write fails or ctx ends.
func (o *output) run(ctx context.Context, r *http.Request, q *queue) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-q.opened:
	}
	if err := o.w.Open(r); err != nil {
		return err
	}
	beat := time.NewTicker(o.beat)
	defer beat.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-beat.C:
			err = o.w.Heartbeat()
		case b := <-q.frames:
			err = o.send(b, q.frames)
		}
		if err != nil {
			return err
		}
	}
}

// send writes a frame and all that wait behind it, flushed once.
func (o *output) send(b []byte, more <-chan []byte) error {
	for n := len(more); n > 0; n-- { // nobody else takes from it
		b = append(b, <-more...)
	}
	if err := o.w.Write(b); err != nil {
		return err
	}
	return o.w.Flush()
}

// cut ends a write that hangs, and every later one of this output.
func (o *output) cut() { o.conn.cut() }

// conn is the response of which writes can be cut: a deadline set for the next
// write must not undo the one that is to end all.
type conn struct {
	http.ResponseWriter
	mu    sync.Mutex
	ended bool
}

// SetWriteDeadline lets http.ResponseController set deadlines here.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return errStalled
	}
	return http.NewResponseController(c.ResponseWriter).SetWriteDeadline(t)
}

func (c *conn) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	_ = http.NewResponseController(c.ResponseWriter).SetWriteDeadline(time.Now()) // without deadlines the write ends with the connection
}

// Unwrap lets http.ResponseController reach the connection.
func (c *conn) Unwrap() http.ResponseWriter { return c.ResponseWriter }
