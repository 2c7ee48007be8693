package stream

import (
	"strconv"
	"strings"
)

// runCursor reads the Last-Event-ID of a run stream: the number of the last
// frame the client has. Without one, with -1 and with one that is no number the
// client gets everything (decisions 11).
func runCursor(id string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(id), 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// threadCursor is a place in the stream of a thread: behind the frame with this
// seq and sub.
type threadCursor struct {
	seq int64
	sub int
}

// parseThreadCursor reads an id of the form <ms>-<seq>[.<sub>].
func parseThreadCursor(id string) (threadCursor, bool) {
	_, rest, ok := strings.Cut(strings.TrimSpace(id), "-")
	if !ok {
		return threadCursor{}, false
	}
	seqText, subText, hasSub := strings.Cut(rest, ".")
	seq, err := strconv.ParseInt(seqText, 10, 64)
	if err != nil || seq < 0 || strings.HasPrefix(id, "-") {
		return threadCursor{}, false
	}
	c := threadCursor{seq: seq}
	if hasSub {
		if c.sub, err = strconv.Atoi(subText); err != nil || c.sub < 0 {
			return threadCursor{}, false
		}
	}
	return c, true
}

// before reports whether the cursor lies before another.
func (c threadCursor) before(d threadCursor) bool {
	return c.seq < d.seq || c.seq == d.seq && c.sub < d.sub
}
