package protocol

import (
	"encoding/json"
	"strconv"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream/frame"
)

// openMessage is a message under way.
type openMessage struct {
	tail  []byte // of its events: the id of the model call and the closing brace
	calls bool   // has a tool call
}

// messageStarted opens a message. Only AI messages come this way; another role
// would be said (spec/streaming-protocol.md 3.9).
func (p *Projection) messageStarted(ns string, start agent.MessageStart) {
	m := &openMessage{}
	if start.CallID != "" {
		m.tail = frame.AppendString(append(m.tail, `,"run_id":`...), start.CallID)
	}
	m.tail = append(m.tail, '}')
	if p.run.open == nil {
		p.run.open = map[string]*openMessage{}
	}
	p.run.open[start.ID] = m
	if !p.begin(Messages, "messages", ns, len(start.ID)+128) {
		return
	}
	p.buf = append(p.buf, `{"event":"message-start"`...)
	if start.ID != "" {
		p.string("id", start.ID)
	}
	if start.Type != "" && start.Type != "ai" {
		p.string("role", start.Type)
	}
	p.buf = append(p.buf, m.tail...)
	p.end()
}

// message is the open message with that id; one without a call for an unknown id.
func (p *Projection) message(id string) *openMessage {
	if m := p.run.open[id]; m != nil {
		return m
	}
	return &openMessage{tail: []byte{'}'}}
}

func (p *Projection) block(event string, index int) {
	p.buf = append(p.buf, `{"event":"`...)
	p.buf = append(p.buf, event...)
	p.buf = append(p.buf, `","index":`...)
	p.buf = strconv.AppendInt(p.buf, int64(index), 10)
}

func (p *Projection) blockStarted(ns string, b agent.BlockStart) {
	m := p.message(b.ID)
	m.calls = m.calls || isCall(b.Block)
	if !p.begin(Messages, "messages", ns, len(b.Block)+128) {
		return
	}
	p.block("content-block-start", b.Index)
	p.raw("content", b.Block, "null")
	p.buf = append(p.buf, m.tail...)
	p.end()
}

// delta sends one chunk. Pieces of tool arguments have both forms that clients
// know: older ones read content and fail on the delta alone (spec/streaming-protocol.md 3.9).
func (p *Projection) delta(ns string, d agent.Delta) {
	if !p.begin(Messages, "messages", ns, 2*len(d.Text)+192) {
		return
	}
	p.block("content-block-delta", d.Index)
	switch d.Type {
	case "reasoning":
		p.buf = append(p.buf, `,"delta":{"type":"reasoning-delta","reasoning":`...)
		p.buf = frame.AppendString(p.buf, d.Text)
		p.buf = append(p.buf, '}')
	case "tool_call":
		p.buf = append(p.buf, `,"delta":{"type":"tool-call-delta","args":`...)
		p.buf = frame.AppendString(p.buf, d.Text)
		p.buf = append(p.buf, `},"content":{"type":"tool_call_chunk","args":`...)
		p.buf = frame.AppendString(p.buf, d.Text)
		p.buf = append(p.buf, '}')
	case "data":
		p.buf = append(p.buf, `,"delta":{"type":"data-delta","data":`...)
		p.buf = frame.AppendString(p.buf, d.Text)
		p.buf = append(p.buf, `,"encoding":"base64"}`...)
	default:
		p.buf = append(p.buf, `,"delta":{"type":"text-delta","text":`...)
		p.buf = frame.AppendString(p.buf, d.Text)
		p.buf = append(p.buf, '}')
	}
	p.buf = append(p.buf, p.message(d.ID).tail...)
	p.end()
}

func (p *Projection) blockFinished(ns string, b agent.BlockFinish) {
	m := p.message(b.ID)
	m.calls = m.calls || isCall(b.Block)
	if !p.begin(Messages, "messages", ns, len(b.Block)+128) {
		return
	}
	p.block("content-block-finish", b.Index)
	p.raw("content", b.Block, "null")
	p.buf = append(p.buf, m.tail...)
	p.end()
}

func (p *Projection) messageFinished(ns string, f agent.MessageFinish) {
	m := p.message(f.ID)
	delete(p.run.open, f.ID)
	if !p.begin(Messages, "messages", ns, 320) {
		return
	}
	reason := f.Reason
	switch {
	case reason == "" && m.calls:
		reason = "tool_use"
	case reason == "":
		reason = "stop"
	}
	p.buf = append(p.buf, `{"event":"message-finish"`...)
	p.string("reason", reason)
	if f.Usage != nil {
		if usage, err := json.Marshal(f.Usage); err == nil { // details that aren't JSON go without
			p.raw("usage", usage, "{}")
		}
	}
	p.buf = append(p.buf, m.tail...)
	p.end()
}

func (p *Projection) messageFailed(ns string, e agent.MessageError) {
	m := p.message(e.ID)
	delete(p.run.open, e.ID)
	if !p.begin(Messages, "messages", ns, len(e.Message)+128) {
		return
	}
	p.buf = append(p.buf, `{"event":"error"`...)
	p.string("message", e.Message)
	if e.Code != "" {
		p.string("code", e.Code)
	}
	p.buf = append(p.buf, m.tail...)
	p.end()
}

// isCall reports whether a content block is a tool call, or the start of one.
func isCall(block json.RawMessage) bool {
	var b struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(block, &b) != nil {
		return false
	}
	return b.Type == "tool_call" || b.Type == "tool_call_chunk"
}
