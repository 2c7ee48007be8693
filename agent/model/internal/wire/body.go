package wire

import (
	"io"
)

// maxBody bounds an answer, in bytes: no model says that much.
const maxBody = 64 << 20

// body is the answer's body; while somebody waits for it the idle limit holds.
type body struct {
	rc   io.ReadCloser
	call *Call
	read int64
}

func (b *body) Read(p []byte) (int, error) {
	b.call.listen()
	n, err := b.rc.Read(p)
	stop(b.call.idle)
	if b.read += int64(n); b.read > maxBody {
		return 0, Broken("more than %d MiB", maxBody>>20)
	}
	return n, err
}

func (b *body) Close() error { return b.rc.Close() }

// listen starts the idle limit, once the answer began.
func (c *Call) listen() {
	switch {
	case !c.started || c.limits.Idle == 0:
	case c.idle == nil:
		c.idle = c.limit(c.limits.Idle, "silent for %s")
	default:
		c.idle.Reset(c.limits.Idle)
	}
}
