package agent

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-dev/parley/agent/message"
)

// MessageStream writes one streamed message of a model call to the run's events.
// Methods are to be called in the order of the stream.
type MessageStream struct {
	c       *taskContext
	acc     message.Accumulator
	options MessageOptions
	callID  string
	// quiet streams put the message together and show nothing.
	quiet, started, closed bool
	blocks                 []streamBlock
	text                   int         // index of the open text or reasoning block; −1 for none
	calls                  map[int]int // index of a tool call → its block
}

// streamBlock is a content block that was started.
type streamBlock struct {
	kind      string // text, reasoning or tool_call
	text      strings.Builder
	signature string // of reasoning
	id, name  string // of a tool call
	finished  bool
}

// MessageOptions describe a message to be streamed.
type MessageOptions struct {
	ID    string // "" = the first chunk's, else derived from the task
	Name  string
	Tags  []string
	Extra map[string]json.RawMessage // metadata of the model (ls_provider, …)
	// Prompt is the model's input, for the "events" mode.
	Prompt message.List
}

// StreamMessage opens a message. Readers see it from the first chunk on. Nothing is
// shown of calls tagged nostream or langsmith:nostream, and of hidden nodes.
func StreamMessage(ctx Context, o MessageOptions) *MessageStream {
	c := ctx.task()
	m := &MessageStream{c: c, options: o, text: -1, acc: message.Accumulator{ID: o.ID, Name: o.Name}}
	m.callID = c.nextID("call")
	m.quiet = c.loop == nil || c.planned.node.hidden() || slices.ContainsFunc(slices.Concat(o.Tags, c.planned.node.tags), func(t string) bool {
		return t == "nostream" || t == "langsmith:nostream"
	})
	return m
}

// DescribeMessage says of a message that a model made without streaming it what
// StreamMessage says of a streamed one: its readers get Tags and Extra with the
// message, once the node returned it.
func DescribeMessage(ctx Context, id string, o MessageOptions) {
	c := ctx.task()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.described == nil {
		c.described = map[string]MessageOptions{}
	}
	c.described[id] = o
}

// describe adds to a task's metadata that of a model's message.
func (o MessageOptions) describe(meta MessageMeta) MessageMeta {
	if len(o.Tags) > 0 {
		meta.Tags = slices.Concat(meta.Tags, o.Tags)
	}
	if len(o.Extra) > 0 {
		meta.Extra = mergeRaw(meta.Extra, o.Extra)
	}
	return meta
}

// metaOf is the metadata of a message that the task returned whole.
func (c *taskContext) metaOf(id string) MessageMeta {
	c.mu.Lock()
	o := c.described[id]
	c.mu.Unlock()
	return o.describe(c.meta())
}

// ID is the message's id.
func (m *MessageStream) ID() string {
	if m.acc.ID == "" {
		m.acc.ID = derivedID(m.callID, "message")
	}
	return m.acc.ID
}

// Chunk writes one chunk of the model's stream.
func (m *MessageStream) Chunk(c message.Chunk) {
	m.acc.Add(c)
	if m.quiet || m.closed {
		return
	}
	m.start(c)
	if c.Reasoning != "" {
		m.grow("reasoning", c.Reasoning)
	}
	if c.Signature != "" {
		if m.text < 0 || m.blocks[m.text].kind != "reasoning" {
			m.grow("reasoning", "")
		}
		m.blocks[m.text].signature = c.Signature
		m.endText()
	}
	if c.Text != "" {
		m.grow("text", c.Text)
	}
	if len(c.Block) > 0 {
		m.endText()
		i := len(m.blocks)
		m.blocks = append(m.blocks, streamBlock{finished: true})
		m.c.emit(BlockStarted, BlockStart{ID: m.ID(), Index: i, Block: c.Block})
		m.c.emit(BlockFinished, BlockFinish{ID: m.ID(), Index: i, Block: c.Block})
	}
	for _, piece := range c.ToolCalls {
		m.growCall(piece)
	}
}

// start emits the start of the message, once.
func (m *MessageStream) start(first message.Chunk) {
	if m.started {
		return
	}
	m.started = true
	meta := m.options.describe(m.c.meta())
	// Readers that have text of an earlier attempt must drop it (decisions 7).
	again := !m.c.loop.r.speak(m.ID())
	if again || m.c.exec.Attempt > 1 && m.c.run.mayHaveRun() {
		m.c.emit(MessageReset, MessageRef{ID: m.ID(), Meta: meta})
	}
	start := MessageStart{
		ID: m.ID(), CallID: m.callID, Type: message.AI, Name: m.options.Name, Streamed: true, Meta: meta,
		AdditionalKwargs: first.AdditionalKwargs, ResponseMetadata: first.ResponseMetadata,
	}
	if m.options.Prompt.Len() > 0 {
		start.Input = m.options.Prompt.AppendJSON(nil)
	}
	m.c.emit(MessageStarted, start)
}

