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
	// Since leaves out events up to this seq; below 1 it leaves out none.
	Since int64
	// Admit, when set, is asked before the first event of a thread is given out,
	// which may be long after the reader came. If it says no, the reader gets
	// nothing, as if the thread didn't exist.
	Admit func(ctx context.Context) (bool, error)
	// NoFailureText leaves the error out of failed lifecycle events (decisions 11).
	// It must be the same for all readers of a hub.
	NoFailureText bool

	fromEnd bool // begin behind all that is past
}

// OpenEvents prepares a stream of the thread protocol (spec/streaming-protocol.md
// 1.3): what the log has of the thread's whole life, then live, over any number
// of runs. The thread doesn't have to exist yet. The stream never ends cleanly:
// the client goes away, or the connection is aborted as by ServeRun.
func (h *Hub) OpenEvents(threadID string, e EventOptions, o Options) *Stream {
	o.NoIDs = false // ids are part of the protocol
	s := h.open(o, frame.Frame.AppendTo)
	s.eager = true
	s.begin = func(context.Context) (reader, error) {
		return h.newEventReader(threadID, e), nil
	}
	return s
}

// eventReader is a place in the events of a thread: a cursor, no goroutine and no
// queue. It is used by one goroutine.
type eventReader struct {
	hub     *Hub
	track   *eventTrack
	filters protocol.Filters
	fromEnd bool

	// admit is Admit of the options; asked is set once it was, refused if it said no.
	admit          func(ctx context.Context) (bool, error)
	asked, refused bool

	opened bool
	epoch  uint64 // of the track
	pos    int64  // of the last entry that was looked at
	cursor int64  // seq of the last event that the client had when it came; 0 for none
	seq    int64  // events up to this one are left out
	last   int64  // seq of the last event that was looked at; 0 for none
	past   *eventHistory
	spent  *eventHistory // whose last frames next has returned
	tries  int           // of past, without anything new
	sure   bool          // the log reached the ring before past looked the last time
	gap    bool          // events were lost before the next one
	seen   uint64

	lead   []frame.Frame // to be given out before all else
	replay replay
	lent   *[]frame.Frame // what next returned, unless it is the track's
}

// newEventReader returns a reader. Close it.
func (h *Hub) newEventReader(threadID string, o EventOptions) *eventReader {
	return &eventReader{
		hub: h, filters: o.Filters, cursor: max(o.Since, 0), seq: max(o.Since, 0), fromEnd: o.fromEnd, admit: o.Admit,
		track: h.eventTrack(threadID, protocol.Options{NoFailureText: o.NoFailureText}),
	}
}

func (r *eventReader) close() {
	r.giveBack()
	r.forget()
	r.drop()
	r.forget()
	r.hub.leaveEvents(r.track)
}

// next returns the next events that pass the filters. The frames are shared:
// don't change them; they are valid until the next call.
func (r *eventReader) next(ctx context.Context) ([]frame.Frame, status, error) {
	frames, state, err := r.take(ctx)
	if err != nil || len(frames) == 0 || r.admit == nil {
		return frames, state, err
	}
	if !r.asked {
		mine, err := r.admit(ctx)
		if err != nil && !errors.Is(err, thread.ErrNotFound) {
			return nil, waiting, err
		}
		r.asked, r.refused = true, !mine
	}
	if r.refused {
		return nil, state, nil
	}
	return frames, state, nil
}

// mine reports whether the client may know of the thread: it exists, and Admit says yes.
func (r *eventReader) mine(ctx context.Context) (bool, error) {
	if r.admit == nil {
		return true, nil
	}
	mine, err := r.admit(ctx)
	if errors.Is(err, thread.ErrNotFound) {
		return false, nil
	}
	return mine, err
}

func (r *eventReader) take(ctx context.Context) ([]frame.Frame, status, error) {
	r.forget()
	if !r.opened {
		if err := r.open(ctx); err != nil {
			return nil, waiting, err
		}
	}
	if r.lead != nil {
		lead := slices.DeleteFunc(r.lead, func(f frame.Frame) bool { return !r.filters.Passes(f.Label) || r.replay.stale(&f) })
		r.lead = nil
		return lead, more, nil
	}
	if r.past != nil {
		return r.fromLog(ctx)
	}
	frames, state, err := r.fromTrack(ctx)
	if err != nil {
		return nil, waiting, err
	}
	frames, err = r.pass(ctx, frames)
	return frames, state, err
}

