package stream

import (
	"context"
	"errors"
	"math/bits"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/parley-dev/parley/stream/frame"
	"github.com/parley-dev/parley/stream/protocol"
	"github.com/parley-dev/parley/thread"
)

// eventTrack is the projection of a thread that its readers share: each frame is
// made once, by the reader that first wants it, and kept in a bounded ring. It
// begins with the run that is active when the first reader comes, or behind all
// that is past; what lies before readers take from the log.
type eventTrack struct {
	log     threadLog
	feed    *feed
	limit   int // bytes of frames
	readers int // guarded by the feed

	options protocol.Options

	mu      sync.Mutex
	started bool
	project *protocol.Projection // nil until there is something to project
	states  stateCache
	pos     int64 // of the last entry that was folded
	end     int64 // of the newest entry in the log when it was looked at last
	epoch   uint64

	seen     uint64 // version of the feed that was folded
	caughtUp bool   // seen holds: nothing is left to fold

	// want are the channels whose frames are made: those that some reader wanted.
	want protocol.Channel
	// from is, by channel, the Pos behind which its frames are made.
	from [protocol.ChannelCount]int64

	frames  []frame.Frame
	bytes   int
	evicted int64 // Pos of the last frame that fell off the ring, at least where the track began
	gap     bool  // entries were lost before the next frame
	doubt   doubt
	checked time.Time
}

// eventTrack returns the shared projection of a thread, for one more reader. The
// feed stays watched until leaveEvents.
func (h *Hub) eventTrack(threadID string, o protocol.Options) *eventTrack {
	f := h.watch(threadID)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.events == nil {
		f.events = &eventTrack{
			log: threadLog{source: h.source, threadID: threadID}, feed: f, limit: h.ringBytes, options: o,
			states: stateCache{source: h.source, threadID: threadID},
		}
	}
	f.events.readers++
	return f.events
}

func (h *Hub) leaveEvents(t *eventTrack) {
	t.feed.mu.Lock()
	t.readers--
	last := t.readers == 0
	if last {
		t.feed.events = nil
	}
	t.feed.mu.Unlock()
	if last {
		t.release()
	}
	h.unwatch(t.feed)
}

// start finds where the track begins. The caller holds t.mu.
func (t *eventTrack) start(ctx context.Context) error {
	if t.started {
		return nil
	}
	end, _, err := t.log.end(ctx)
	if err != nil {
		return err
	}
	at := end
	if end > 0 {
		if at, err = t.activeFrom(ctx, end); err != nil {
			return err
		}
	}
	t.end, t.pos, t.evicted = end, at, at
	t.checked = time.Now()
	t.started = true
	return nil
}

// activeFrom is the Pos before the first entry of the run that is active, or end.
func (t *eventTrack) activeFrom(ctx context.Context, end int64) (int64, error) {
	run, first, err := t.log.active(ctx)
	if err != nil || run == nil {
		return end, err
	}
	return min(end, first-1), nil
}

// made is the Pos behind which all frames of the channels are in the ring. The
// caller holds t.mu.
func (t *eventTrack) made(channels protocol.Channel) int64 {
	from := t.evicted
	for c := uint16(channels & protocol.All); c != 0; c &= c - 1 {
		from = max(from, t.from[bits.TrailingZeros16(c)])
	}
	return from
}

// widen makes frames of the channels from now on.
func (t *eventTrack) widen(channels protocol.Channel) {
	fresh := channels &^ t.want
	if fresh == 0 {
		return
	}
	for c := uint16(fresh); c != 0; c &= c - 1 {
		t.from[bits.TrailingZeros16(c)] = t.pos
	}
	t.want |= channels
	if t.project != nil {
		t.project.Want(t.want)
	}
}

// after returns the frames behind pos, and folds what is new if there are none.
// Behind says that frames of the channels behind pos are no longer, or not, in
// the ring. The caller holds t.mu.
func (t *eventTrack) after(ctx context.Context, pos int64, channels protocol.Channel) (frames []frame.Frame, state status, behind bool, err error) {
	t.widen(channels)
	if pos < t.made(channels) {
		return nil, more, true, nil
	}
	frames = t.framesAfter(pos)
	retry := false
	if len(frames) == 0 {
		keep := len(t.frames)
		retry, err = t.advance(ctx)
		t.trim(keep)
		if err != nil {
			return nil, waiting, false, err
		}
		frames = t.framesAfter(pos)
		if pos < t.made(channels) { // the log was cut
			return nil, more, true, nil
		}
	}
	switch {
	case retry:
		return frames, missing, false, nil
	case !t.caughtUp || t.feed.version.Load() != t.seen:
		return frames, more, false, nil
	}
	return frames, waiting, false, nil
}

func (t *eventTrack) framesAfter(pos int64) []frame.Frame {
	return t.frames[sort.Search(len(t.frames), func(i int) bool { return t.frames[i].Pos > pos }):]
}

// advance folds what is new: from the feed's ring where that follows on, else a
// batch from the log. retry says that something is missing which must be in the
// log in a moment.
func (t *eventTrack) advance(ctx context.Context) (retry bool, err error) {
	scratch := scratches.Get().(*[]thread.Entry)
	defer giveScratch(scratch)
	for made := len(t.frames); ; {
		version := t.feed.version.Load()
		if t.caughtUp && version == t.seen {
			return false, nil
		}
		t.caughtUp = false
		entries, epoch := t.feed.behind(t.pos, (*scratch)[:0])
		*scratch = entries
		if epoch != t.epoch { // another thread has taken the id
			t.restart(epoch)
			continue
		}
		switch {
		case len(entries) == 0 && t.pos >= t.end:
			if stored := t.feed.inLog(); stored > t.pos { // although nothing was published
				t.end = max(t.end, stored)
				continue
			}
			t.seen, t.caughtUp = version, true
			return false, nil
		case len(entries) == 0 || entries[0].Pos != t.pos+1:
			read, err := t.catchUp(ctx, entries)
			if errors.Is(err, errUnwritten) {
				return true, nil
			}
			if err != nil {
				return false, err
			}
			if read && len(t.frames) > made {
				return false, nil // show these first
			}
			continue
		}
		whole := contiguous(entries)
		if err := t.add(ctx, entries[:whole]); err != nil {
			return false, err
		}
		if whole == len(entries) {
			t.seen, t.caughtUp = version, true
			return false, nil
		}
	}
}

