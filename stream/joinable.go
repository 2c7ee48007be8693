package stream

import (
	"slices"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// joinable returns the part of the ring's entries that can follow although
// entries before them are missing, and whether something is lost so; next is the
// Pos with which the log goes on, 0 for its end. The log is written in the order
// of Pos, so that what it left out before next was lost with a dead worker. Else,
// since Pos has no holes within one lease, what is missing was published before it
// was stored and before the watch began: it will be in the log within
// milliseconds, or never, if the worker is dead and the next owner starts the run
// anew (decisions 2), or if the run has ended.
func joinable(entries []thread.Entry, next int64, ended bool) (follow []thread.Entry, gap bool, err error) {
	if len(entries) == 0 || entries[0].Event.Kind == agent.RunStarted {
		return entries, false, nil
	}
	if next > 0 {
		gap = next > entries[0].Pos
		return slices.DeleteFunc(entries, func(e thread.Entry) bool { return e.Pos < next }), gap, nil
	}
	if isEdit(entries[0]) { // was stored before it was published: the log has been cut since
		return entries, true, nil
	}
	for i, e := range slices.Backward(entries) {
		if e.Event.Kind == agent.RunStarted {
			return entries[i:], true, nil
		}
	}
	if ended {
		return entries, true, nil
	}
	return nil, false, errUnwritten
}
