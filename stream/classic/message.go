package classic

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// streamed is a message that a model is streaming. What does not change from
// chunk to chunk is encoded once: of a token only its text is new.
type streamed struct {
	start    agent.MessageStart
	ns       string // of the task
	suffix   string
	metadata []byte // the second half of "messages" frames

	beforeText, afterText []byte // of a chunk with nothing but text
	afterChunk            []byte // behind a chunk in a "messages" frame

	blocks map[int]*streamedBlock
	listed bool // content is sent as blocks: there is more than one text
	first  bool // no chunk was sent yet

	partial partialMessage
}

// streamedBlock is a content block of a streamed message.
type streamedBlock struct {
	kind      string
	callID    string // of a tool call, until a chunk has carried it
	callName  string
	callIndex int
	sent      bool // a delta was sent
}

// chunk is one piece of a streamed message.
type chunk struct {
	text      string
	reasoning bool // text is reasoning
	listed    bool // content is sent as a list with the block at index
	index     int
	block     json.RawMessage // whole block in place of text
	call      *toolCallChunk
	kwargs    json.RawMessage
	response  json.RawMessage
	usage     *message.Usage
}

type toolCallChunk struct {
	index          int
	id, name, args string
}

// streams reports whether some mode shows streamed messages.
func (p *Projection) streams() bool { return p.modes.has(MessagesTuple | Messages | Events) }

func (p *Projection) messageStarted(e agent.Event, start agent.MessageStart) {
	if !p.streams() || !start.Streamed {
		return
	}
	m := &streamed{start: start, ns: e.NS, suffix: p.suffix(parentNS(e.NS)), first: true, blocks: map[int]*streamedBlock{}}
	m.metadata = p.messageMetadata(start.Meta, false)
	m.beforeText = append(m.beforeText, `{"content":`...)
	m.afterText = m.appendTail(nil, chunk{})
	m.afterChunk = append(append(append(m.afterChunk, ','), m.metadata...), ']')
	m.partial.acc.ID, m.partial.acc.Name = start.ID, start.Name
	p.open[start.ID] = m
	p.modelStarted(m)
}

// appendTail appends a chunk from behind its content.
func (m *streamed) appendTail(dst []byte, c chunk) []byte {
	dst = append(dst, `,"id":`...)
	dst = appendString(dst, m.start.ID)
	if m.start.Name != "" {
		dst = append(dst, `,"name":`...)
		dst = appendString(dst, m.start.Name)
	}
	dst = append(dst, `,"tool_calls":[`...)
	if c.call != nil {
		dst = appendToolCall(dst, *c.call)
	}
	dst = append(dst, `],"invalid_tool_calls":[],"tool_call_chunks":[`...)
	if c.call != nil {
		dst = appendToolCallChunk(dst, *c.call)
	}
	dst = append(dst, `],"additional_kwargs":`...)
	dst = appendRaw(dst, c.kwargs, "{}")
	dst = append(dst, `,"response_metadata":`...)
	dst = appendRaw(dst, c.response, "{}")
	if c.usage != nil {
		dst = append(dst, `,"usage_metadata":`...)
		dst = appendUsage(dst, c.usage)
	}
	return append(dst, `,"type":"ai"}`...)
}

func (m *streamed) appendChunk(dst []byte, c chunk) []byte {
	dst = append(dst, m.beforeText...)
	switch {
	case c.block != nil:
		dst = append(append(append(dst, '['), c.block...), ']')
	case c.listed:
		dst = appendContent(dst, c)
	default:
		dst = appendString(dst, c.text)
	}
	if c.call == nil && c.kwargs == nil && c.response == nil && c.usage == nil {
		return append(dst, m.afterText...)
	}
	return m.appendTail(dst, c)
}

// appendToolCall appends the call that a chunk brings whole; nothing for a piece
// of one, which readers put together from the pieces.
func appendToolCall(dst []byte, c toolCallChunk) []byte {
	var args bytes.Buffer
	if c.id == "" || c.name == "" || json.Compact(&args, []byte(c.args)) != nil || !bytes.HasPrefix(args.Bytes(), []byte("{")) {
		return dst
	}
	dst = append(dst, `{"name":`...)
	dst = appendString(dst, c.name)
	dst = append(dst, `,"args":`...)
	dst = append(dst, args.Bytes()...)
	dst = append(dst, `,"id":`...)
	dst = appendString(dst, c.id)
	return append(dst, `,"type":"tool_call"}`...)
}

