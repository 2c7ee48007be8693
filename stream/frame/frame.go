// Package frame is one server-sent event as it stands on the wire. A frame is
// encoded once, by the projection that makes it, and its bytes are shared by
// every reader.
package frame

import (
	"strconv"

	"github.com/r3labs/sse/v2"
)

// Frame is one encoded event with what readers need to know of it. It is immutable.
type Frame struct {
	// Wire is the event as sent: "event: …\ndata: …\nid: …\n\n", always in this
	// order and with one data line (spec/rest-api.md 4.1).
	Wire []byte
	// idAt is where the id line starts in Wire.
	idAt int
	// N numbers the frame in its stream, before any filter.
	N int64
	// Pos and Seq are those of the log entry behind the frame; a frame of an
	// entry without a Seq has the one of the last numbered entry before it.
	Pos, Seq int64
	// Sub counts the frames since the entry that Seq numbers, from 0.
	Sub int
	// At is the time of the entry, in milliseconds since the epoch.
	At int64
	// Prev is the number of the frame before this one; -1 for the first.
	Prev int64
	// Gap says that events were lost between the frame before and this one.
	Gap bool
	// Mode is the bit of the stream mode that the frame belongs to; 0 passes every filter.
	Mode uint32
	// Label says what filters of the thread protocol look at; nil in classic frames.
	Label *Label
}

// Label is what frames of the thread protocol have in common with others of their
// kind, which share it.
type Label struct {
	// Channel is the bit of the channel.
	Channel uint16
	// Root marks the events that tell of the run as a whole: running and the terminal.
	Root bool
	// NS is the namespace with its segments joined by "|"; "" is the root.
	NS string
	// Name is that of a custom event; "" for none.
	Name  string
	RunID string
}

const (
	eventField = "event: "
	dataField  = "\ndata: "
	idField    = "\nid: "
)

// Open appends the start of a frame; the caller appends the data, a JSON text
// in one line, and then calls Close. Name must have passed CheckField.
func Open(dst []byte, name string) []byte {
	dst = append(dst, eventField...)
	dst = append(dst, name...)
	return append(dst, dataField...)
}

// OpenSuffixed is Open for the event name|suffix; an empty suffix is left out.
func OpenSuffixed(dst []byte, name, suffix string) []byte {
	dst = append(dst, eventField...)
	dst = append(dst, name...)
	if suffix != "" {
		dst = append(dst, '|')
		dst = append(dst, suffix...)
	}
	return append(dst, dataField...)
}

// Close ends the frame that starts at start with n as its id. Line ends within
// the data, which JSON has between tokens only, become spaces.
func Close(dst []byte, start int, n int64) ([]byte, Frame) {
	var id [20]byte
	dst, f := CloseID(dst, start, strconv.AppendInt(id[:0], n, 10))
	f.N = n
	return dst, f
}

// CloseID is Close with any id, which must have passed CheckField.
func CloseID(dst []byte, start int, id []byte) ([]byte, Frame) {
	OneLine(dst[dataStart(dst[start:])+start:])
	idAt := len(dst) + 1 - start
	dst = append(dst, idField...)
	dst = append(dst, id...)
	dst = append(dst, '\n', '\n')
	return dst, Frame{Wire: dst[start:len(dst):len(dst)], idAt: idAt}
}

// AppendTo appends the frame as it is.
func (f Frame) AppendTo(dst []byte) []byte { return append(dst, f.Wire...) }

// WithoutID appends the frame without its id line.
func (f Frame) WithoutID(dst []byte) []byte {
	dst = append(dst, f.Wire[:f.idAt]...)
	return append(dst, '\n')
}

// WithCursor appends the frame with the id of the thread protocol's form,
// <unix ms>-<seq>, followed by .<sub> when several frames share the seq.
func (f Frame) WithCursor(dst []byte) []byte {
	dst = append(dst, f.Wire[:f.idAt]...)
	dst = append(dst, idField[1:]...)
	dst = strconv.AppendInt(dst, f.At, 10)
	dst = append(dst, '-')
	dst = strconv.AppendInt(dst, f.Seq, 10)
	if f.Sub > 0 {
		dst = append(dst, '.')
		dst = strconv.AppendInt(dst, int64(f.Sub), 10)
	}
	return append(dst, '\n', '\n')
}

// Name is the event name.
func (f Frame) Name() string {
	return string(f.Wire[len(eventField) : dataStart(f.Wire)-len(dataField)])
}

// ID is the text of the id line. The bytes are shared: don't change them.
func (f Frame) ID() []byte { return f.Wire[f.idAt+len(idField)-1 : len(f.Wire)-2] }

// Data is the JSON of the event. The bytes are shared: don't change them.
func (f Frame) Data() []byte { return f.Wire[dataStart(f.Wire) : f.idAt-1] }

// Event is the frame as an event of the SSE library.
func (f Frame) Event() *sse.Event {
	return &sse.Event{Event: []byte(f.Name()), Data: f.Data(), ID: strconv.AppendInt(nil, f.N, 10)}
}
