package protocol

import (
	"encoding/json"
	"strconv"

	"github.com/parley-dev/parley/stream/frame"
)

// Frame is one event of the thread protocol, encoded, with what filters look at.
type Frame struct {
	frame.Frame
	Channel Channel
	// NS is the namespace with its segments joined by "|"; "" is the root.
	NS string
	// Name is that of a custom event; "" for none.
	Name string
	// RunID is the run's, and RunPos the Pos of its first entry that was projected.
	RunID  string
	RunPos int64
	// Root marks the events that tell of the run as a whole: running and the terminal.
	Root bool
}

// Sizes of the chunks that frames are made in: they grow, so that a thread with
// few frames holds little.
const (
	firstChunk = 1 << 10
	lastChunk  = 64 << 10
)

// room makes sure that the chunk has size bytes left; frames made before stay in theirs.
func (p *Projection) room(size int) {
	if cap(p.buf)-len(p.buf) >= size {
		return
	}
	p.buf = make([]byte, 0, max(size, min(max(4*cap(p.buf), firstChunk), lastChunk)))
}

// Recycle lets the projection use the memory of all frames so far again. Only
// for a caller that has done with them.
func (p *Projection) Recycle() { p.buf = p.buf[:0] }

// begin starts the frame of the present entry with room for size bytes of data.
// It returns false if nobody wants the frame; then end must not be called.
func (p *Projection) begin(c Channel, method, ns string, size int) bool {
	if !p.wants(c) {
		return false
	}
	if p.count {
		p.made = Frame{Frame: frame.Frame{Pos: p.at.pos, Seq: p.at.seq, At: p.at.millis}, Channel: c, NS: ns, RunID: p.run.id}
		p.ready = true
		return false
	}
	p.open(c, method, ns, size)
	return true
}

func (p *Projection) open(c Channel, method, ns string, size int) {
	p.room(size + size/16 + 2*len(ns) + 2*len(p.at.id) + 256)
	p.made = Frame{Channel: c, NS: ns, RunID: p.run.id, RunPos: p.run.pos}
	p.start = len(p.buf)
	b := frame.Open(p.buf, method)
	b = append(b, `{"type":"event","event_id":"`...)
	b = append(b, p.at.id...)
	b = append(b, `","seq":`...)
	b = strconv.AppendInt(b, p.at.seq, 10)
	b = append(b, `,"method":"`...)
	b = append(b, method...)
	b = append(b, `","params":{"namespace":`...)
	b = appendNamespace(b, ns)
	b = append(b, `,"timestamp":`...)
	b = strconv.AppendInt(b, p.at.millis, 10)
	p.buf = append(b, `,"data":`...)
}

// end closes the frame. Behind data stands, with its comma, what else params has.
func (p *Projection) end() {
	p.buf = append(p.buf, '}', '}')
	var f frame.Frame
	p.buf, f = frame.CloseID(p.buf, p.start, p.at.id)
	f.N, f.Pos, f.Seq, f.At = p.at.seq, p.at.pos, p.at.seq, p.at.millis
	p.made.Frame = f
	p.ready = true
}

// synthetic gives the present frame the id of an event that the server itself
// makes: clients read the run's id out of it (spec/streaming-protocol.md 4.2).
func (p *Projection) synthetic(name string) {
	p.at.id = append(p.at.id[:0], "synth:"...)
	p.at.id = append(p.at.id, name...)
	p.at.id = append(p.at.id, ':')
	p.at.id = strconv.AppendInt(p.at.id, p.at.seq, 10)
}

func (p *Projection) string(key, text string) {
	p.buf = append(append(append(p.buf, `,"`...), key...), `":`...)
	p.buf = frame.AppendString(p.buf, text)
}

func (p *Projection) raw(key string, raw json.RawMessage, otherwise string) {
	p.buf = append(append(append(p.buf, `,"`...), key...), `":`...)
	p.buf = frame.AppendRaw(p.buf, raw, otherwise)
}

func appendStrings(dst []byte, texts []string) []byte { return frame.AppendStrings(dst, texts) }
