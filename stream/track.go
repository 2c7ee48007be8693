package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream/frame"
	"github.com/parley-dev/parley/thread"
)

// track is the projection of an active run that its readers share: each frame
// is made once, by the reader that first wants it, and kept in a bounded ring.
type track struct {
	run     *thread.Run
	feed    *feed
	dialect dialect
	limit   int // bytes of frames
	readers int // guarded by the feed
	// whole says that the run began while the thread was watched.
	whole bool
	// ended is set when the run's row is final.
	ended atomic.Bool

	mu       sync.Mutex
	fold     fold
	seen     uint64 // version of the feed that was folded
	caughtUp bool   // seen holds: nothing is left to fold
	drained  bool   // the log was read once more after the end, which no event told
	frames   []frame.Frame
	bytes    int
	// evicted counts the frames that fell off the ring; the last of them had
	// these numbers. Frames of one entry leave together.
	evicted    int64
	evictedPos int64
	evictedN   int64
	checked    time.Time // when the run's row was read last
	doubt      doubt
	complete   int64 // Pos up to which the log is known to have no more of the run than was folded
}

// trackKey names a projection that is shared.
type trackKey struct {
	run     string
	dialect dialect
}

func newTrack(source Source, f *feed, run *thread.Run, d dialect, limit int) *track {
	t := &track{run: run, feed: f, dialect: d, limit: limit, fold: newFold(source, run, d), evictedN: -1}
	t.ended.Store(run.Status.Ended())
	return t
}

// advance folds what is new: from the feed's ring where that follows on, else a
// batch from the log. retry says that something is missing which must be in the
// log in a moment. The caller holds t.mu.
func (t *track) advance(ctx context.Context) (retry bool, err error) {
	if t.caughtUp && t.feed.version.Load() == t.seen {
		return false, nil
	}
	scratch := scratches.Get().(*[]thread.Entry)
	defer giveScratch(scratch)
	for made := len(t.frames); ; {
		version := t.feed.version.Load()
		if t.caughtUp && version == t.seen {
			return false, nil
		}
		t.caughtUp = false
		entries, covered, last := t.feed.since(t.run.ID, t.fold.pos, t.whole, (*scratch)[:0])
		*scratch = entries
		if t.fold.begun && len(entries) > 0 && entries[0].Pos != t.fold.pos+1 {
			// A lease was lost in between: its owner may have stored what this process, which has taken the run over, hasn't heard of.
			covered = false
		}
		finishes := covered && len(entries) > 0 && entries[len(entries)-1].Event.Kind == agent.RunFinished
		lookAgain := t.ended.Load() && !finishes && !t.fold.project.Finished() && !t.drained
		if !covered || lookAgain {
			read, next, err := t.catchUp(ctx, entries)
			if err != nil {
				return false, err
			}
			if read {
				t.doubt.ends()
				if len(t.frames) > made {
					return false, nil // show these first
				}
				continue
			}
			if !covered {
				again, lost, err := t.lacks(ctx, entries, next)
				if errors.Is(err, errUnwritten) {
					return true, nil
				}
				if err != nil {
					return false, err
				}
				if again {
					continue
				}
				var gap bool
				if entries, gap, err = joinable(entries, next, t.ended.Load()); err != nil {
					return true, nil
				}
				t.fold.gap = t.fold.gap || gap || lost
			}
			if lookAgain {
				known, err := t.endIsKnown(ctx)
				if err != nil {
					return false, err
				}
				if !known {
					if t.doubt.lasts() {
						return true, nil
					}
					t.doubt.ends()
					t.ended.Store(false) // a fail-over has taken it back: the run goes on
				}
				t.drained = known
			}
			if len(entries) == 0 && !t.fold.begun {
				t.fold.pos = max(t.fold.pos, last) // the run begins behind those that the ring has
			}
		}
		whole := contiguous(entries)
		if err := t.add(ctx, entries[:whole]); err != nil {
			return false, err
		}
		if whole < len(entries) {
			continue
		}
		t.seen, t.caughtUp = version, true
		return false, nil
	}
}

// scratches lends memory for one look at the ring.
var scratches = sync.Pool{New: func() any { s := make([]thread.Entry, 0, 64); return &s }}

// maxScratch is the largest one, in entries, that is kept for the next look.
const maxScratch = 1024

// giveScratch gives it back; it must not keep what the ring drops.
func giveScratch(s *[]thread.Entry) {
	if clear(*s); cap(*s) <= maxScratch {
		scratches.Put(s)
	}
}

var errUnwritten = errors.New("entries not in the log yet")

