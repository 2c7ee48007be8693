package stream

import (
	"context"
	"errors"
	"slices"

	"github.com/parley-dev/parley/stream/frame"
	"github.com/parley-dev/parley/stream/protocol"
	"github.com/parley-dev/parley/thread"
)

// EventOptions say which events of a thread a reader gets.
type EventOptions struct {
	Filters protocol.Filters
	// Since leaves out events up to this seq; below 0 it leaves out none.
	Since int64
	// Admit, when set, is asked before the first event of a thread is given out,
	// which may be long after the reader came. If it says no, the reader gets
	// nothing, as if the thread didn't exist.
	Admit func(ctx context.Context) (bool, error)
	// NoErrorText leaves the error out of failed lifecycle events (decisions 11).
	// It must be the same for all readers of a hub.
	NoErrorText bool
}

// OpenEvents prepares a stream of the thread protocol (spec/streaming-protocol.md
// 1.3): what the log has of the thread's whole life, then live, over any number
// of runs. The thread doesn't have to exist yet. The stream never ends cleanly:
// the client goes away, or the connection is aborted as by ServeRun.
func (h *Hub) OpenEvents(threadID string, e EventOptions, o Options) *Stream {
	s := h.open(o, frame.Frame.AppendTo)
	s.sender.write, s.sender.rewrite = frame.Frame.AppendTo, false // ids are part of the protocol
	s.eager = true
	s.begin = func(context.Context) (reader, error) {
		return &eventFrames{r: h.NewEventReader(threadID, e)}, nil
	}
	return s
}

// EventReader is a place in the events of a thread: a cursor, no goroutine and
// no queue. It is used by one goroutine, but for Changed. Close it.
type EventReader struct {
	hub     *Hub
	track   *eventTrack
	filters protocol.Filters

	admit    func(ctx context.Context) (bool, error) // nil once it was asked
	refused  bool
	admitter func(ctx context.Context) (bool, error)

	opened bool
	epoch  uint64
	pos    int64 // of the last entry that was looked at
	seq    int64 // events up to this one are left out
	past   *eventHistory
	tries  int // of past, without anything new
	seen   uint64

	replay replay
	out    []protocol.Frame
}

// NewEventReader returns a reader.
func (h *Hub) NewEventReader(threadID string, o EventOptions) *EventReader {
	return &EventReader{
		hub: h, filters: o.Filters, seq: max(o.Since, -1), admit: o.Admit, admitter: o.Admit,
		track: h.eventTrack(threadID, protocol.Options{NoErrorText: o.NoErrorText}),
	}
}

// Close gives the reader up.
func (r *EventReader) Close() { r.hub.leaveEvents(r.track) }

// Next returns the next events that pass the filters. The frames are shared:
// don't change them; they are valid until the next call. None with an unclosed
// channel from Changed means: wait.
func (r *EventReader) Next(ctx context.Context) ([]protocol.Frame, status, error) {
	frames, state, err := r.take(ctx)
	if err != nil || len(frames) == 0 {
		return nil, state, err
	}
	if r.admit != nil {
		mine, err := r.admit(ctx)
		if err != nil && !errors.Is(err, thread.ErrNotFound) {
			return nil, waiting, err
		}
		r.refused, r.admit = !mine, nil
	}
	if r.refused {
		return nil, state, nil
	}
	return frames, state, nil
}

func (r *EventReader) take(ctx context.Context) ([]protocol.Frame, status, error) {
	if !r.opened {
		if err := r.open(ctx); err != nil {
			return nil, waiting, err
		}
	}
	if r.past != nil {
		return r.fromLog(ctx)
	}
	t := r.track
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.epoch != t.epoch { // another thread has taken the id
		r.epoch, r.pos, r.seq, r.replay = t.epoch, 0, -1, replay{}
		r.admit = r.admitter
	}
	frames, state, behind, err := t.after(ctx, r.pos, r.filters.Channels())
	if err != nil {
		return nil, waiting, err
	}
	if behind { // too slow for the ring, or with a wider filter: read on from the log
		r.past = newEventHistory(t, r.pos, r.filters.Channels())
		return nil, more, nil
	}
	r.seen = t.seen
	if n := len(frames); n > 0 {
		r.pos = max(r.pos, frames[n-1].Pos)
	}
	if state == waiting {
		r.pos = max(r.pos, t.pos)
	}
	return r.pass(frames), state, nil
}

// fromLog takes from the reader's own replay, until that has reached the ring.
func (r *EventReader) fromLog(ctx context.Context) ([]protocol.Frame, status, error) {
	frames, err := r.past.next(ctx)
	if err != nil {
		return nil, waiting, err
	}
	if r.past.pos > r.pos {
		r.pos, r.tries = r.past.pos, 0
	}
	t := r.track
	t.mu.Lock()
	defer t.mu.Unlock()
	from := t.made(r.filters.Channels())
	switch {
	case r.pos >= from:
		r.past = nil
	case r.past.done && (from <= t.end || r.tries >= maxTries):
		r.pos, r.past = from, nil // the log has no more: what lies between is gone
	case r.past.done:
		r.tries++
		return r.pass(frames), missing, nil
	}
	return r.pass(frames), more, nil
}

// pass leaves out what the filters and the cursor leave out.
func (r *EventReader) pass(frames []protocol.Frame) []protocol.Frame {
	r.out = r.out[:0]
	for i := range frames {
		f := &frames[i]
		if f.Seq > r.seq && r.filters.Passes(f) && !r.replay.stale(f) {
			r.out = append(r.out, *f)
		}
	}
	if len(r.out) == 0 {
		r.out = nil // an idle reader holds no memory
		return nil
	}
	return r.out
}

// Changed is closed once there is something that the last call of Next didn't see.
func (r *EventReader) Changed() <-chan struct{} {
	if r.past != nil {
		return closedChannel
	}
	return r.track.feed.after(r.seen)
}

// Idle is to be called from time to time while nothing happens.
func (r *EventReader) Idle(ctx context.Context) { r.track.idle(ctx) }

// replay is what a reader knows of the time before it came.
type replay struct {
	// end is the Pos of the newest entry when the reader came.
	end int64
	// runs are those whose beginning and end are told although they are past.
	runs []string
}

// stale reports whether the frame tells of the beginning or the end of a run that
// a later one superseded before the reader came: clients would take it for that
// of the later run (spec/streaming-protocol.md 4.4).
func (p *replay) stale(f *protocol.Frame) bool {
	return f.Root && f.Pos <= p.end && !slices.Contains(p.runs, f.RunID)
}

// eventFrames is an EventReader as streams are served from.
type eventFrames struct {
	r   *EventReader
	out []frame.Frame
}

func (e *eventFrames) next(ctx context.Context) ([]frame.Frame, status, error) {
	frames, state, err := e.r.Next(ctx)
	e.out = e.out[:0]
	for i := range frames {
		e.out = append(e.out, frames[i].Frame)
	}
	if len(e.out) == 0 {
		e.out = nil
	}
	return e.out, state, err
}

func (e *eventFrames) lost() bool               { return false }
func (e *eventFrames) changed() <-chan struct{} { return e.r.Changed() }
func (e *eventFrames) idle(ctx context.Context) { e.r.Idle(ctx) }
func (e *eventFrames) close()                   { e.r.Close() }
