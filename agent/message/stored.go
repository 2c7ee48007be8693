package message

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Ref names a stored list: the first Len entries of a segment, behind the
// segment's base. Len counts the segment's own entries, its base not included.
// The empty list is the zero Ref.
type Ref struct {
	Segment string `json:"s"`
	Len     int    `json:"l"`
}

// Segment is a stored run of messages that continues the list which Base names
// (Base.Segment is "" for none).
type Segment struct {
	ID   string
	Base Ref
	// Entries are the messages as JSON, in order; position 0 follows the base.
	Entries []json.RawMessage
}

// SegmentAppend is what must be stored so that a list can be loaded again:
// Entries go to positions From, From+1, … of Segment (counted without the base).
// Storing the same entry twice is harmless.
type SegmentAppend struct {
	Segment string
	Base    Ref
	From    int
	Entries []json.RawMessage
}

// ErrCorrupt says that stored segments don't hold the list that a Ref names.
var ErrCorrupt = errors.New("message: stored list is incomplete")

// maxLoad bounds the chain that Load follows, so that a circle is noticed.
const maxLoad = 4 * maxDepth

// Ref names the list for a store.
func (l List) Ref() Ref {
	if l.seg == nil {
		return Ref{}
	}
	return Ref{Segment: l.seg.name(), Len: len(l.entries)}
}

// Since returns what a store that holds everything of stored still needs, so
// that l.Ref can be loaded, bases first. It knows of stored only its own
// segment: where the list that stored names is at hand, SinceList asks for less.
func (l List) Since(stored Ref) []SegmentAppend {
	known := map[string]int{}
	if stored.Segment != "" {
		known[stored.Segment] = stored.Len
	}
	return l.missing(known)
}

// SinceList is Since for a stored list, the segments below it included.
func (l List) SinceList(stored List) []SegmentAppend {
	known := map[string]int{}
	for part := stored; part.seg != nil; part = part.seg.base {
		known[part.seg.name()] = len(part.entries)
	}
	return l.missing(known)
}

// missing returns the entries beyond those known of each segment. The base of
// a known segment is known.
func (l List) missing(known map[string]int) []SegmentAppend {
	var appends []SegmentAppend
	for part := l; part.seg != nil; part = part.seg.base {
		id := part.seg.name()
		from, ok := known[id]
		if from < len(part.entries) {
			appends = append(appends, SegmentAppend{
				Segment: id, Base: part.seg.base.Ref(), From: from, Entries: part.entries[from:],
			})
		}
		if ok {
			break
		}
	}
	slices.Reverse(appends)
	return appends
}

// Load reads a stored list. get returns the first n entries of a segment with
// its base. Sealed says that the stored segment is longer than ref.Len:
// then the next append opens a segment. Errors: ErrCorrupt, and those of get.
func Load(ref Ref, sealed bool, get func(segment string, n int) (Segment, error)) (List, error) {
	var chain []Segment // from the last segment to the first
	for ; ref.Segment != ""; ref = chain[len(chain)-1].Base {
		if len(chain) == maxLoad {
			return List{}, fmt.Errorf("%w: more than %d segments below %s", ErrCorrupt, maxLoad, chain[0].ID)
		}
		s, err := get(ref.Segment, ref.Len)
		if err != nil {
			return List{}, fmt.Errorf("load segment %s: %w", ref.Segment, err)
		}
		if len(s.Entries) < ref.Len || ref.Len <= 0 {
			return List{}, fmt.Errorf("%w: segment %s has %d entries, %d are named", ErrCorrupt, ref.Segment, len(s.Entries), ref.Len)
		}
		s.ID, s.Entries = ref.Segment, s.Entries[:ref.Len:ref.Len]
		chain = append(chain, s)
	}
	var l List
	for i, s := range slices.Backward(chain) {
		// Of a base the store holds more than is known here, or may soon.
		l = List{
			seg: &segment{
				base: l, baseLen: l.Len(), depth: l.depth() + 1,
				id: s.ID, sealed: sealed || i > 0, entries: s.Entries,
			},
			entries: s.Entries,
		}
	}
	return l, nil
}
