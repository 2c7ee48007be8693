// Package protocol turns the events of a thread into the frames of the thread
// protocol ("v2", spec/streaming-protocol.md 3), and holds what its requests and
// replies look like. It is a deterministic fold that can begin with the first
// event of any run; an event gives at most one frame.
package protocol

import (
	"strconv"
	"unicode/utf8"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream/frame"
	"github.com/parley-dev/parley/thread"
)

// Options configure a projection.
type Options struct {
	// NoFailureText leaves the error out of failed lifecycle events. Default: they carry the plain text.
	NoFailureText bool
}

// Projection is the fold. It is not safe for concurrent use.
type Projection struct {
	o     Options
	want  Channel
	skip  int64 // entries up to this Pos change the state and give no frame
	count bool  // frames have no content

	run       runState
	chunks    frame.Chunks
	buf       []byte
	start     int // of the frame being made
	made      frame.Frame
	lastLabel *frame.Label
	ready     bool
	at        struct { // the present entry
		pos, seq, millis int64
		id               []byte
		snapshot         bool
	}
}

// runState is what the projection remembers of the run that it is in.
type runState struct {
	id      string
	started bool // running was told
	// taskMetadata is the run's metadata, as the start of a task shows it.
	taskMetadata []byte
	open         map[string]*openMessage // messages under way, by id
	asked        map[string]bool         // questions that were shown
	answered     bool                    // it was shown what the run answers
}

// New returns a projection that makes the frames of every channel.
func New(o Options) *Projection { return &Projection{o: o, want: All} }

// Want limits the frames that are made to those of some channels.
func (p *Projection) Want(c Channel) { p.want = c }

// Skip makes the projection fold entries up to pos without making frames of them.
func (p *Projection) Skip(pos int64) { p.skip = pos }

// Reset begins anew with another thread.
func (p *Projection) Reset() { p.run, p.skip = runState{}, 0 }

// Count makes frames without their content: they can be filtered and counted.
func (p *Projection) Count() { p.count = true }

func (p *Projection) wants(c Channel) bool { return p.want.has(c) && p.at.pos > p.skip }

// NeedsState returns the id of the checkpoint, of the event's namespace, whose
// state Project needs to make the entry's frame; "" for none.
func (p *Projection) NeedsState(e thread.Entry) string {
	if e.Pos <= p.skip || p.count {
		return ""
	}
	switch e.Event.Kind {
	case agent.ValuesEmitted:
		if !p.want.has(Values) {
			return ""
		}
	case agent.TaskStarted:
		if !p.want.has(Tasks) {
			return ""
		}
	default:
		return ""
	}
	return agent.StateReference(e.Event.Payload)
}

// Project returns the frame of the next entry; ok is false when it gives none.
// State is the one that NeedsState asked for; nil if it is gone, which leaves the
// frame out.
func (p *Projection) Project(e thread.Entry, state *agent.State) (f frame.Frame, ok bool) {
	name := ""
	if e.Snapshot {
		name = snapshotName(e.Event)
	}
	return p.project(e, state, name)
}

// snapshotName makes the id of a snapshot's entry another one than that of the
// event whose number it has.
func snapshotName(e agent.Event) string {
	switch v := e.Payload.(type) {
	case agent.CheckpointNote:
		return v.ID
	case *agent.ValuesNote:
		return v.CheckpointID
	}
	return "snapshot"
}

// Synthesize makes the frame of an entry that the log doesn't have, for a reader
// whose place is gone (decisions 3). Name makes its id unique together with Seq.
func (p *Projection) Synthesize(e thread.Entry, name string, state *agent.State) (f frame.Frame, ok bool) {
	return p.project(e, state, name)
}