// grow appends to the open text block, or to a new one.
func (m *MessageStream) grow(kind, text string) {
	if m.text < 0 || m.blocks[m.text].kind != kind {
		m.endText()
		m.text = len(m.blocks)
		m.blocks = append(m.blocks, streamBlock{kind: kind})
		m.c.emit(BlockStarted, BlockStart{ID: m.ID(), Index: m.text, Block: textBlock(kind, "")})
	}
	m.blocks[m.text].text.WriteString(text)
	m.c.emit(BlockDelta, Delta{ID: m.ID(), Index: m.text, Type: kind, Text: text})
}

// growCall appends to a tool call's block, or to a new one.
func (m *MessageStream) growCall(piece message.ToolCallChunk) {
	i, ok := m.calls[piece.Index]
	if ok && piece.ID != "" && m.blocks[i].id != "" && m.blocks[i].id != piece.ID {
		ok = false
	}
	if !ok {
		m.endText()
		i = len(m.blocks)
		m.blocks = append(m.blocks, streamBlock{kind: "tool_call", id: piece.ID, name: piece.Name})
		if m.calls == nil {
			m.calls = map[int]int{}
		}
		m.calls[piece.Index] = i
		m.c.emit(BlockStarted, BlockStart{ID: m.ID(), Index: i, Block: callChunkBlock(piece.ID, piece.Name, piece.Index)})
	}
	b := &m.blocks[i]
	if piece.ID != "" {
		b.id = piece.ID
	}
	if piece.Name != "" {
		b.name = piece.Name
	}
	b.text.WriteString(piece.Args)
	m.c.emit(BlockDelta, Delta{ID: m.ID(), Index: i, Type: "tool_call", Text: piece.Args, CallID: piece.ID, Name: piece.Name, CallIndex: piece.Index})
}

// endText finishes the open text block.
func (m *MessageStream) endText() {
	if m.text >= 0 {
		m.finishBlock(m.text)
		m.text = -1
	}
}

func (m *MessageStream) finishBlock(i int) {
	b := &m.blocks[i]
	if b.finished {
		return
	}
	b.finished = true
	var raw json.RawMessage
	if b.kind == "tool_call" {
		raw = callBlock(b.id, b.name, b.text.String())
	} else {
		raw = message.AppendTextBlock(nil, b.kind, b.text.String(), b.signature)
	}
	m.c.emit(BlockFinished, BlockFinish{ID: m.ID(), Index: i, Block: raw})
}

// Finish closes the message; the result is what was streamed.
func (m *MessageStream) Finish() message.Message {
	m.ID()
	msg := m.acc.Finish()
	if m.quiet || m.closed {
		return msg
	}
	m.start(message.Chunk{})
	m.closed = true
	for i := range m.blocks {
		m.finishBlock(i)
	}
	reason := m.acc.FinishReason()
	switch {
	case reason == "" && len(msg.ToolCalls) > 0:
		reason = "tool_use"
	case reason == "":
		reason = "stop"
	}
	m.c.emit(MessageFinished, MessageFinish{
		ID: m.ID(), Reason: reason, Usage: m.acc.Usage(), ResponseMetadata: msg.ResponseMetadata, Message: msg.AppendJSON(nil),
	})
	return msg
}

// Reset starts over with the same id, before a second attempt of the call.
func (m *MessageStream) Reset() {
	m.ID()
	m.acc.Reset()
	m.started, m.closed, m.blocks, m.text, m.calls = false, false, nil, -1, nil
}

// Fail closes the message after the call failed for good.
func (m *MessageStream) Fail(err error) {
	if m.quiet || m.closed || !m.started {
		return
	}
	m.closed = true
	info := ErrorInfoOf(err)
	m.c.emit(MessageFailed, MessageError{ID: m.ID(), Message: info.Message, Code: info.Name})
}

// nextID returns the task's next id of a kind.
func (c *taskContext) nextID(kind string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kinds == nil {
		c.kinds = map[string]int{}
	}
	c.kinds[kind]++
	return derivedID(c.planned.id, kind, strconv.Itoa(c.kinds[kind]))
}

func mergeRaw(a, b map[string]json.RawMessage) map[string]json.RawMessage {
	m := make(map[string]json.RawMessage, len(a)+len(b))
	for k, v := range a {
		m[k] = v
	}
	for k, v := range b {
		m[k] = v
	}
	return m
}
