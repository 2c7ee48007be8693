package protocol

import (
	"encoding/json"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream/frame"
)

// values sends the whole state of a graph (spec/streaming-protocol.md 3.6).
func (p *Projection) values(ns string, note *agent.ValuesNote, read *agent.State) {
	state := note.State
	if state == nil {
		state = read
	}
	switch {
	case p.count:
		p.begin(Values, "values", ns, 0)
	case state != nil:
		if p.begin(Values, "values", ns, 0) {
			p.buf = appendState(p.buf, state)
			p.end()
		}
	case note.Inline != nil:
		if p.begin(Values, "values", ns, len(note.Inline)) {
			p.buf = appendNormal(p.buf, note.Inline)
			p.end()
		}
	}
}

// updates sends what one finished task returned.
func (p *Projection) updates(ns string, note agent.UpdatesNote) {
	if !p.begin(Updates, "updates", ns, len(note.Data)+len(note.Node)+16) {
		return
	}
	p.buf = appendUpdate(p.buf, note.Data)
	p.string("node", note.Node)
	p.end()
}

// taskStarted and taskFinished send the two shapes of tasks (spec/streaming-protocol.md 3.7).
func (p *Projection) taskStarted(ns string, t agent.TaskStart, read *agent.State) {
	if !p.wants(Tasks) {
		return
	}
	input := t.InputJSON()
	if frame.Absent(input) && read != nil {
		input = read.JSON()
	}
	if !p.begin(Tasks, "tasks", ns, len(input)+len(p.run.taskMetadata)+160) {
		return
	}
	p.buf = append(p.buf, `{"id":`...)
	p.buf = frame.AppendString(p.buf, t.ID)
	p.string("name", t.Name)
	p.raw("input", input, "null")
	p.buf = append(p.buf, `,"triggers":`...)
	p.buf = appendStrings(p.buf, t.Triggers)
	p.interrupts(t.Interrupts)
	p.raw("metadata", p.run.taskMetadata, "{}")
	p.buf = append(p.buf, '}')
	p.end()
}

func (p *Projection) taskFinished(ns string, t agent.TaskFinish) {
	if !p.begin(Tasks, "tasks", ns, len(t.Result)+200) {
		return
	}
	p.buf = append(p.buf, `{"id":`...)
	p.buf = frame.AppendString(p.buf, t.ID)
	p.string("name", t.Name)
	p.raw("result", t.Result, "{}")
	p.interrupts(t.Interrupts)
	p.buf = append(p.buf, `,"error":`...)
	if t.Error == nil {
		p.buf = append(p.buf, `null}`...)
	} else {
		p.buf = append(p.buf, `{"message":`...)
		p.buf = frame.AppendString(p.buf, t.Error.Message)
		p.string("name", t.Error.Name)
		p.buf = append(p.buf, '}', '}')
	}
	p.end()
}

func (p *Projection) interrupts(infos []agent.InterruptInfo) {
	p.buf = append(p.buf, `,"interrupts":[`...)
	for i, info := range infos {
		if i > 0 {
			p.buf = append(p.buf, ',')
		}
		p.buf = append(p.buf, `{"id":`...)
		p.buf = frame.AppendString(p.buf, info.ID)
		p.raw("value", info.Value, "null")
		p.buf = append(p.buf, '}')
	}
	p.buf = append(p.buf, ']')
}

// custom sends what a node wrote; an object with a name goes to the channel of
// that name (spec/streaming-protocol.md 3.7).
func (p *Projection) custom(ns string, c agent.Custom) {
	if !p.wants(Custom) {
		return
	}
	var named struct {
		Name    *string         `json:"name"`
		Payload json.RawMessage `json:"payload"`
	}
	if len(c.Value) == 0 || c.Value[0] != '{' || json.Unmarshal(c.Value, &named) != nil {
		named.Name = nil
	}
	wanted := p.begin(Custom, "custom", ns, len(c.Value)+32)
	if named.Name != nil {
		p.relabel(Custom, ns, *named.Name, false)
	}
	switch {
	case !wanted:
		return
	case named.Name != nil:
		p.buf = append(p.buf, `{"name":`...)
		p.buf = frame.AppendString(p.buf, *named.Name)
		p.raw("payload", named.Payload, "null")
	default:
		p.buf = append(p.buf, `{"payload":`...)
		p.buf = frame.AppendRaw(p.buf, c.Value, "null")
	}
	p.buf = append(p.buf, '}')
	p.end()
}