// fromTrack takes from the shared projection.
func (r *eventReader) fromTrack(ctx context.Context) ([]frame.Frame, status, error) {
	t := r.track
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.epoch != t.epoch { // another thread has taken the id
		r.epoch, r.pos, r.cursor, r.seq, r.last, r.replay, r.asked, r.gap = t.epoch, 0, 0, 0, 0, replay{}, false, false
	}
	frames, state, behind, err := t.after(ctx, r.pos, r.filters.Channels())
	if err != nil {
		return nil, waiting, err
	}
	if r.epoch != t.epoch { // found out just now
		return nil, more, nil
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
	return frames, state, nil
}

// fromLog takes from the reader's own replay, until that has reached the ring.
func (r *eventReader) fromLog(ctx context.Context) ([]frame.Frame, status, error) {
	frames, err := r.past.next(ctx)
	if err != nil {
		return nil, waiting, err
	}
	if r.past.pos > r.pos {
		r.pos, r.tries, r.sure = r.past.pos, 0, false
	}
	notice, cut := r.cutNotice()
	state, err := r.caughtUp(ctx)
	if err != nil {
		return nil, waiting, err
	}
	frames, err = r.pass(ctx, frames)
	if cut && err == nil {
		frames = r.prepend(notice, frames)
	}
	return frames, state, err
}

// caughtUp looks whether the replay has reached the ring.
func (r *eventReader) caughtUp(ctx context.Context) (status, error) {
	t := r.track
	t.mu.Lock()
	defer t.mu.Unlock()
	from := t.made(r.filters.Channels())
	switch {
	case r.pos >= from || r.epoch != t.epoch:
		r.drop()
		return more, nil
	case !r.past.done:
		return more, nil
	case r.sure || r.tries >= maxTries:
		r.pos, r.gap = from, r.gap || !r.sure // the log has no more: what lies between was removed, or is lost
		r.drop()
		return more, nil
	}
	end, _, err := t.log.end(ctx)
	if err != nil {
		return waiting, err
	}
	if r.sure = end >= from; r.sure {
		return more, nil // it reaches there: if the next look finds nothing, that was removed
	}
	r.tries++
	return missing, nil // published, and about to be stored
}

// drop ends the reader's own replay; what it returned last stays valid until forget.
func (r *eventReader) drop() { r.spent, r.past, r.tries, r.sure = r.past, nil, 0, false }

// forget gives the memory of a replay that has ended back.
func (r *eventReader) forget() {
	if r.spent != nil {
		r.spent.release()
		r.spent = nil
	}
}

// pass leaves out what the filters and the cursor leave out, and says where
// events are missing.
func (r *eventReader) pass(ctx context.Context, frames []frame.Frame) ([]frame.Frame, error) {
	r.giveBack()
	all := !r.gap
	for i := range frames {
		all = all && !frames[i].Gap && r.wants(&frames[i])
	}
	if all { // as they are, without a copy
		if n := len(frames); n > 0 {
			r.last = frames[n-1].Seq
		}
		return frames, nil
	}
	r.lent = frameLists.Get().(*[]frame.Frame)
	out := (*r.lent)[:0]
	for i := range frames {
		f := frames[i]
		f.Gap, r.gap = f.Gap || r.gap, false
		if from := r.told() + 1; f.Gap && r.last > 0 && f.Seq > from {
			lost, err := r.gapFrames(ctx, from, f.Seq-1, f.Seq-1)
			if err != nil {
				return nil, err
			}
			for j := range lost {
				if r.filters.Passes(lost[j].Label) {
					out = append(out, lost[j])
				}
			}
		}
		r.last = max(r.last, f.Seq)
		if r.wants(&f) {
			f.Gap = false // said by an event of its own
			out = append(out, f)
		}
	}
	*r.lent = out
	if len(out) == 0 {
		r.giveBack()
	}
	return out, nil
}

// wants reports whether the client is to get an event.
func (r *eventReader) wants(f *frame.Frame) bool {
	return f.Seq > r.seq && r.filters.Passes(f.Label) && !r.replay.stale(f)
}

// giveBack gives the list of the last events back: an idle reader holds no memory.
func (r *eventReader) giveBack() {
	if r.lent == nil {
		return
	}
	if clear(*r.lent); cap(*r.lent) <= maxFrameList {
		frameLists.Put(r.lent)
	}
	r.lent = nil
}

// setFilters changes what passes from here on.
func (r *eventReader) setFilters(fs protocol.Filters) {
	r.filters = fs
	if r.past != nil {
		r.drop()
		r.past = newEventHistory(r.track, r.pos, fs.Channels())
	}
}

// count is the number of past events up to a Pos that the reader is going to get.
func (r *eventReader) count(ctx context.Context, upTo int64) (n int, err error) {
	if mine, err := r.mine(ctx); err != nil || !mine {
		return 0, err
	}
	if !r.opened {
		if err := r.open(ctx); err != nil {
			return 0, err
		}
	}
	for i := range r.lead {
		if r.filters.Passes(r.lead[i].Label) && !r.replay.stale(&r.lead[i]) {
			n++
		}
	}
	past := newEventHistory(r.track, r.pos, r.filters.Channels())
	defer past.release()
	past.project.Count()
	for past.pos < upTo && !past.done {
		frames, err := past.next(ctx)
		if err != nil {
			return 0, err
		}
		if cut := past.cut; cut != nil && r.told() < cut.to {
			r.seq = min(r.seq, cut.free)
			if r.filters.Passes(&noticeLabel) {
				n++
			}
		}
		past.cut = nil
		for i := range frames {
			if f := &frames[i]; f.Pos <= upTo && r.wants(f) {
				n++
			}
		}
	}
	return n, nil
}

// changed is closed once there is something that the last call of next didn't see.
func (r *eventReader) changed() <-chan struct{} {
	if r.past != nil || r.lead != nil {
		return closedChannel
	}
	return r.track.feed.after(r.seen)
}

// replay is what a reader knows of the time before it came.
type replay struct {
	// end is the Pos of the newest entry when the reader came.
	end int64
	// runs are those whose beginning and end are told although they are past.
	runs []string
	// active is set when one of them had not ended.
	active bool
}

// stale reports whether the frame tells of the beginning or the end of a run that
// a later one superseded before the reader came: clients would take it for that
// of the later run (spec/streaming-protocol.md 4.4).
func (p *replay) stale(f *frame.Frame) bool {
	return f.Label.Root && f.Pos <= p.end && !slices.Contains(p.runs, f.Label.RunID)
}

// lost implements reader: a gap is said by an event of its own.
func (r *eventReader) lost() bool { return false }

// idle implements reader.
func (r *eventReader) idle(ctx context.Context) { r.track.idle(ctx) }
