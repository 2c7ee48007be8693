package stream

import "github.com/parley-dev/parley/thread"

// behind returns what the ring has behind pos, of every run. The epoch changes
// when another thread takes the id of a deleted one.
func (f *feed) behind(pos int64, into []thread.Entry) (entries []thread.Entry, epoch uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := len(f.ring)
	for first > 0 && f.ring[first-1].entry.Pos > pos {
		first--
	}
	entries = into
	for _, s := range f.ring[first:] {
		entries = append(entries, s.entry)
	}
	return entries, f.epoch
}
