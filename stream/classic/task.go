package classic

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/parley-dev/parley/agent"
)

// taskInfo is what the debug frames of a nested graph repeat of the task that runs it.
type taskInfo struct {
	name     string
	step     int
	triggers []string
	path     json.RawMessage
}

// taskStarted sends the start of a task to the modes tasks, debug and events.
func (p *Projection) taskStarted(e agent.Event, t agent.TaskStart) {
	if p.modes.has(Debug) && p.subgraphs {
		info := p.tasks[t.ID]
		info.name, info.step, info.triggers = t.Name, t.Step, t.Triggers
		p.tasks[t.ID] = info
	}
	if p.visible(e.NS) {
		size := len(t.Input) + len(p.info.taskMetadata) + 160
		if p.modes.has(Tasks) && p.begin(Tasks, "tasks", p.suffix(e.NS), size) {
			p.buf = p.appendTaskStart(p.buf, t)
			p.end()
		}
		if p.modes.has(Debug) && p.begin(Debug, "debug", p.suffix(e.NS), size+80) {
			p.buf = appendDebug(p.buf, "task", t.Step, e.At)
			p.buf = append(p.appendTaskStart(p.buf, t), '}')
			p.end()
		}
	}
	p.chain("on_chain_start", p.taskChain(e.NS, t.ID, t.Name, t.Step), "input", t.Input)
}

func (p *Projection) appendTaskStart(dst []byte, t agent.TaskStart) []byte {
	dst = append(dst, `{"id":`...)
	dst = appendString(dst, t.ID)
	dst = append(dst, `,"name":`...)
	dst = appendString(dst, t.Name)
	dst = append(dst, `,"input":`...)
	dst = appendRaw(dst, t.Input, "null")
	dst = append(dst, `,"triggers":`...)
	dst = appendStrings(dst, t.Triggers)
	dst = append(dst, `,"interrupts":`...)
	dst = appendInterrupts(dst, t.Interrupts)
	dst = append(dst, `,"metadata":`...)
	dst = append(dst, p.info.taskMetadata...)
	return append(dst, '}')
}

// taskFinished sends the end of a task to the modes tasks, debug and events.
func (p *Projection) taskFinished(e agent.Event, t agent.TaskFinish) {
	delete(p.tasks, t.ID)
	if p.visible(e.NS) {
		size := len(t.Result) + 200
		if p.modes.has(Tasks) && p.begin(Tasks, "tasks", p.suffix(e.NS), size) {
			p.buf = appendTaskFinish(p.buf, t)
			p.end()
		}
		if p.modes.has(Debug) && p.begin(Debug, "debug", p.suffix(e.NS), size+80) {
			p.buf = appendDebug(p.buf, "task_result", t.Step, e.At)
			p.buf = append(appendTaskFinish(p.buf, t), '}')
			p.end()
		}
	}
	if t.Error == nil && len(t.Interrupts) == 0 {
		p.chain("on_chain_end", p.taskChain(e.NS, t.ID, t.Name, t.Step), "output", t.Result)
	}
}

func appendTaskFinish(dst []byte, t agent.TaskFinish) []byte {
	dst = append(dst, `{"id":`...)
	dst = appendString(dst, t.ID)
	dst = append(dst, `,"name":`...)
	dst = appendString(dst, t.Name)
	dst = append(dst, `,"result":`...)
	dst = appendRaw(dst, t.Result, "{}")
	dst = append(dst, `,"interrupts":`...)
	dst = appendInterrupts(dst, t.Interrupts)
	dst = append(dst, `,"error":`...)
	if t.Error == nil {
		return append(dst, `null}`...)
	}
	dst = append(dst, `{"message":`...)
	dst = appendString(dst, t.Error.Message)
	dst = append(dst, `,"name":`...)
	dst = appendString(dst, t.Error.Name)
	return append(dst, `}}`...)
}

// appendDebug appends a debug frame's envelope up to its payload.
func appendDebug(dst []byte, kind string, step int, at int64) []byte {
	dst = append(dst, `{"step":`...)
	dst = strconv.AppendInt(dst, int64(step), 10)
	dst = append(dst, `,"type":"`...)
	dst = append(dst, kind...)
	dst = append(dst, `","timestamp":`...)
	dst = appendTime(dst, at)
	return append(dst, `,"payload":`...)
}

// parentNS is the namespace of the graph that runs the task of a namespace.
func parentNS(ns string) string {
	if i := strings.LastIndexByte(ns, '|'); i >= 0 {
		return ns[:i]
	}
	return ""
}

// taskOf is the task id in the last segment of a namespace.
func taskOf(ns string) string { return ns[strings.LastIndexByte(ns, ':')+1:] }

// joinNS is the namespace of a task.
func joinNS(ns, name, id string) string {
	if ns == "" {
		return name + ":" + id
	}
	return ns + "|" + name + ":" + id
}

// pullPath is the path of a task that a channel triggered.
func pullPath(node string) json.RawMessage {
	return appendStrings(nil, []string{"__pregel_pull", node})
}
