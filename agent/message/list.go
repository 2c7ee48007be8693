package message

import "encoding/json"

// Ref names a stored list: the first Len messages of a segment.
type Ref struct {
	Segment string `json:"s"`
	Len     int    `json:"l"`
}

// Segment is a stored run of messages that continues the first Base.Len
// messages of another segment (Base.Segment is "" for none).
type Segment struct {
	ID   string
	Base Ref
	// Entries are the messages as JSON, in order; position 0 follows the base.
	Entries []json.RawMessage
}

// SegmentAppend is what must be stored so that a list can be loaded again:
// Entries go to positions From, From+1, … of Segment (counted without the base).
type SegmentAppend struct {
	Segment string
	Base    Ref
	From    int
	Entries []json.RawMessage
}

// List is an immutable list of messages. The zero value is empty.
type List struct{}

// Len is the number of messages.
func (l List) Len() int { panic("unimplemented") }

// AppendJSON appends the list as a JSON array to dst.
func (l List) AppendJSON(dst []byte) []byte { panic("unimplemented") }
