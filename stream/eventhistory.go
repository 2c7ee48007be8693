package stream

import (
	"context"

	"github.com/parley-dev/parley/stream/frame"
	"github.com/parley-dev/parley/stream/protocol"
	"github.com/parley-dev/parley/thread"
)

// eventHistory is a reader's own replay of a thread from the log, with the frames
// of the channels that the reader wants alone.
type eventHistory struct {
	log     threadLog
	project *protocol.Projection
	states  stateCache
	pos     int64 // of the last entry that was folded; at first that of the reader
	begun   bool
	done    bool      // the log has no more
	cut     *logStart // the log began behind pos, as next found out just now
	frames  []frame.Frame
}

// newEventHistory returns the replay of what lies behind pos.
func newEventHistory(t *eventTrack, pos int64, channels protocol.Channel) *eventHistory {
	h := &eventHistory{
		log: t.log, project: protocol.New(t.options), pos: pos,
		states: stateCache{source: t.log.source, threadID: t.log.threadID},
	}
	h.project.Want(channels)
	h.project.Skip(pos)
	return h
}

// next returns the frames of the next batch; they are valid until the next call.
// None without done means: call again.
func (h *eventHistory) next(ctx context.Context) ([]frame.Frame, error) {
	if !h.begun {
		if err := h.rewind(ctx); err != nil {
			return nil, err
		}
		h.begun = true
	}
	entries, err := h.log.read(ctx, h.pos, logBatch)
	if err == nil && len(entries) > 0 && entries[0].Snapshot {
		entries, err = h.restart(ctx)
	}
	if err != nil {
		return nil, err
	}
	h.done = len(entries) == 0
	h.project.Recycle()
	if h.frames == nil {
		h.frames = *frameLists.Get().(*[]frame.Frame)
	}
	h.frames = h.frames[:0]
	for _, e := range entries {
		state, err := h.states.get(ctx, e.Event.NS, h.project.NeedsState(e))
		if err != nil {
			return nil, err
		}
		if f, ok := h.project.Project(e, state); ok {
			h.frames = append(h.frames, f)
		}
		h.pos = e.Pos
	}
	return h.frames, nil
}

// logStart is a snapshot at the start of a log: the seqs up to to are gone, and
// free is one of them that the snapshot has left unused.
type logStart struct{ free, to, at int64 }

// restart begins with the snapshot at the start of the log: part of it shows nothing.
func (h *eventHistory) restart(ctx context.Context) ([]thread.Entry, error) {
	entries, err := h.log.read(ctx, 0, logBatch)
	if err != nil || len(entries) == 0 || !entries[0].Snapshot {
		return entries, err
	}
	h.project.Skip(0)
	h.cut = &logStart{free: entries[0].Seq - 1, at: entries[0].Event.At}
	for _, e := range entries {
		if e.Snapshot {
			h.cut.to = e.Seq
		}
	}
	return entries, nil
}

// release gives the memory of all frames back.
func (h *eventHistory) release() {
	h.project.Release()
	if n := cap(h.frames); n > 0 && n <= maxFrameList {
		list := h.frames[:n]
		clear(list)
		frameLists.Put(&list)
	}
	h.frames = nil
}

// rewind goes back to the first event of the run that pos lies in: the
// projection has to know it whole.
func (h *eventHistory) rewind(ctx context.Context) error {
	if h.pos == 0 {
		return nil
	}
	entries, err := h.log.read(ctx, h.pos-1, 1)
	if err != nil || len(entries) == 0 || entries[0].Pos > h.pos || isEdit(entries[0]) || entries[0].Snapshot {
		return err
	}
	first, err := h.log.runStart(ctx, entries[0].RunID)
	if err == nil && first > 0 {
		h.pos = first - 1
	}
	return err
}