// catchUp folds a batch from the log, up to the entries that the ring has, and
// returns the Pos with which the log goes on from there.
func (t *track) catchUp(ctx context.Context, ring []thread.Entry) (read bool, next int64, err error) {
	stored, err := t.fold.read(ctx)
	if errors.Is(err, thread.ErrNotFound) { // removed with its log: what the ring has is all there is
		stored, err = nil, nil
	}
	if err != nil {
		return false, 0, err
	}
	if len(ring) > 0 {
		if i := slices.IndexFunc(stored, func(e thread.Entry) bool { return e.Pos >= ring[0].Pos }); i >= 0 {
			stored, next = stored[:i], stored[i].Pos
		}
	}
	return len(stored) > 0, next, t.add(ctx, stored)
}

// lacks is doubt.lacks of what the ring begins with or, if it has nothing, of what it missed.
func (t *track) lacks(ctx context.Context, ring []thread.Entry, next int64) (again, lost bool, err error) {
	must := mustHave(t.feed.missedTo(), ring)
	if next > 0 || must <= max(t.fold.pos, t.complete) {
		return false, false, nil
	}
	defer func() {
		if err == nil && !again {
			t.complete = must
		}
	}()
	log := threadLog{source: t.fold.source, threadID: t.run.ThreadID}
	return t.doubt.lacks(ctx, log, must, func() ([]thread.Entry, error) {
		stored, err := t.fold.read(ctx)
		if errors.Is(err, thread.ErrNotFound) {
			return nil, nil
		}
		return stored, err
	})
}

// endIsKnown tells whether the server whose log lacks the run's end knows that the run has ended.
func (t *track) endIsKnown(ctx context.Context) (bool, error) {
	run, err := t.fold.source.GetRun(ctx, t.run.ThreadID, t.run.ID)
	if errors.Is(err, thread.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("stream: run %s: %w", t.run.ID, err)
	}
	return run.Status.Ended(), nil
}

// add folds entries and keeps their frames.
func (t *track) add(ctx context.Context, entries []thread.Entry) error {
	for _, e := range entries {
		if e.Pos <= t.fold.pos {
			continue
		}
		frames, err := t.fold.apply(ctx, e)
		if err != nil {
			return err
		}
		for _, f := range frames {
			t.bytes += len(f.Wire)
		}
		if t.frames == nil {
			t.frames = (*frameLists.Get().(*[]frame.Frame))[:0]
		}
		t.frames = append(t.frames, frames...)
	}
	return nil
}

// frameLists lends the memory of lists of frames to tracks.
var frameLists = sync.Pool{New: func() any { l := make([]frame.Frame, 0, 64); return &l }}

// maxFrameList is the longest list whose memory is kept for the next track.
const maxFrameList = 1024

// release gives the memory of all frames back, once there is no reader.
func (t *track) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.frames
	t.frames = nil
	if n := cap(list); n > 0 && n <= maxFrameList {
		clear(list)
		frameLists.Put(&list)
	}
	t.fold.project.Release()
}

// trim drops the oldest frames while there are too many bytes, but none from
// index keep on. Views that readers hold stay valid: the memory is left to them.
func (t *track) trim(keep int) {
	drop := 0
	for drop < keep && t.bytes > t.limit {
		pos := t.frames[drop].Pos
		end := drop
		size := 0
		for end < len(t.frames) && t.frames[end].Pos == pos {
			size += len(t.frames[end].Wire)
			end++
		}
		if end > keep {
			break
		}
		t.bytes -= size
		drop = end
	}
	if drop == 0 {
		return
	}
	t.evicted += int64(drop)
	t.evictedPos, t.evictedN = t.frames[drop-1].Pos, t.frames[drop-1].N
	t.frames = slices.Clone(t.frames[drop:])
}

// over reports whether the run has ended and everything of it was folded. The
// run's row is final then: clients read it as soon as the stream closes.
func (t *track) over(ctx context.Context) (bool, error) {
	finished := t.fold.project.Finished()
	switch {
	case !t.caughtUp || !finished && !t.ended.Load():
		return false, nil
	case !finished:
		// The end was announced behind the last events: they may be newer than what was folded.
		return t.drained && t.seen == t.feed.version.Load(), nil
	case t.ended.Load():
		return true, nil
	}
	return t.readRow(ctx)
}

// readRow looks whether the run's row is final, in case nobody says so.
func (t *track) readRow(ctx context.Context) (ended bool, err error) {
	t.checked = time.Now()
	run, err := t.fold.source.GetRun(ctx, t.run.ThreadID, t.run.ID)
	if err != nil && !errors.Is(err, thread.ErrNotFound) {
		return false, fmt.Errorf("stream: run %s: %w", t.run.ID, err)
	}
	if err != nil || run.Status.Ended() {
		t.ended.Store(true)
	}
	return t.ended.Load(), nil
}
