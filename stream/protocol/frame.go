package protocol

import (
	"encoding/json"
	"strconv"

	"github.com/parley-dev/parley/stream/frame"
)

// Recycle lets the projection use the memory of all frames so far again. Only
// for a caller that has done with them.
func (p *Projection) Recycle() { p.buf = p.chunks.Recycle(p.buf) }

// Release gives the memory of all frames back. Neither they nor the projection
// may be used any more.
func (p *Projection) Release() {
	p.buf = nil
	p.chunks.Release()
}

// label returns the label of the frame being made: the last one, if it is the same.
func (p *Projection) label(c Channel, ns, name string, root bool) {
	if l := p.lastLabel; l != nil && l.Channel == uint16(c) && l.NS == ns && l.Name == name && l.Root == root && l.RunID == p.run.id {
		return
	}
	p.lastLabel = &frame.Label{Channel: uint16(c), NS: ns, Name: name, Root: root, RunID: p.run.id}
}

// begin starts the frame of the present entry with room for size bytes of data.
// It returns false if nobody wants the frame; then end must not be called.
func (p *Projection) begin(c Channel, method, ns string, size int) bool {
	if !p.wants(c) {
		return false
	}
	p.label(c, ns, "", false)
	if p.count {
		p.made = frame.Frame{Pos: p.at.pos, Seq: p.at.seq, At: p.at.millis, Label: p.lastLabel}
		p.ready = true
		return false
	}
	p.open(method, ns, size)
	return true
}

// relabel changes the label of the frame being made.
func (p *Projection) relabel(c Channel, ns, name string, root bool) {
	p.label(c, ns, name, root)
	p.made.Label = p.lastLabel
}

func (p *Projection) open(method, ns string, size int) {
	p.buf = p.chunks.Room(p.buf, size+size/16+2*len(ns)+2*len(p.at.id)+256)
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
	p.buf, p.made = frame.CloseID(p.buf, p.start, p.at.id)
	p.made.N, p.made.Pos, p.made.Seq, p.made.At = p.at.seq, p.at.pos, p.at.seq, p.at.millis
	p.made.Label = p.lastLabel
	p.ready = true
}

// synthetic gives the present frame the id of an event that the server itself
// makes: clients read the run's id out of it (spec/streaming-protocol.md 4.2).
func (p *Projection) synthetic(name string) {
	p.at.id = append(p.at.id[:0], "synth:"...)
	p.at.id = append(p.at.id, name...)
	p.at.id = append(p.at.id, ':')
	p.at.id = strconv.AppendInt(p.at.id, p.at.seq, 10)
	if p.at.snapshot { // another event of the run may have had the number
		p.at.id = append(p.at.id, ":cut"...)
	}
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
