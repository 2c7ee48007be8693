package thread

import (
	"encoding/binary"

	"github.com/parley-dev/parley/agent"
)

// FloatingBatch is a stored batch of log entries (AppendEntries) without its
// numbers, for stores that give them inside of a transition: At, or the same
// done by the store, joins Head, the first position (uvarint), Middle, the first
// seq (varint) and Tail. Without numbered events there is neither seq nor Tail.
type FloatingBatch struct {
	Head, Middle, Tail []byte
	// Entries and Numbered are how many positions and seqs the batch takes.
	Entries, Numbered int64
	// Millis is the time of the first event.
	Millis int64
}

// FloatEvents encodes events that are numbered later.
func FloatEvents(events []agent.Event) (FloatingBatch, error) {
	var b FloatingBatch
	if len(events) == 0 {
		return b, nil
	}
	b.Millis = events[0].At
	entries := make([]Entry, len(events))
	for i, e := range events {
		b.Entries++
		entries[i] = Entry{Pos: b.Entries, Event: e}
		if e.Kind.Numbered() {
			b.Numbered++
			entries[i].Seq = b.Numbered
		}
	}
	// With 1 as first position and seq each takes one byte, right behind the entry's head.
	dst := []byte{logVersion}
	var s logState
	pos, seq := 0, 0
	for i := range entries {
		start := len(dst)
		var err error
		if dst, err = s.append(dst, &entries[i]); err != nil {
			return b, err
		}
		_, head := binary.Uvarint(dst[start:])
		if i == 0 {
			pos = start + head
		}
		if seq == 0 && entries[i].Seq != 0 {
			seq = start + head + 1
		}
	}
	b.Head = dst[:pos:pos]
	if seq == 0 {
		b.Middle = dst[pos+1:]
		return b, nil
	}
	b.Middle, b.Tail = dst[pos+1:seq:seq], dst[seq+1:]
	return b, nil
}

// At is the batch with its first entry at pos, and its first numbered one with seq.
func (b FloatingBatch) At(pos, seq int64) []byte {
	dst := binary.AppendUvarint(append([]byte(nil), b.Head...), uint64(pos))
	dst = append(dst, b.Middle...)
	if b.Numbered > 0 {
		dst = binary.AppendVarint(dst, seq)
	}
	return append(dst, b.Tail...)
}
