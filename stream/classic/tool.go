package classic

import (
	"github.com/parley-dev/parley/agent"
)

// tool sends what happens to a tool call, also in a graph that isn't shown otherwise.
func (p *Projection) tool(e agent.Event, t agent.ToolNote) {
	if !p.modes.has(Tools) ||
		!p.begin(Tools, "tools", p.suffix(parentNS(e.NS)), len(t.Input)+len(t.Delta)+len(t.Output)+len(t.Error)+128) {
		return
	}
	event := map[agent.Kind]string{
		agent.ToolStarted: "on_tool_start", agent.ToolOutput: "on_tool_event",
		agent.ToolFinished: "on_tool_end", agent.ToolFailed: "on_tool_error",
	}[e.Kind]
	p.buf = append(p.buf, `{"event":"`...)
	p.buf = append(p.buf, event...)
	p.buf = append(p.buf, `","toolCallId":`...)
	p.buf = appendString(p.buf, t.CallID)
	p.buf = append(p.buf, `,"name":`...)
	p.buf = appendString(p.buf, t.Name)
	switch e.Kind {
	case agent.ToolStarted:
		p.buf = append(p.buf, `,"input":`...)
		p.buf = appendString(p.buf, t.Input)
	case agent.ToolOutput:
		p.buf = append(p.buf, `,"data":`...)
		p.buf = appendRaw(p.buf, t.Delta, "null")
	case agent.ToolFinished:
		p.buf = append(p.buf, `,"output":`...)
		p.buf = appendRaw(p.buf, t.Output, "null")
	case agent.ToolFailed:
		p.buf = append(p.buf, `,"error":`...)
		p.buf = appendString(p.buf, t.Error)
	}
	p.buf = append(p.buf, '}')
	p.end()
}
