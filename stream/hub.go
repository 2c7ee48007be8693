// Package stream is how events are read: the hub keeps the recent events of
// watched threads, projections (classic, protocol) turn events into frames, and
// the SSE writer sends frames. It only reads; nothing here changes the truth.
package stream

import (
	"context"
	"sync"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// Source is what the hub reads from: the stored log and the checkpoints behind values events.
type Source interface {
	ReadLog(ctx context.Context, threadID string, after int64, limit int) ([]thread.Entry, error)
	ReadRunLog(ctx context.Context, threadID, runID string, after int64, limit int) ([]thread.Entry, error)
	LogStart(ctx context.Context, threadID string) (int64, error)
	LogEnd(ctx context.Context, threadID string) (pos, seq int64, err error)
	Inflight(ctx context.Context, threadID string) ([]thread.Run, error)
	NewestRun(ctx context.Context, threadID string) (thread.Run, error)
	Heads(ctx context.Context, threadID string) ([]thread.Head, error)
	GetRun(ctx context.Context, threadID, runID string) (thread.Run, error)
	Materialize(ctx context.Context, threadID, ns, checkpointID string) (*agent.State, error)
}

// DefaultRingBytes bounds the recent events, and the frames made of them, of one watched thread.
const DefaultRingBytes = 4 << 20

// Hub implements thread.Publisher and hands events to readers. A reader is a
// cursor, not a channel: it wakes, takes all that is new, and waits again. A
// thread that nobody watches costs nothing.
type Hub struct {
	source    Source
	ringBytes int
	life      context.Context // ends with Close
	endLife   context.CancelFunc

	relay  Relay
	mu     sync.RWMutex
	feeds  map[string]*feed
	wheels map[time.Duration]*wheel // by heartbeat interval
}

var _ thread.Publisher = (*Hub)(nil)

// HubOptions configure a Hub.
type HubOptions struct {
	Source Source
	// RingBytes bounds the events kept per watched thread. Default 4 MiB.
	RingBytes int
}

// NewHub returns a hub. SetSource completes it where source and hub need each other.
func NewHub(o HubOptions) *Hub {
	if o.RingBytes <= 0 {
		o.RingBytes = DefaultRingBytes
	}
	life, end := context.WithCancel(context.Background())
	return &Hub{source: o.Source, ringBytes: o.RingBytes, life: life, endLife: end, feeds: map[string]*feed{}, wheels: map[time.Duration]*wheel{}}
}

// SetSource sets the source; call it before the first reader.
func (h *Hub) SetSource(s Source) { h.source = s }

// Publish implements thread.Publisher. It keeps the entries if the thread is
// watched and wakes its readers; it never waits for one.
func (h *Hub) Publish(threadID string, entries []thread.Entry) {
	if f := h.feed(threadID); f != nil {
		f.publish(entries)
	}
}

// Stored implements thread.Publisher.
func (h *Hub) Stored(threadID string, pos int64) {
	if f := h.feed(threadID); f != nil {
		f.storedUpTo(pos)
	}
}

// RunEnded implements thread.Publisher.
func (h *Hub) RunEnded(threadID, runID string) {
	if f := h.feed(threadID); f != nil {
		f.runEnded(runID)
	}
}

// leaveWithin is how long a write may still take once the hub is closed: a client that takes
// nothing any more must not keep the server from leaving.
const leaveWithin = time.Second

// Close ends all readers with an abort; those whose clients have stopped taking what is sent, soon.
func (h *Hub) Close() { h.endLife() }

// Watch keeps the thread's events from now on until release is called, so that
// a reader that comes a moment later finds them in memory. Watch a thread
// before you start a run that you are going to follow.
func (h *Hub) Watch(threadID string) (release func()) {
	f := h.watch(threadID)
	var once sync.Once
	return func() { once.Do(func() { h.unwatch(f) }) }
}

// Watched is the number of threads that are watched.
func (h *Hub) Watched() int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return len(h.feeds)
}

func (h *Hub) feed(threadID string) *feed {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.feeds[threadID]
}

func (h *Hub) watch(threadID string) *feed {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.feeds[threadID]
	if f == nil {
		f = &feed{threadID: threadID, limit: h.ringBytes, tracks: map[trackKey]*track{}}
		h.feeds[threadID] = f
		h.join(threadID)
	}
	f.watchers++
	return f
}

func (h *Hub) unwatch(f *feed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f.watchers--
	if f.watchers == 0 {
		delete(h.feeds, f.threadID)
		h.leave(f.threadID)
		f.release()
	}
}

// track returns the shared projection of a run, for one more reader. The feed
// stays watched until untrack. FromStart is that of Options.
func (h *Hub) track(run *thread.Run, d dialect, fromStart bool) *track {
	f := h.watch(run.ThreadID)
	f.mu.Lock()
	defer f.mu.Unlock()
	key := trackKey{run.ID, d}
	t := f.tracks[key]
	if t == nil {
		t = newTrack(h.source, f, run, d, h.ringBytes)
		t.whole = fromStart
		f.tracks[key] = t
	}
	t.readers++
	return t
}

func (h *Hub) untrack(t *track) {
	t.feed.mu.Lock()
	t.readers--
	last := t.readers == 0
	if last {
		delete(t.feed.tracks, trackKey{t.run.ID, t.dialect})
	}
	t.feed.mu.Unlock()
	if last {
		t.release()
	}
	h.unwatch(t.feed)
}
