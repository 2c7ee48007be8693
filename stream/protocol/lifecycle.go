package protocol

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream/frame"
)

// runStarted tells that the run begins, once: a recovered one goes on (decisions 7).
func (p *Projection) runStarted(start agent.RunStart) {
	p.run.open = nil // what a dead worker left unfinished
	p.run.taskMetadata = p.taskMetadata(start)
	if p.run.started {
		return
	}
	p.run.started = true
	if p.root("running", start.GraphID, 0) {
		p.buf = append(p.buf, '}')
		p.end()
	}
}

// runFinished is the run's terminal (spec/streaming-protocol.md 3.4).
func (p *Projection) runFinished(finish agent.RunFinish) {
	event, failure := terminal(finish), ""
	if event == "failed" && finish.Error != nil {
		failure = cut(finish.Error.Message, maxErrorText)
	}
	if !p.root(event, finish.GraphID, len(failure)) {
		return
	}
	if event == "failed" && !p.o.NoFailureText {
		p.string("error", failure)
	}
	p.buf = append(p.buf, '}')
	p.end()
}

// root begins a lifecycle frame of the run as a whole, up to graph_name.
func (p *Projection) root(event, graph string, size int) bool {
	p.synthetic(p.run.id)
	wanted := p.begin(Lifecycle, "lifecycle", "", size+len(graph)+48)
	p.relabel(Lifecycle, "", "", true)
	if !wanted {
		return false
	}
	p.lifecycle(event, graph)
	return true
}

func (p *Projection) lifecycle(event, graph string) {
	p.buf = append(p.buf, `{"event":"`...)
	p.buf = append(p.buf, event...)
	p.buf = append(p.buf, `","graph_name":`...)
	p.buf = frame.AppendString(p.buf, graph)
}

// namespace tells that a task or nested graph said its first thing, or is done.
func (p *Projection) namespace(e agent.Event, note agent.NamespaceNote) {
	if !p.begin(Lifecycle, "lifecycle", e.NS, len(note.Name)+len(note.ToolCallID)+96) {
		return
	}
	event := "started"
	switch {
	case e.Kind == agent.NamespaceFinished && note.Failed:
		event = "failed"
	case e.Kind == agent.NamespaceFinished:
		event = "completed"
	}
	p.lifecycle(event, note.Name)
	if note.ToolCallID != "" {
		p.buf = append(p.buf, `,"cause":{"type":"toolCall"`...)
		p.string("tool_call_id", note.ToolCallID)
		p.buf = append(p.buf, '}')
	}
	p.buf = append(p.buf, '}')
	p.end()
}

// taskMetadata is the run's metadata with its ids, keys sorted.
func (p *Projection) taskMetadata(start agent.RunStart) []byte {
	m := map[string]json.RawMessage{
		"graph_id": frame.AppendString(nil, start.GraphID), "assistant_id": frame.AppendString(nil, start.AssistantID),
		"run_attempt": strconv.AppendInt(nil, int64(max(start.Attempt, 1)), 10),
	}
	maps.Copy(m, start.Metadata)
	delete(m, "thread_id")
	m["run_id"] = frame.AppendString(nil, p.run.id)
	b := []byte{'{'}
	for i, key := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(frame.AppendString(b, key), ':')
		b = frame.AppendRaw(b, m[key], "null")
	}
	return append(b, '}')
}