func (p *Projection) project(e thread.Entry, state *agent.State, name string) (f frame.Frame, ok bool) {
	if e.RunID != p.run.id {
		p.run = runState{id: e.RunID}
	}
	p.at.pos, p.at.seq, p.at.millis, p.at.snapshot = e.Pos, e.Seq, e.Event.At, e.Snapshot
	p.ready = false
	if e.Seq == 0 {
		return frame.Frame{}, false // a kind that the protocol doesn't show
	}
	if name != "" {
		p.synthetic(name)
	} else {
		p.at.id = strconv.AppendInt(p.at.id[:0], e.Event.At, 10)
		p.at.id = append(p.at.id, '-')
		p.at.id = strconv.AppendInt(p.at.id, e.Seq, 10)
	}
	p.event(e.Event, state)
	return p.made, p.ready
}

func (p *Projection) event(e agent.Event, state *agent.State) {
	switch v := e.Payload.(type) {
	case agent.RunStart:
		p.runStarted(v)
	case agent.RunFinish:
		p.runFinished(v)
	case agent.Answered:
		p.answered(v)
	case agent.NamespaceNote:
		p.namespace(e, v)
	case agent.CheckpointNote:
		p.checkpoint(e.NS, v)
	case *agent.ValuesNote:
		p.values(e.NS, v, state)
	case agent.UpdatesNote:
		p.updates(e.NS, v)
	case agent.TaskStart:
		p.taskStarted(e.NS, v, state)
	case agent.TaskFinish:
		p.taskFinished(e.NS, v)
	case agent.InterruptInfo:
		p.requested(e.NS, v)
	case agent.Custom:
		p.custom(e.NS, v)
	case agent.MessageStart:
		p.messageStarted(e.NS, v)
	case agent.BlockStart:
		p.blockStarted(e.NS, v)
	case agent.Delta:
		p.delta(e.NS, v)
	case agent.BlockFinish:
		p.blockFinished(e.NS, v)
	case agent.MessageFinish:
		p.messageFinished(e.NS, v)
	case agent.MessageError:
		p.messageFailed(e.NS, v)
	case agent.ToolNote:
		p.tool(e, v)
	}
}

// answered tells, right behind running, which questions the run answers
// (spec/streaming-protocol.md 3.8).
func (p *Projection) answered(a agent.Answered) {
	if p.run.answered {
		return // a recovered run says it once more
	}
	p.run.answered = true
	p.synthetic(p.run.id)
	if !p.begin(Input, "input.answered", "", 40*len(a.InterruptIDs)+32) {
		return
	}
	p.buf = append(p.buf, `{"interrupt_ids":`...)
	p.buf = appendStrings(p.buf, a.InterruptIDs)
	p.buf = append(p.buf, '}')
	p.end()
}

// requested shows a question, once in a run (spec/streaming-protocol.md 3.8).
func (p *Projection) requested(ns string, info agent.InterruptInfo) {
	if p.run.asked[info.ID] {
		return
	}
	if p.run.asked == nil {
		p.run.asked = map[string]bool{}
	}
	p.run.asked[info.ID] = true
	if !p.begin(Input, "input.requested", ns, len(info.Value)+80) {
		return
	}
	p.buf = append(p.buf, `{"interrupt_id":`...)
	p.buf = frame.AppendString(p.buf, info.ID)
	p.raw("payload", info.Value, "null")
	p.buf = append(p.buf, '}')
	p.end()
}

func (p *Projection) checkpoint(ns string, note agent.CheckpointNote) {
	if !p.begin(Checkpoints, "checkpoints", ns, 160) {
		return
	}
	p.buf = append(p.buf, `{"id":`...)
	p.buf = frame.AppendString(p.buf, note.ID)
	if note.ParentID != "" {
		p.string("parent_id", note.ParentID)
	}
	p.buf = append(p.buf, `,"step":`...)
	p.buf = strconv.AppendInt(p.buf, int64(note.Step), 10)
	p.string("source", note.Source)
	p.buf = append(p.buf, '}')
	p.end()
}

// maxErrorText bounds the error text of a failed run, in bytes.
const maxErrorText = 4 << 10

// cut shortens text to at most size bytes, at the boundary of a character.
func cut(text string, size int) string {
	if len(text) <= size {
		return text
	}
	for size > 0 && !utf8.RuneStart(text[size]) {
		size--
	}
	return text[:size] + "…"
}
