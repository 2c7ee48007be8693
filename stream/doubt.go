package stream

import (
	"context"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// doubtful is how long a log is asked again that doesn't have what must be in it. It may be
// that of a server which doesn't know yet that it was deposed, or the one that took its place
// has lost it: the connections of a process change over one by one.
const doubtful = 5 * time.Second

// doubt is about what the log must have, and hasn't.
type doubt struct{ since time.Time }

// lasts tells whether to ask again. It begins with the first call.
func (d *doubt) lasts() bool {
	if d.since.IsZero() {
		d.since = time.Now()
	}
	return time.Since(d.since) < doubtful
}

// ends is called once the log was right, or is taken for it.
func (d *doubt) ends() { d.since = time.Time{} }

// lacks looks why a log has nothing behind some place although it must reach to a Pos. If that was
// removed, the log does reach there, and another look, which again tells of, finds nothing either.
// Else the server that was asked doesn't know of it: it is asked some time later, with
// errUnwritten, until it is taken for lost.
func (d *doubt) lacks(ctx context.Context, log threadLog, must int64, look func() ([]thread.Entry, error)) (again, lost bool, err error) {
	end, _, err := log.end(ctx)
	if err != nil {
		return false, false, err
	}
	switch {
	case end >= must || end == 0: // 0: the thread was deleted
		stored, err := look()
		return len(stored) > 0, false, err
	case d.lasts():
		return false, false, errUnwritten
	}
	d.ends()
	return false, true, nil
}

// mustHave is the Pos to which a log reaches, as far as that follows from what the ring begins
// with, or end if it is empty. A run's beginning, and an edit, is stored before it is published.
func mustHave(end int64, ring []thread.Entry) int64 {
	switch {
	case len(ring) == 0:
		return end
	case ring[0].Event.Kind == agent.RunStarted || isEdit(ring[0]):
		return ring[0].Pos
	}
	return 0
}
