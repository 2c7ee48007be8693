package stream

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// feed is the recent events of one watched thread: a ring in the order of Pos
// with all that was published since the watch began, but for what fell off its start.
type feed struct {
	threadID string
	limit    int // bytes
	watchers int // guarded by the hub

	// version grows with everything that a reader may want to see.
	version atomic.Uint64

	mu     sync.Mutex
	ring   []slot
	bytes  int
	states int           // slots that hold a state
	lost   int64         // Pos of the newest entry that the ring had no room for
	wake   chan struct{} // closed by the next change; nil while nobody waits
	tracks map[trackKey]*track
	events *eventTrack // projection onto the thread protocol; nil without readers of it
	epoch  uint64      // grows when another thread takes the id
	heard  bool        // something was published since the watch began
	stored int64       // Pos up to which the log has what was published before the watch began, as far as was said
}

// slot is an entry of the ring and what it counts in bytes.
type slot struct {
	entry  thread.Entry
	weight int
	state  bool
}

// maxStates bounds the states that a ring keeps in memory: those of older
// entries are read again by the few readers that are so far behind.
const maxStates = 8

// publish adds entries. Each run's come in the order of Pos, and ones that were
// published before are left out, so that a repeated commit shows nothing twice
// (D-05). A run's last ones may come behind the first of the next run: its owner
// publishes after the commit that lets that run start.
func (f *feed) publish(entries []thread.Entry) {
	f.mu.Lock()
	f.heard = true
	changed := false
	for _, e := range entries {
		changed = f.insert(e) || changed
	}
	f.trim()
	wake := f.change(changed)
	f.mu.Unlock()
	if wake != nil {
		close(wake)
	}
}

// insert puts an entry in its place; it reports whether it is new.
func (f *feed) insert(e thread.Entry) bool {
	at := len(f.ring)
	for at > 0 && f.ring[at-1].entry.Pos >= e.Pos {
		at--
	}
	if at < len(f.ring) {
		newest := f.ring[len(f.ring)-1].entry
		switch {
		case beginsAnother(e, f.ring[at].entry, newest):
			f.reset()
			at = 0
		case f.ring[at].entry.Pos == e.Pos:
			return false
		case at == 0: // fell off
			f.lost = max(f.lost, e.Pos)
			return false
		}
	}
	s := slot{entry: e, weight: weight(e.Event), state: holdsState(e.Event)}
	if f.ring == nil {
		f.ring = (*rings.Get().(*[]slot))[:0]
	}
	f.ring = slices.Insert(f.ring, at, s)
	f.bytes += s.weight
	if s.state {
		f.states++
	}
	return true
}

// beginsAnother tells whether an entry that comes behind newer ones is of another thread, which has
// taken the id of a deleted one: it stands at the log's beginning, or where another entry is. Next is
// the first at its place or behind. The time alone says nothing: a run that was dropped
// while another one had the lease is told of later than it ended.
func beginsAnother(e, next, newest thread.Entry) bool {
	begins := e.Event.Kind == agent.RunStarted && e.RunID != newest.RunID || isEdit(e)
	taken := next.Pos == e.Pos && next.RunID != e.RunID
	return begins && (e.Pos == 1 || taken) && e.Event.At > newest.Event.At
}

// rings lends the memory of rings to feeds: most threads are watched for one run.
var rings = sync.Pool{New: func() any { r := make([]slot, 0, 64); return &r }}

// maxRing is the largest ring, in entries, whose memory is kept for the next feed.
const maxRing = 1024

// release gives the ring's memory back, once nobody watches.
func (f *feed) release() {
	f.mu.Lock()
	ring := f.ring
	f.reset()
	f.mu.Unlock()
	if n := cap(ring); n > 0 && n <= maxRing {
		clear(ring)
		rings.Put(&ring)
	}
}

// storedUpTo has the readers look at the log for what was published before the
// watch began and stored since: nothing else tells of it. Once something was
// published in the watch, readers see by its Pos that they miss what lies before.
func (f *feed) storedUpTo(pos int64) {
	f.mu.Lock()
	news := !f.heard && pos > f.stored
	if news {
		f.stored = pos
	}
	wake := f.change(news)
	f.mu.Unlock()
	if wake != nil {
		close(wake)
	}
}

// inLog is the Pos up to which storedUpTo was told that the log is complete.
func (f *feed) inLog() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stored
}

// missedTo is the Pos of the newest entry that the feed knows of and that isn't in the ring.
func (f *feed) missedTo() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return max(f.lost, f.stored)
}

// newest is the Pos of the newest entry that the feed was told of.
func (f *feed) newest() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	pos := max(f.lost, f.stored)
	if n := len(f.ring); n > 0 {
		pos = max(pos, f.ring[n-1].entry.Pos)
	}
	return pos
}