func appendToolCallChunk(dst []byte, c toolCallChunk) []byte {
	dst = append(dst, '{')
	if c.name != "" {
		dst = append(dst, `"name":`...)
		dst = append(appendString(dst, c.name), ',')
	}
	dst = append(dst, `"args":`...)
	dst = appendString(dst, c.args)
	if c.id != "" {
		dst = append(dst, `,"id":`...)
		dst = appendString(dst, c.id)
	}
	dst = append(dst, `,"index":`...)
	dst = strconv.AppendInt(dst, int64(c.index), 10)
	return append(dst, `,"type":"tool_call_chunk"}`...)
}

func appendUsage(dst []byte, u *message.Usage) []byte {
	b, err := json.Marshal(u)
	if err != nil { // raw details that aren't JSON
		return append(dst, "{}"...)
	}
	return append(dst, b...)
}

// messageMetadata is the second half of a "messages" frame (spec/rest-api.md
// 4.4). A message that a node made itself carries the node's name.
func (p *Projection) messageMetadata(meta agent.MessageMeta, whole bool) []byte {
	ofNode := whole && meta.Extra["ls_model_type"] == nil
	tags := meta.Tags
	if ofNode && len(tags) == 0 {
		tags = []string{"graph:step:" + strconv.Itoa(meta.Step)}
	}
	path := meta.Path
	if absent(path) {
		path = pullPath(meta.Node)
	}
	var m object
	m.set("tags", appendStrings(nil, tags))
	if ofNode {
		m.set("name", quoted(meta.Node))
	}
	m.setAll(p.info.metadata.values)
	m.set("thread_id", quoted(p.threadID))
	setTask(&m, meta.CheckpointNS, meta.Node, meta.Step, meta.Triggers, path)
	m.setAll(meta.Extra)
	return m.append(nil)
}

// send hands a chunk to every mode that shows it.
func (p *Projection) send(m *streamed, c chunk) {
	if m.first {
		m.first = false
		if c.kwargs == nil {
			c.kwargs = m.start.AdditionalKwargs
		}
		if c.response == nil {
			c.response = m.start.ResponseMetadata
		}
	}
	if p.modes.has(MessagesTuple) &&
		p.begin(MessagesTuple, "messages", m.suffix, len(m.beforeText)+len(c.text)+len(c.text)/8+len(c.block)+len(m.afterText)+len(m.afterChunk)+8) {
		p.buf = append(p.buf, '[')
		p.buf = m.appendChunk(p.buf, c)
		p.buf = append(p.buf, m.afterChunk...)
		p.end()
	}
	if p.modes.has(Messages) {
		p.sendPartial(m, c)
	}
	if p.modes.has(Events) {
		p.modelStreamed(m, c)
	}
}

// messageReset removes what was sent of a message whose model call is tried again (decisions 7).
func (p *Projection) messageReset(ns string, ref agent.MessageRef) {
	if m := p.open[ref.ID]; m != nil {
		m.partial.reset()
		m.first, m.listed, m.blocks = true, false, map[int]*streamedBlock{}
	}
	if !p.modes.has(MessagesTuple) {
		return
	}
	metadata := p.messageMetadata(ref.Meta, false)
	if p.begin(MessagesTuple, "messages", p.suffix(parentNS(ns)), len(metadata)+160) {
		p.buf = append(p.buf, `[{"type":"remove","id":`...)
		p.buf = appendString(p.buf, ref.ID)
		p.buf = append(p.buf, `,"content":[],"additional_kwargs":{},"response_metadata":{}},`...)
		p.buf = append(p.buf, metadata...)
		p.buf = append(p.buf, ']')
		p.end()
	}
}

// messageWhole sends a message that was not streamed, once and whole.
func (p *Projection) messageWhole(ns string, s agent.MessageSnapshot) {
	if !p.modes.has(MessagesTuple) {
		return
	}
	metadata := p.messageMetadata(s.Meta, true)
	if p.begin(MessagesTuple, "messages", p.suffix(parentNS(ns)), len(metadata)+len(s.Message)+8) {
		p.buf = append(p.buf, '[')
		p.buf = appendRaw(p.buf, s.Message, "null")
		p.buf = append(p.buf, ',')
		p.buf = append(p.buf, metadata...)
		p.buf = append(p.buf, ']')
		p.end()
	}
}