// contiguous is how many entries follow on one another without a hole: behind it
// entries of the run before may be on their way.
func contiguous(entries []thread.Entry) int {
	for i := 1; i < len(entries); i++ {
		if entries[i].Pos != entries[i-1].Pos+1 {
			return i
		}
	}
	return len(entries)
}

// catchUp folds a batch from the log, up to the entries that the ring has; where
// the log has nothing before them, those follow.
func (t *eventTrack) catchUp(ctx context.Context, ring []thread.Entry) (read bool, err error) {
	stored, err := t.log.read(ctx, t.pos, logBatch)
	if err != nil {
		return false, err
	}
	if len(stored) > 0 && stored[0].Snapshot {
		t.skipSnapshot(stored)
		return true, nil
	}
	next := int64(0) // Pos with which the log goes on at the ring's entries
	if len(ring) > 0 {
		if i := slices.IndexFunc(stored, func(e thread.Entry) bool { return e.Pos >= ring[0].Pos }); i >= 0 {
			stored, next = stored[:i], stored[i].Pos
		}
	}
	if len(stored) > 0 {
		t.doubt.ends()
		return true, t.add(ctx, stored)
	}
	lost := false // what must be in the log
	if must := mustHave(t.end, ring); next == 0 && must > t.pos {
		var again bool
		again, lost, err = t.doubt.lacks(ctx, t.log, must, func() ([]thread.Entry, error) { return t.log.read(ctx, t.pos, 1) })
		if again || err != nil {
			return false, err
		}
	}
	if len(ring) == 0 {
		t.pos, t.gap = max(t.pos, t.end), t.gap || lost // what was behind pos was removed, or is lost
		return true, nil
	}
	follow, gap, err := joinable(ring, next, false)
	if err != nil {
		return false, err
	}
	gap = gap || lost
	if len(follow) > 0 {
		follow = follow[:contiguous(follow)]
	}
	t.gap = t.gap || gap
	return true, t.add(ctx, follow)
}

// skipSnapshot goes on behind a snapshot that has taken the place of what was to
// be read. Readers that need it read it themselves.
func (t *eventTrack) skipSnapshot(entries []thread.Entry) {
	for _, e := range entries {
		if e.Snapshot {
			t.pos = max(t.pos, e.Pos)
		}
	}
	t.frames, t.bytes, t.evicted = nil, 0, t.pos // readers may hold views of them
}

// add folds entries and keeps their frames.
func (t *eventTrack) add(ctx context.Context, entries []thread.Entry) error {
	if t.project == nil {
		t.project = protocol.New(t.options)
		t.project.Want(t.want)
	}
	for _, e := range entries {
		if e.Pos <= t.pos {
			continue
		}
		needs := t.project.NeedsState(e)
		state, err := t.states.get(ctx, e.Event.NS, needs)
		if err != nil {
			return err
		}
		f, ok := t.project.Project(e, state)
		t.pos = e.Pos
		if !ok {
			t.gap = t.gap || needs != "" && state == nil // a fail-over took the checkpoint
			continue
		}
		if t.gap {
			f.Gap, t.gap = true, false
		}
		t.bytes += len(f.Wire)
		if t.frames == nil {
			t.frames = (*frameLists.Get().(*[]frame.Frame))[:0]
		}
		t.frames = append(t.frames, f)
	}
	return nil
}

// release gives the memory of all frames back, once there is no reader.
func (t *eventTrack) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.frames
	t.frames = nil
	if n := cap(list); n > 0 && n <= maxFrameList {
		clear(list)
		frameLists.Put(&list)
	}
	if t.project != nil {
		t.project.Release()
	}
}

// trim drops the oldest frames while there are too many bytes, but none from
// index keep on. Views that readers hold stay valid: the memory is left to them.
func (t *eventTrack) trim(keep int) {
	drop := 0
	for drop < keep && t.bytes > t.limit {
		t.bytes -= len(t.frames[drop].Wire)
		drop++
	}
	if drop > 0 {
		t.evicted = t.frames[drop-1].Pos
		t.frames = slices.Clone(t.frames[drop:])
	}
}

// restart begins anew with another thread of the same id.
func (t *eventTrack) restart(epoch uint64) {
	t.epoch, t.pos, t.end, t.evicted = epoch, 0, 0, 0
	t.frames, t.bytes, t.gap = nil, 0, false // readers may hold views of them
	t.from = [protocol.ChannelCount]int64{}
	t.states = stateCache{source: t.states.source, threadID: t.states.threadID}
	if t.project != nil {
		t.project.Reset()
	}
}

// checkInterval is how often the log of a silent thread is looked at, in case
// something was stored that nobody announced.
const checkInterval = 30 * time.Second

// idle looks for entries that were not announced.
func (t *eventTrack) idle(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.started || time.Since(t.checked) < checkInterval {
		return
	}
	t.checked = time.Now()
	if end, _, err := t.log.end(ctx); err == nil && end > t.pos {
		t.end, t.caughtUp = end, false
		t.feed.nudge()
	}
}
