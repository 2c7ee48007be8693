// Package classic turns the events of a run into the frames of the classic
// stream API (spec/rest-api.md 4): a deterministic fold from the run's first
// event, so that frame n is the same for every reader and every replay.
package classic

import (
	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream/frame"
	"github.com/parley-dev/parley/thread"
)

// Projection is the fold of one run. It is not safe for concurrent use.
type Projection struct {
	threadID, runID, assistantID, graphID string

	modes     Mode
	subgraphs bool

	next int64 // number of the next frame
	last int64 // number of the frame before
	skip int64 // frames up to this number are counted, not made
	seq  int64 // of the last numbered entry
	sub  int   // frames since that entry

	gone     bool // the state behind the event no longer exists
	started  bool // a metadata frame was made
	unbegun  bool // the run was dropped before it began
	finished bool

	info      runInfo
	open      map[string]*streamed // messages being streamed, by id
	announced map[string]struct{}  // ids sent by messages/metadata
	completed map[string]struct{}  // ids sent by messages/complete
	tasks     map[string]taskInfo  // running tasks, by id (mode debug)

	buf    []byte
	chunks frame.Chunks
	frames []frame.Frame
	at     struct { // the frame being made
		start   int
		n, prev int64
		mode    Mode
	}
}

// New returns the projection of a run, with the modes and subgraphs that the
// run was made with: those decide which frames take a number (decisions 1).
func New(run thread.Run) *Projection {
	return &Projection{
		threadID: run.ThreadID, runID: run.ID, assistantID: run.AssistantID, graphID: run.GraphID,
		modes:     ParseModes(run.Kwargs.StreamMode),
		subgraphs: run.Kwargs.Subgraphs,
		last:      -1,
		skip:      -1,
		open:      map[string]*streamed{},
		announced: map[string]struct{}{},
		completed: map[string]struct{}{},
		tasks:     map[string]taskInfo{},
	}
}

// Skip makes the projection count frames up to number n without making them.
func (p *Projection) Skip(n int64) { p.skip = n }

// Next is the number that the next frame gets, but for a jump after a crash.
func (p *Projection) Next() int64 { return p.next }

// Finished reports whether the run's last event was projected.
func (p *Projection) Finished() bool { return p.finished }

// NeedsState returns the id of the checkpoint, of the event's namespace, whose
// state the entry refers to; "" if Project does not need it.
func (p *Projection) NeedsState(e thread.Entry) string {
	id := agent.StateReference(e.Event.Payload)
	if id == "" {
		return ""
	}
	var frames Mode // those of these modes show the state
	switch e.Event.Payload.(type) {
	case *agent.ValuesNote:
		if p.completes(e.Event.NS) {
			return id
		}
		frames = Values
	case *agent.CheckpointDetail:
		frames = Checkpoints | Debug
	case agent.TaskStart:
		if p.modes.has(Events) {
			return id
		}
		frames = Tasks | Debug
	}
	if !p.visible(e.Event.NS) || !p.modes.has(frames) || p.next+1 < p.skip {
		return ""
	}
	return id
}

// Project returns the frames of the next entry. The slice is valid until the
// next call; the frames for good, unless Recycle is called. State is the one that
// NeedsState asked for; if it is gone, nil: then its frames are counted, not made.
func (p *Projection) Project(e thread.Entry, state *agent.State) []frame.Frame {
	p.frames = p.frames[:0]
	if e.Seq > 0 {
		p.seq, p.sub = e.Seq, 0
	}
	p.gone = state == nil && agent.StateReference(e.Event.Payload) != ""
	p.event(e.Event, state)
	for i := range p.frames {
		p.frames[i].Pos, p.frames[i].At = e.Pos, e.Event.At
	}
	return p.frames
}

func (p *Projection) event(e agent.Event, state *agent.State) {
	switch v := e.Payload.(type) {
	case agent.RunStart:
		p.runStarted(v)
	case agent.RunFinish:
		p.runFinished(v)
	case *agent.ValuesNote:
		p.values(e.NS, jsonOf(v.State, v.Inline, state), listsOf(v.State, state))
	case *agent.CheckpointDetail:
		p.checkpoint(e, v, jsonOf(v.State, v.Inline, state))
	case agent.TaskStart:
		if p.modes.has(Tasks | Debug | Events) {
			if v.Input = v.InputJSON(); v.Input == nil && state != nil {
				v.Input = state.JSON()
			}
		}
		p.taskStarted(e, v)
	case agent.TaskFinish:
		p.taskFinished(e, v)
	case agent.UpdatesNote:
		p.updates(e.NS, v)
	case agent.InterruptInfo:
		p.interrupts(e.NS, &v)
	case agent.Custom:
		p.custom(e.NS, v)
	case agent.MessageStart:
		p.messageStarted(e, v)
	case agent.BlockStart:
		p.blockStarted(v)
	case agent.Delta:
		p.delta(v)
	case agent.BlockFinish:
		p.blockFinished(v)
	case agent.MessageFinish:
		p.messageFinished(v)
	case agent.MessageError:
		delete(p.open, v.ID)
	case agent.MessageRef:
		p.messageReset(e.NS, v)
	case agent.MessageSnapshot:
		p.messageWhole(e.NS, v)
	case agent.ToolNote:
		p.tool(e, v)
	case nil:
		if e.Kind == agent.BreakpointHit {
			p.interrupts(e.NS, nil)
		}
	}
}

// visible reports whether graph-level events of the namespace are shown.
func (p *Projection) visible(ns string) bool { return ns == "" || p.subgraphs }

// suffix is what stands behind the event name for a graph's namespace.
func (p *Projection) suffix(ns string) string {
	if !p.subgraphs || frame.CheckField(ns) != nil {
		return ""
	}
	return ns
}

// begin takes the next number and starts a frame with room for size bytes of
// data. If it returns false, the frame isn't wanted and end must not be called.
func (p *Projection) begin(mode Mode, name, suffix string, size int) bool {
	n, prev := p.next, p.last
	p.count()
	if n <= p.skip || p.gone {
		return false
	}
	p.room(size + len(name) + len(suffix) + 64)
	p.at.start, p.at.n, p.at.prev, p.at.mode = len(p.buf), n, prev, mode
	p.buf = frame.OpenSuffixed(p.buf, name, suffix)
	return true
}

// count takes a number.
func (p *Projection) count() {
	p.last = p.next
	p.next++
	p.sub++
}

// end closes the frame.
func (p *Projection) end() {
	var f frame.Frame
	p.buf, f = frame.Close(p.buf, p.at.start, p.at.n)
	f.Mode = uint32(p.at.mode)
	f.Prev, f.Seq, f.Sub = p.at.prev, p.seq, p.sub-1
	p.frames = append(p.frames, f)
}

// room makes sure that the chunk has size bytes left; frames made before stay in theirs.
func (p *Projection) room(size int) { p.buf = p.chunks.Room(p.buf, size) }

// Release gives the memory of all frames back. Neither they nor the projection
// may be used any more.
func (p *Projection) Release() {
	p.buf = nil
	p.chunks.Release()
}

// Recycle lets the projection use the memory of all frames so far again. Only
// for a caller that has done with them.
func (p *Projection) Recycle() { p.buf = p.chunks.Recycle(p.buf) }
