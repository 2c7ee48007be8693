package classic

import (
	"github.com/parley-dev/parley/agent/message"
)

// partialMessage is a message as far as it was streamed, for mode "messages".
type partialMessage struct {
	acc message.Accumulator
	// text is the content as JSON without its closing quote, while that is all there is.
	text  []byte
	mixed bool // there is more than text
}

func (p *partialMessage) reset() {
	p.acc.Reset()
	p.text, p.mixed = nil, false
}

// add merges a chunk.
func (p *partialMessage) add(c chunk) {
	merged := message.Chunk{Block: c.block, Usage: c.usage, AdditionalKwargs: c.kwargs, ResponseMetadata: c.response}
	if c.reasoning {
		merged.Reasoning = c.text
	} else {
		merged.Text = c.text
	}
	if c.call != nil {
		merged.ToolCalls = []message.ToolCallChunk{{Index: c.call.index, ID: c.call.id, Name: c.call.name, Args: c.call.args}}
	}
	p.acc.Add(merged)
	if c.listed || c.block != nil || c.call != nil || c.usage != nil || c.kwargs != nil || c.response != nil {
		p.mixed = true
	}
	if p.mixed {
		return
	}
	if p.text == nil {
		p.text = append(p.text, '"')
	}
	quoted := appendString(nil, c.text)
	p.text = append(p.text, quoted[1:len(quoted)-1]...)
}

// sendPartial sends the message so far, and before the first time its metadata.
func (p *Projection) sendPartial(m *streamed, c chunk) {
	m.partial.add(c)
	if _, ok := p.announced[m.start.ID]; !ok {
		p.announced[m.start.ID] = struct{}{}
		if p.begin(Messages, "messages/metadata", "", len(m.metadata)+len(m.start.ID)+24) {
			p.buf = append(p.buf, '{')
			p.buf = appendString(p.buf, m.start.ID)
			p.buf = append(p.buf, `:{"metadata":`...)
			p.buf = append(p.buf, m.metadata...)
			p.buf = append(p.buf, `}}`...)
			p.end()
		}
	}
	if !p.begin(Messages, "messages/partial", "", len(m.partial.text)+len(m.afterText)+256) {
		return
	}
	p.buf = append(p.buf, '[')
	if m.partial.mixed {
		p.buf = m.partial.acc.Message().AppendJSON(p.buf)
	} else {
		p.buf = append(p.buf, m.beforeText...)
		p.buf = append(append(p.buf, m.partial.text...), '"')
		p.buf = append(p.buf, m.afterText...)
	}
	p.buf = append(p.buf, ']')
	p.end()
}