// runEnded marks the run's projection and wakes its readers.
func (f *feed) runEnded(runID string) {
	f.mu.Lock()
	for d := range dialects {
		if t := f.tracks[trackKey{runID, d}]; t != nil {
			t.ended.Store(true)
		}
	}
	f.mu.Unlock()
	f.nudge()
}

// change counts a change and returns the channel to be closed outside of the lock.
func (f *feed) change(changed bool) chan struct{} {
	if !changed {
		return nil
	}
	f.version.Add(1)
	wake := f.wake
	f.wake = nil
	return wake
}

// after returns a channel that is closed once there is something newer than seen.
func (f *feed) after(seen uint64) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.version.Load() != seen {
		return closedChannel
	}
	if f.wake == nil {
		f.wake = make(chan struct{})
	}
	return f.wake
}

var closedChannel = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (f *feed) reset() {
	if n := len(f.ring); n > 0 {
		f.lost = max(f.lost, f.ring[n-1].entry.Pos)
	}
	f.ring, f.bytes, f.states, f.stored = nil, 0, 0, 0
	f.epoch++
}

// trim drops the oldest entries while there are too many bytes, and the states
// of all but the newest.
func (f *feed) trim() {
	drop := 0
	for drop < len(f.ring)-1 && f.bytes > f.limit {
		f.bytes -= f.ring[drop].weight
		if f.ring[drop].state {
			f.states--
		}
		f.lost = max(f.lost, f.ring[drop].entry.Pos)
		f.ring[drop] = slot{}
		drop++
	}
	f.ring = f.ring[drop:]
	for i := 0; f.states > maxStates; i++ {
		if s := &f.ring[i]; s.state {
			s.entry.Event.Payload = withoutState(s.entry.Event.Payload)
			s.state = false
			f.states--
		}
	}
}

// since returns the run's entries behind pos, as far as the ring has them.
// covered says that nothing of the run between pos and them can be missing: for
// a whole run, one that began while the thread was watched, unless the ring had
// no room for it. Last is the Pos of the newest entry of any run, 0 for none.
func (f *feed) since(runID string, pos int64, whole bool, into []thread.Entry) (entries []thread.Entry, covered bool, last int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	entries = into
	whole = whole && f.lost <= pos
	n := len(f.ring)
	if n == 0 {
		return entries, whole, 0
	}
	first := n
	for first > 0 && f.ring[first-1].entry.Pos > pos {
		first--
	}
	for _, s := range f.ring[first:] {
		if s.entry.RunID == runID {
			entries = append(entries, s.entry)
		}
	}
	covered = whole || f.ring[0].entry.Pos <= pos+1 || len(entries) > 0 && entries[0].Pos == pos+1
	return entries, covered, f.ring[n-1].entry.Pos
}

func holdsState(e agent.Event) bool {
	switch v := e.Payload.(type) {
	case *agent.ValuesNote:
		return v.State != nil && (v.CheckpointID != "" || v.Inline != nil)
	case *agent.CheckpointDetail:
		return v.State != nil && (v.CheckpointID != "" || v.Inline != nil)
	case agent.TaskStart:
		return v.State != nil
	}
	return false
}

// withoutState is the payload as the log has it.
func withoutState(payload any) any {
	switch v := payload.(type) {
	case *agent.ValuesNote:
		note := *v
		note.State = nil
		return &note
	case *agent.CheckpointDetail:
		detail := *v
		detail.State = nil
		return &detail
	case agent.TaskStart:
		v.State = nil
		return v
	}
	return payload
}

// weight estimates the memory that an entry holds on to.
func weight(e agent.Event) int {
	const entry = 160
	switch v := e.Payload.(type) {
	case agent.Delta:
		return entry + 120 + len(v.Text)
	case agent.TaskStart:
		return entry + 200 + len(v.Input)
	case agent.TaskFinish:
		return entry + 200 + len(v.Result)
	case agent.UpdatesNote:
		return entry + 80 + len(v.Data)
	case agent.Custom:
		return entry + 40 + len(v.Value)
	case agent.MessageStart:
		return entry + 1024 + len(v.Input)
	case agent.MessageFinish:
		return entry + 200 + len(v.Message)
	case agent.MessageSnapshot:
		return entry + 512 + len(v.Message)
	case agent.BlockFinish:
		return entry + 40 + len(v.Block)
	case agent.ToolNote:
		return entry + 120 + len(v.Input) + len(v.Delta) + len(v.Output) + len(v.Error)
	case *agent.ValuesNote:
		return entry + 64 + len(v.Inline)
	case *agent.CheckpointDetail:
		return entry + 1024 + len(v.Inline)
	}
	return entry + 256
}

// nudge wakes the readers.
func (f *feed) nudge() {
	f.mu.Lock()
	wake := f.change(true)
	f.mu.Unlock()
	if wake != nil {
		close(wake)
	}
}
