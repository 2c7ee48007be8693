package stream

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/parley-dev/parley/stream/frame"
	"github.com/parley-dev/parley/thread"
)

// status says what a reader has to do after it took what there is.
type status int

const (
	more    status = iota // take again
	waiting               // wait for a change
	missing               // try again in a moment
	ended                 // the run is over
)

// runReader is one reader's place in a run: a cursor, no goroutine and no queue.
type runReader struct {
	hub   *Hub
	track *track // nil for a run that has ended

	after int64    // number of the last frame that the client has; -1 for none
	begun bool     // a frame was taken
	at    int64    // the track's frame to be taken next, counted from its first
	seen  uint64   // version of the feed that the track had folded
	past  *history // the reader's own replay, while it is behind the ring
	tries int      // of past, without anything new
	gap   bool     // the client misses frames before the next one
	doubt doubt
}

// newRunReader returns a reader of the frames behind number after. Close it.
func (h *Hub) newRunReader(run *thread.Run, after int64) *runReader {
	return h.openRun(run, classicFrames, after, false)
}

// openRun is newRunReader for a run that may have been watched from its start.
func (h *Hub) openRun(run *thread.Run, d dialect, after int64, fromStart bool) *runReader {
	r := &runReader{hub: h, after: after}
	if run.Status.Ended() {
		r.past = newHistory(h.source, run, d, after, true)
		return r
	}
	r.track = h.track(run, d, fromStart)
	t := r.track
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.evicted > 0 {
		if after >= t.evictedN && !t.fold.truncated {
			r.at = t.evicted
		} else {
			r.past = newHistory(h.source, run, d, after, true)
		}
	}
	return r
}

func (r *runReader) close() {
	if r.past != nil {
		r.past.project.Release()
	}
	if r.track != nil {
		r.hub.untrack(r.track)
	}
}

// next takes what is new. The frames are shared: don't change them; they are
// valid until the next call.
func (r *runReader) next(ctx context.Context) ([]frame.Frame, status, error) {
	if r.past != nil {
		return r.fromLog(ctx)
	}
	t := r.track
	t.mu.Lock()
	defer t.mu.Unlock()
	retry := false
	if r.at >= t.evicted+int64(len(t.frames)) {
		var err error
		keep := len(t.frames)
		retry, err = t.advance(ctx)
		t.trim(keep)
		if err != nil {
			return nil, waiting, err
		}
	}
	if r.at < t.evicted { // too slow for the ring: read on from the log
		r.past = newHistory(r.hub.source, t.run, t.dialect, r.after, !r.begun)
		return nil, more, nil
	}
	frames := t.frames[r.at-t.evicted:]
	r.at += int64(len(frames))
	r.seen = t.seen
	frames = r.take(frames, t.fold.truncated)
	over, err := t.over(ctx)
	switch {
	case err != nil:
		return nil, waiting, err
	case retry:
		return frames, missing, nil
	case over:
		return frames, ended, nil
	case !t.caughtUp:
		return frames, more, nil
	case t.fold.project.Finished():
		return frames, missing, nil // the row will be final in a moment
	}
	return frames, waiting, nil
}

// take leaves out what the client has, and notes whether it misses something.
func (r *runReader) take(frames []frame.Frame, truncated bool) []frame.Frame {
	if r.begun || !truncated {
		frames = frames[sort.Search(len(frames), func(i int) bool { return frames[i].N > r.after }):]
	}
	if len(frames) == 0 {
		return nil
	}
	if !r.begun {
		r.begun = true
		r.gap = r.gap || truncated || r.after >= 0 && frames[0].Prev != r.after
	}
	r.after = frames[len(frames)-1].N
	return frames
}

// lost reports, once, that the client misses frames before those just taken.
func (r *runReader) lost() bool {
	gap := r.gap
	r.gap = false
	return gap
}

// maxTries bounds how often a reader looks for entries that the log should have.
const maxTries = 200

// fromLog takes from the reader's own replay, until that has reached the ring.
func (r *runReader) fromLog(ctx context.Context) ([]frame.Frame, status, error) {
	frames, err := r.past.next(ctx)
	if err != nil {
		return nil, waiting, err
	}
	frames = r.take(frames, r.past.truncated)
	if r.track == nil {
		if !r.past.done {
			return frames, more, nil
		}
		if !r.past.project.Finished() {
			switch run, err := r.hub.source.GetRun(ctx, r.past.run.ThreadID, r.past.run.ID); {
			case err != nil && !errors.Is(err, thread.ErrNotFound):
				return nil, waiting, fmt.Errorf("stream: run %s: %w", r.past.run.ID, err)
			case err == nil && !run.Status.Ended() && r.doubt.lasts():
				return frames, missing, nil // asked was a server that doesn't know of the end
			}
		}
		if !r.past.begun && r.after >= 0 && !r.past.run.StartedAt.IsZero() {
			r.gap = true // its log is gone
		}
		return frames, ended, nil
	}
	t := r.track
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.past.pos < t.evictedPos {
		if !r.past.done {
			r.tries = 0
			return frames, more, nil
		}
		if r.tries++; r.tries < maxTries && !t.ended.Load() {
			return frames, missing, nil
		}
		r.gap = true
	}
	r.at = t.evicted + int64(sort.Search(len(t.frames), func(i int) bool { return t.frames[i].Pos > r.past.pos }))
	r.past, r.tries = nil, 0
	return frames, more, nil
}

// position is the Pos that the reader has reached.
func (r *runReader) position() int64 {
	if r.track == nil {
		return r.past.pos
	}
	r.track.mu.Lock()
	defer r.track.mu.Unlock()
	return r.track.fold.pos
}

// changed is closed once there is something that the last call of next didn't see.
func (r *runReader) changed() <-chan struct{} {
	if r.track == nil {
		return closedChannel
	}
	return r.track.feed.after(r.seen)
}

// rowInterval is how often the row of a silent run is read, in case its end wasn't announced.
const rowInterval = 5 * time.Second

// idle is called from time to time while nothing happens.
func (r *runReader) idle(ctx context.Context) {
	t := r.track
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended.Load() || time.Since(t.checked) < rowInterval-time.Second {
		return
	}
	if over, err := t.readRow(ctx); err == nil && over {
		t.caughtUp = false // read the log once more
		t.feed.nudge()
	}
}
