package stream

import (
	"context"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream/frame"
	"github.com/parley-dev/parley/thread"
)

// history is a reader's own replay of a run from the log: for a run that has
// ended, and for frames that fell off the shared ring.
type history struct {
	fold
	fresh bool // the number to start behind is the client's, not one that was sent just now
	done  bool // the log has no more
	all   []frame.Frame
}

func newHistory(source Source, run *thread.Run, d dialect, after int64, fresh bool) *history {
	h := &history{fold: newFold(source, run, d), fresh: fresh}
	h.project.Skip(after)
	return h
}

// next returns the frames of the next batch; they are valid until the next
// call. None without done means: call again.
func (h *history) next(ctx context.Context) ([]frame.Frame, error) {
	h.project.Recycle()
	entries, err := h.read(ctx)
	if err != nil {
		return nil, err
	}
	h.done = len(entries) == 0
	if h.fresh && len(entries) > 0 && !h.begun && entries[0].Event.Kind != agent.RunStarted {
		h.project.Skip(-1) // the numbers aren't those that the client knows: show all there is
	}
	all := h.all[:0]
	for _, e := range entries {
		frames, err := h.apply(ctx, e)
		if err != nil {
			return nil, err
		}
		all = append(all, frames...)
	}
	h.all = all
	return all, nil
}
