// Package execution turns the events of a run into the chunks of the executions API (spec/executions.md 4,
// invokeStream): a deterministic fold from the run's first event, so that chunk n is the same for every reader
// and every replay.
package execution

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/stream/frame"
	"github.com/parley-dev/parley/thread"
)

// The types of chunks. Each of the last three is a run's last.
const (
	Text      = "text"      // a piece of what a model says
	Tool      = "tool"      // a call of a tool: started, output, finished or failed
	Suspended = "suspended" // the execution waits for a person
	Completed = "completed"
	Error     = "error"
)

// Chunk is one event of a stream. What its content and metadata are depends on its type; see docs/executions.md.
type Chunk struct {
	Type        string         `json:"chunk_type"`
	Content     string         `json:"content"`
	Metadata    map[string]any `json:"metadata"`
	ExecutionID string         `json:"execution_id"`
}

// Projection is the fold of one run. It is not safe for concurrent use.
type Projection struct {
	run      thread.Run
	next     int64
	last     int64
	skip     int64
	finished bool

	speaking map[string]string // ids of ai messages that are open, with the namespace of each
	asked    []agent.InterruptInfo
	response string // of the last state that was seen
	state    string // id of the checkpoint with a later one; "" when response is up to date

	buf    []byte
	chunks frame.Chunks
	frames []frame.Frame
}

// New returns the projection of a run.
func New(run thread.Run) *Projection {
	return &Projection{run: run, last: -1, skip: -1, speaking: map[string]string{}}
}

// ID is the id of a run's n-th chunk.
func ID(runID string, n int64) string { return runID + ":" + strconv.FormatInt(n, 10) }

// ParseID takes the id of a chunk apart.
func ParseID(id string) (runID string, n int64, ok bool) {
	runID, number, ok := strings.Cut(strings.TrimSpace(id), ":")
	n, err := strconv.ParseInt(number, 10, 64)
	return runID, n, ok && err == nil && n >= 0 && runID != ""
}

// Skip makes the projection count chunks up to number n without making them.
func (p *Projection) Skip(n int64) { p.skip = n }

// Finished reports whether the run's last event was projected.
func (p *Projection) Finished() bool { return p.finished }

// NeedsState returns the checkpoint whose state tells what a run that ends well has said.
func (p *Projection) NeedsState(e thread.Entry) string {
	if v, ok := e.Event.Payload.(agent.RunFinish); ok && v.Status == string(thread.RunSuccess) {
		return p.state
	}
	return ""
}

// Project returns the chunks of the next entry. The slice is valid until the next call; the chunks for good, unless
// Recycle is called. A state that NeedsState asked for and that is gone is nil.
func (p *Projection) Project(e thread.Entry, state *agent.State) []frame.Frame {
	p.frames = p.frames[:0]
	p.event(e.Event, state)
	for i := range p.frames {
		p.frames[i].Pos, p.frames[i].Seq, p.frames[i].At = e.Pos, e.Seq, e.Event.At
	}
	return p.frames
}

func (p *Projection) event(e agent.Event, state *agent.State) {
	switch v := e.Payload.(type) {
	case agent.MessageStart:
		if v.Type == message.AI {
			p.speaking[v.ID] = e.NS
		}
	case agent.Delta:
		if ns, ok := p.speaking[v.ID]; ok && v.Type == "text" && v.Text != "" {
			p.text(v.ID, ns, v.Text)
		}
	case agent.MessageFinish:
		delete(p.speaking, v.ID)
	case agent.MessageError:
		delete(p.speaking, v.ID)
	case agent.MessageRef: // what was said of the message is void: a model is asked once more
		p.add(Text, "", map[string]any{"message_id": v.ID, "reset": true})
	case agent.ToolNote:
		p.tool(e, v)
	case *agent.ValuesNote:
		if e.NS == "" {
			p.values(v)
		}
	case agent.InterruptInfo:
		if e.Kind == agent.InterruptRaised {
			p.question(v)
		}
	case agent.RunStart:
		if v.Attempt > 1 || v.FrameBase > 0 {
			clear(p.speaking)
			p.asked = nil
			p.next = max(p.next, v.FrameBase) // a dead worker may have delivered numbers up to here (decisions 2)
		}
	case agent.RunFinish:
		p.finish(v, state)
	}
}

func (p *Projection) text(id, ns, text string) {
	p.add(Text, text, inNamespace(map[string]any{"message_id": id}, ns))
}

