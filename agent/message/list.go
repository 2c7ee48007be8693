package message

import (
	"encoding/json"
	"iter"
	"slices"
)

// List is an immutable list of messages. The zero value is empty. Lists share
// what they have in common: appending costs what is appended, whatever the list
// holds. Elements are kept as JSON and decoded when asked for. A List is safe
// for concurrent use.
type List struct {
	// seg holds the messages; nil for an empty list. entries are those of the
	// segment's own (its base not included) that the list sees.
	seg     *segment
	entries []json.RawMessage
	// fork makes the next append leave the segment alone; see Fork.
	fork bool
}

// New returns a list of messages. It panics if a raw field of a message isn't JSON.
func New(messages ...Message) List { return List{}.Append(messages...) }

// Append returns the list with messages behind it, as they are: without the
// reducer's rules. It panics if a raw field of a message isn't JSON.
func (l List) Append(messages ...Message) List {
	raws := make([]json.RawMessage, len(messages))
	for i, m := range messages {
		raw, err := m.MarshalJSON()
		if err != nil {
			panic(err)
		}
		raws[i] = raw
	}
	return l.appendRaw(raws)
}

// Fork returns the same list, but what is appended to it goes to a segment of
// its own. For states that are tried and thrown away, so that they don't
// take the place behind l from the append that counts.
func (l List) Fork() List {
	l.fork = true
	return l
}

// Len is the number of messages.
func (l List) Len() int {
	if l.seg == nil {
		return 0
	}
	return l.seg.baseLen + len(l.entries)
}

// Raw returns message i as JSON. The bytes are shared: don't change them. It
// panics if there is no message i.
func (l List) Raw(i int) json.RawMessage {
	for l.seg != nil && i < l.seg.baseLen {
		l = l.seg.base
	}
	if l.seg == nil {
		panic("message: index out of range")
	}
	return l.entries[i-l.seg.baseLen]
}

// At returns message i, decoded. It panics if there is no message i.
func (l List) At(i int) Message { return decode(l.Raw(i)) }

// Last returns the last message; false when the list is empty.
func (l List) Last() (Message, bool) {
	if n := l.Len(); n > 0 {
		return l.At(n - 1), true
	}
	return Message{}, false
}

// All yields the messages in order, decoding each.
func (l List) All() iter.Seq2[int, Message] {
	return func(yield func(int, Message) bool) {
		for i, raw := range l.Raws() {
			if !yield(i, decode(raw)) {
				return
			}
		}
	}
}

// Backward yields the messages from the last to the first, decoding each.
func (l List) Backward() iter.Seq2[int, Message] {
	return func(yield func(int, Message) bool) {
		for ; l.seg != nil; l = l.seg.base {
			for i, raw := range slices.Backward(l.entries) {
				if !yield(l.seg.baseLen+i, decode(raw)) {
					return
				}
			}
		}
	}
}

// Raws yields the messages as JSON in order. The bytes are shared: don't change them.
func (l List) Raws() iter.Seq2[int, json.RawMessage] {
	return func(yield func(int, json.RawMessage) bool) {
		for _, part := range l.parts() {
			for i, raw := range part.entries {
				if !yield(part.seg.baseLen+i, raw) {
					return
				}
			}
		}
	}
}

// parts returns the list's pieces, one per segment, the first messages first.
func (l List) parts() []List {
	if l.seg == nil {
		return nil
	}
	parts := make([]List, l.seg.depth)
	for i := len(parts) - 1; i >= 0; i-- {
		parts[i] = l
		l = l.seg.base
	}
	return parts
}

// AppendJSON appends the list as a JSON array to dst.
func (l List) AppendJSON(dst []byte) []byte {
	size := 2
	for _, raw := range l.Raws() {
		size += len(raw) + 1
	}
	dst = append(slices.Grow(dst, size), '[')
	for i, raw := range l.Raws() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, raw...)
	}
	return append(dst, ']')
}

// MarshalJSON implements json.Marshaler.
func (l List) MarshalJSON() ([]byte, error) { return l.AppendJSON(nil), nil }

// UnmarshalJSON implements json.Unmarshaler. It coerces as Coerce does and gives no ids; null is the empty list.
func (l *List) UnmarshalJSON(b []byte) error {
	if isNull(b) {
		*l = List{}
		return nil
	}
	items, err := coerceUpdate(b, nil)
	if err != nil {
		return err
	}
	*l = List{}.appendRaw(raws(items))
	return nil
}

// prefix returns the first n messages.
func (l List) prefix(n int) List {
	if n <= 0 {
		return List{}
	}
	for l.seg != nil && n <= l.seg.baseLen {
		l = l.seg.base
	}
	if l.seg != nil {
		k := n - l.seg.baseLen
		l.entries = l.entries[:k:k]
	}
	return l
}
