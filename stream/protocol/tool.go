package protocol

import (
	"encoding/json"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream/frame"
)

// tool sends what happens to a tool call (spec/streaming-protocol.md 3.10).
func (p *Projection) tool(e agent.Event, t agent.ToolNote) {
	if !p.begin(Tools, "tools", e.NS, len(t.Input)+len(t.Delta)+len(t.Output)+len(t.Error)+len(t.CallID)+len(t.Name)+96) {
		return
	}
	event := map[agent.Kind]string{
		agent.ToolStarted: "tool-started", agent.ToolOutput: "tool-output-delta",
		agent.ToolFinished: "tool-finished", agent.ToolFailed: "tool-error",
	}[e.Kind]
	p.buf = append(p.buf, `{"event":"`...)
	p.buf = append(p.buf, event...)
	p.buf = append(p.buf, '"')
	p.string("tool_call_id", t.CallID)
	switch e.Kind {
	case agent.ToolStarted:
		p.string("tool_name", t.Name)
		p.string("input", t.Input)
	case agent.ToolOutput:
		p.string("delta", textOf(t.Delta))
	case agent.ToolFinished:
		p.raw("output", t.Output, "null")
	case agent.ToolFailed:
		p.string("message", t.Error)
	}
	p.buf = append(p.buf, '}')
	p.end()
}

// textOf is a JSON string's text; anything else is its own JSON text.
func textOf(raw json.RawMessage) string {
	var text string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		return text
	}
	if frame.Absent(raw) {
		return "null"
	}
	return string(raw)
}
