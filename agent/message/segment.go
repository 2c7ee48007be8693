package message

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	"github.com/google/uuid"
)

// maxDepth bounds the chain of segments below a list, and so the number of reads that load one.
const maxDepth = 16

// segment is an append-only run of messages behind a base. Lists are prefixes
// of segments: what a list sees never changes, while the segment grows behind it.
type segment struct {
	base    List
	baseLen int // of base, in messages
	depth   int // number of segments in the chain, this one included

	mu sync.Mutex
	id string // "" until someone asks: most segments are never stored
	// sealed: the stored segment is longer than this one, so nothing may be added.
	sealed  bool
	entries []json.RawMessage
	index   *index
}

// appendRaw returns the list with entries behind it. The last one of a segment
// extends it; any other gets a new segment, unless what follows there is
// the same, as it is when an append is repeated.
func (l List) appendRaw(raws []json.RawMessage) List {
	if len(raws) == 0 {
		return l
	}
	if l.seg != nil && !l.fork {
		grown, rest := l.seg.extend(len(l.entries), raws)
		l.entries = grown
		if raws = rest; len(raws) == 0 {
			return l
		}
	}
	l.fork = false
	return newSegment(l, raws)
}

// extend adds raws behind the first n entries as far as it can and returns the
// entries from the first to the last one added, and those that didn't fit.
func (s *segment) extend(n int, raws []json.RawMessage) (grown, rest []json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(raws) > 0 && n < len(s.entries) && bytes.Equal(s.entries[n], raws[0]) {
		raws = raws[1:]
		n++
	}
	if n == len(s.entries) && !s.sealed {
		s.entries = append(s.entries, raws...)
		n, raws = len(s.entries), nil
	}
	return s.entries[:n:n], raws
}

// newSegment returns base with entries behind it in a new segment. When the
// chain is at its limit, the segments next to the new one are copied into it:
// one at least, and on as long as they aren't longer than what is copied already,
// so that a message is copied a logarithmic number of times.
func newSegment(base List, entries []json.RawMessage) List {
	total, kept := len(entries), base
	if base.depth() >= maxDepth {
		for first := true; kept.seg != nil && (first || len(kept.entries) <= total); first = false {
			total += len(kept.entries)
			kept = kept.seg.base
		}
	}
	all := make([]json.RawMessage, total, total+total/4+1)
	end := total - copy(all[total-len(entries):], entries)
	for part := base; part.seg != kept.seg; part = part.seg.base {
		end -= len(part.entries)
		copy(all[end:], part.entries)
	}
	s := &segment{base: kept, baseLen: kept.Len(), depth: kept.depth() + 1, entries: all}
	return List{seg: s, entries: all[:total:total]}
}

func (l List) depth() int {
	if l.seg == nil {
		return 0
	}
	return l.seg.depth
}

// name returns the segment's id.
func (s *segment) name() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == "" {
		s.id = uuid.Must(uuid.NewV7()).String()
	}
	return s.id
}

// index finds the entries of a segment by message id. It is built on first use
// and then grows with the segment, so it may know more than a list sees.
type index struct {
	size int            // entries covered
	last map[string]int // id → its last position
	prev map[int]int    // position → the one before with the same id; rarely used
	anon int            // position of the first entry without id; -1 for none
}

// indexed returns the index of all entries; the caller holds the lock.
func (s *segment) indexed() *index {
	if s.index == nil {
		s.index = &index{last: make(map[string]int, len(s.entries)), anon: -1}
	}
	x := s.index
	for ; x.size < len(s.entries); x.size++ {
		id := idOf(s.entries[x.size])
		if id == "" {
			if x.anon < 0 {
				x.anon = x.size
			}
			continue
		}
		if p, ok := x.last[id]; ok {
			if x.prev == nil {
				x.prev = map[int]int{}
			}
			x.prev[x.size] = p
		}
		x.last[id] = x.size
	}
	return x
}

// find returns the positions of id among the first n entries, the last one first.
func (s *segment) find(id string, n int) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.indexed()
	var found []int
	p, ok := x.last[id]
	for ; ok; p, ok = x.prev[p] {
		if p < n {
			found = append(found, p)
		}
	}
	return found
}

// anonymous returns the position of the first of n entries without id, or -1.
func (s *segment) anonymous(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.indexed().anon; p < n {
		return p
	}
	return -1
}

// positions returns where messages with that id are, the last one first.
func (l List) positions(id string) []int {
	var found []int
	for ; l.seg != nil; l = l.seg.base {
		for _, p := range l.seg.find(id, len(l.entries)) {
			found = append(found, l.seg.baseLen+p)
		}
	}
	return found
}

// anonymous returns the position of the first message without id, or -1.
func (l List) anonymous() int {
	first := -1
	for ; l.seg != nil; l = l.seg.base {
		if p := l.seg.anonymous(len(l.entries)); p >= 0 {
			first = l.seg.baseLen + p
		}
	}
	return first
}

// Find returns the position of the message with that id, the last one if there
// are several. False when there is none.
func (l List) Find(id string) (int, bool) {
	found := l.positions(id)
	if len(found) == 0 {
		return 0, false
	}
	return found[0], true
}

var idKey = []byte(`","id":"`)

// idOf returns the id of a message in its wire form, "" when it has none.
func idOf(raw json.RawMessage) (id string) {
	// The form that Message.AppendJSON writes has the id in second place.
	if head := []byte(`{"type":"`); bytes.HasPrefix(raw, head) {
		rest := raw[len(head):]
		if i := bytes.IndexByte(rest, '"'); i > 0 && bytes.HasPrefix(rest[i:], idKey) {
			rest = rest[i+len(idKey):]
			if j := bytes.IndexByte(rest, '"'); j >= 0 && !slices.Contains(rest[:j], '\\') {
				return string(rest[:j])
			}
		}
	}
	_ = eachField(raw, func(key string, v json.RawMessage) error {
		if key == "id" {
			id, _ = unquote(v)
		}
		return nil
	})
	return id
}