// tool tells of a call. What a tool gave back is the content of the chunk that says so.
func (p *Projection) tool(e agent.Event, v agent.ToolNote) {
	m := inNamespace(map[string]any{"tool_call_id": v.CallID, "name": v.Name}, e.NS)
	content := v.Name
	switch e.Kind {
	case agent.ToolStarted:
		m["status"] = "started"
		if json.Valid([]byte(v.Input)) {
			m["input"] = json.RawMessage(v.Input)
		} else {
			m["input"] = v.Input
		}
	case agent.ToolOutput:
		m["status"], m["output"] = "output", v.Delta
	case agent.ToolFinished:
		m["status"], content = "finished", ""
		var result message.Message
		if json.Unmarshal(v.Output, &result) == nil {
			content = result.Text()
		}
	case agent.ToolFailed:
		m["status"], content = "failed", v.Error
	default:
		return
	}
	p.add(Tool, content, m)
}

// values notes what the agent has said by then.
func (p *Projection) values(v *agent.ValuesNote) {
	switch {
	case v.State != nil:
		p.response, p.state = thread.LastText(v.State), ""
	case v.Inline != nil:
		p.response, p.state = lastText(v.Inline), ""
	default:
		p.state = v.CheckpointID
	}
}

// lastText is thread.LastText of a state in JSON.
func lastText(state json.RawMessage) string {
	var s struct {
		Messages json.RawMessage `json:"messages"`
	}
	if json.Unmarshal(state, &s) != nil {
		return ""
	}
	list, err := message.CoerceList(s.Messages)
	if err != nil {
		return ""
	}
	return thread.TextOf(message.New(list...))
}

func (p *Projection) question(q agent.InterruptInfo) {
	for _, have := range p.asked {
		if have.ID == q.ID {
			return
		}
	}
	p.asked = append(p.asked, q)
}

// finish ends the run with the chunk that says what became of it.
func (p *Projection) finish(v agent.RunFinish, state *agent.State) {
	p.finished = true
	switch {
	case v.Status == string(thread.RunSuccess) && v.Suspended:
		p.suspended()
	case v.Status == string(thread.RunSuccess):
		if p.state != "" {
			p.response = thread.LastText(state)
		}
		p.add(Completed, p.response, map[string]any{"status": string(thread.ExecutionCompleted)})
	case v.Status == string(thread.RunInterrupted):
		p.failed(thread.ErrorCancelled, "", thread.CancelledText)
	case v.Error != nil:
		p.failed(thread.ErrorRun, v.Error.Name, v.Error.Message)
	default:
		p.failed(thread.ErrorRun, "", "The run failed.")
	}
}

func (p *Projection) failed(code, name, text string) {
	m := map[string]any{"status": string(thread.ExecutionError), "error_code": code}
	if name != "" {
		m["name"] = name
	}
	p.add(Error, text, m)
}

// suspended shows the questions; the first, for callers who know of one only, on its own.
func (p *Projection) suspended() {
	type question struct {
		InterruptID string          `json:"interrupt_id"`
		Reason      string          `json:"suspend_reason"`
		Context     json.RawMessage `json:"suspend_context"`
	}
	m := map[string]any{"status": string(thread.ExecutionSuspended)}
	all := make([]question, len(p.asked))
	content := ""
	for i, q := range p.asked {
		reason, shown := thread.Shown(q)
		all[i] = question{q.ID, reason, shown}
		if i == 0 {
			content, m["suspend_reason"], m["suspend_context"] = reason, reason, shown
		}
	}
	m["questions"] = all
	p.add(Suspended, content, m)
}

func inNamespace(m map[string]any, ns string) map[string]any {
	if ns != "" {
		m["namespace"] = ns
	}
	return m
}

// add makes the next chunk, unless the reader has it.
func (p *Projection) add(kind, content string, metadata map[string]any) {
	n, prev := p.next, p.last
	p.last = n
	p.next++
	if n <= p.skip {
		return
	}
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false)
	if enc.Encode(Chunk{kind, content, metadata, p.run.ExecutionID}) != nil {
		return // a raw value that is no JSON; its encoder would have refused it
	}
	p.buf = p.chunks.Room(p.buf, data.Len()+len(p.run.ID)+64)
	start := len(p.buf)
	p.buf = append(frame.OpenData(p.buf), bytes.TrimSuffix(data.Bytes(), []byte("\n"))...)
	var f frame.Frame
	p.buf, f = frame.CloseData(p.buf, start, []byte(ID(p.run.ID, n)))
	f.N, f.Prev = n, prev
	p.frames = append(p.frames, f)
}

// Release gives the memory of all chunks back. Neither they nor the projection may be used any more.
func (p *Projection) Release() {
	p.buf = nil
	p.chunks.Release()
}

// Recycle lets the projection use the memory of all chunks so far again. Only for a caller that has done with them.
func (p *Projection) Recycle() { p.buf = p.chunks.Recycle(p.buf) }
