package classic

import (
	"encoding/json"
	"strconv"

	"github.com/parley-dev/parley/agent"
)

// blockFields are the fields of a content block that chunks are made of.
type blockFields struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Reasoning string          `json:"reasoning"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Args      json.RawMessage `json:"args"`
	Index     *int            `json:"index"`
}

func (b blockFields) isCall() bool {
	return b.Type == "tool_call_chunk" || b.Type == "tool_call" || b.Type == "invalid_tool_call"
}

// blockStarted remembers a block. Its content goes with the first delta, or, if
// none comes, with its end.
func (p *Projection) blockStarted(b agent.BlockStart) {
	m := p.open[b.ID]
	if m == nil {
		return
	}
	var fields blockFields
	_ = json.Unmarshal(b.Block, &fields) // a block we can't read is sent whole at its end
	block := &streamedBlock{kind: fields.Type, callIndex: b.Index}
	if fields.isCall() {
		block.kind = "tool_call"
		block.callID, block.callName = fields.ID, fields.Name
		if fields.Index != nil {
			block.callIndex = *fields.Index
		}
	} else if fields.Type != "text" || b.Index > 0 && m.hasContent() {
		m.listed = true
	}
	m.blocks[b.Index] = block
}

// hasContent reports whether a block before this one is content and not a tool call.
func (m *streamed) hasContent() bool {
	for _, b := range m.blocks {
		if b.kind != "tool_call" {
			return true
		}
	}
	return false
}

// delta sends one chunk of a model's stream.
func (p *Projection) delta(d agent.Delta) {
	m := p.open[d.ID]
	if m == nil {
		return
	}
	block := m.blocks[d.Index]
	if block == nil {
		block = &streamedBlock{kind: d.Type, callIndex: d.CallIndex}
		m.blocks[d.Index] = block
	}
	block.sent = true
	switch d.Type {
	case "text":
		p.send(m, chunk{text: d.Text, listed: m.listed, index: d.Index})
	case "reasoning":
		m.listed = true
		p.send(m, chunk{text: d.Text, reasoning: true, listed: true, index: d.Index})
	case "tool_call":
		call := toolCallChunk{index: d.CallIndex, id: d.CallID, name: d.Name, args: d.Text}
		if call.id == "" {
			call.id = block.callID
		}
		if call.name == "" {
			call.name = block.callName
		}
		block.callID, block.callName = "", ""
		p.send(m, chunk{call: &call})
	default:
		block.sent = false // pieces of media: the block goes whole at its end
	}
}

// blockFinished sends a block of which no delta was sent.
func (p *Projection) blockFinished(b agent.BlockFinish) {
	m := p.open[b.ID]
	if m == nil {
		return
	}
	block := m.blocks[b.Index]
	if block != nil && block.sent {
		return
	}
	var fields blockFields
	if json.Unmarshal(b.Block, &fields) != nil {
		return
	}
	switch {
	case fields.isCall():
		call := toolCallChunk{index: b.Index, id: fields.ID, name: fields.Name, args: argsText(fields.Args)}
		if block != nil {
			call.index = block.callIndex
		}
		p.send(m, chunk{call: &call})
	case fields.Type == "text" && !m.listed:
		if fields.Text != "" {
			p.send(m, chunk{text: fields.Text})
		}
	default:
		m.listed = true
		p.send(m, chunk{block: b.Block})
	}
}

// argsText is a tool call's arguments as text: they are so while they stream,
// and an object once they are whole.
func argsText(args json.RawMessage) string {
	var text string
	if json.Unmarshal(args, &text) == nil {
		return text
	}
	return string(args)
}

// appendContent appends content that is a list with one block; clients merge the
// blocks of equal index.
func appendContent(dst []byte, c chunk) []byte {
	if c.reasoning {
		dst = append(dst, `[{"type":"reasoning","reasoning":`...)
	} else {
		dst = append(dst, `[{"type":"text","text":`...)
	}
	dst = appendString(dst, c.text)
	dst = append(dst, `,"index":`...)
	dst = strconv.AppendInt(dst, int64(c.index), 10)
	return append(dst, `}]`...)
}

// without leaves out the keys of an object that were sent with the same value:
// clients join the texts of equal keys.
func without(all, sent json.RawMessage) json.RawMessage {
	var a, b map[string]json.RawMessage
	if absent(sent) || json.Unmarshal(all, &a) != nil || json.Unmarshal(sent, &b) != nil {
		return all
	}
	for key, value := range b {
		if string(a[key]) == string(value) {
			delete(a, key)
		}
	}
	return appendMap(nil, a)
}

// messageFinished sends the usage and the last metadata, if there are any.
func (p *Projection) messageFinished(f agent.MessageFinish) {
	m := p.open[f.ID]
	if m == nil {
		return
	}
	last := chunk{usage: f.Usage, response: f.ResponseMetadata}
	if !m.first {
		last.response = without(f.ResponseMetadata, m.start.ResponseMetadata)
	}
	if string(last.response) == "{}" || absent(last.response) {
		last.response = nil
	}
	if last.usage != nil || last.response != nil {
		p.send(m, last)
	}
	p.modelFinished(m, f)
	delete(p.open, f.ID)
}
