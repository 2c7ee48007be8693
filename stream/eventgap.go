package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream/frame"
	"github.com/parley-dev/parley/stream/protocol"
	"github.com/parley-dev/parley/thread"
)

// GapName is the name of the custom event that says that events were lost.
const GapName = "parley.gap"

// synthetic is an entry that a reader gets in place of lost ones.
type synthetic struct {
	name  string // unique together with the seq
	runID string
	event agent.Event
	state *agent.State
}

// noticeLabel is the label of a gap signal.
var noticeLabel = frame.Label{Channel: uint16(protocol.Custom), Name: GapName}

// noticeEvent says that the events from..to are lost.
func noticeEvent(from, to, at int64) agent.Event {
	value, err := json.Marshal(map[string]any{"name": GapName, "payload": map[string]int64{"from": from, "to": to}})
	if err != nil { // numbers always marshal
		panic(err)
	}
	return agent.Event{Kind: agent.CustomWritten, At: at, Payload: agent.Custom{Value: value}}
}

// cutNotice is the gap signal before the snapshot at the start of the log, if the
// replay has just come to it and the client misses events; it lets the snapshot
// pass, whatever the client's cursor is.
func (r *eventReader) cutNotice() (f frame.Frame, ok bool) {
	cut := r.past.cut
	if r.past.cut = nil; cut == nil {
		return f, false
	}
	from := r.told() + 1
	if from > cut.to {
		return f, false
	}
	r.seq = min(r.seq, cut.free)
	if !r.filters.Passes(&noticeLabel) {
		return f, false
	}
	project := protocol.New(r.track.options)
	project.Skip(-1)
	return project.Synthesize(thread.Entry{Seq: cut.free, Event: noticeEvent(from, cut.to, cut.at)}, "gap", nil)
}

// told is the seq up to which the client has all events, or was told that they are lost.
func (r *eventReader) told() int64 { return max(r.last, r.cursor) }

// prepend puts a frame before those that pass has returned.
func (r *eventReader) prepend(f frame.Frame, frames []frame.Frame) []frame.Frame {
	if r.lent == nil {
		r.lent = frameLists.Get().(*[]frame.Frame)
		*r.lent = append((*r.lent)[:0], frames...)
	}
	*r.lent = slices.Insert(*r.lent, 0, f)
	return *r.lent
}

// gapFrames are what a reader gets in place of the lost events from..to: a custom
// event that says so, for each namespace its newest checkpoint and values, and, if
// the log no longer has it, how the newest run went (decisions 3). Their seqs end
// with last: they are among those that were lost.
func (r *eventReader) gapFrames(ctx context.Context, from, to, last int64) ([]frame.Frame, error) {
	threadID := r.track.log.threadID
	heads, err := r.hub.source.Heads(ctx, threadID)
	if err != nil {
		return nil, fmt.Errorf("stream: state of thread %s: %w", threadID, err)
	}
	run, err := r.lostRun(ctx)
	if err != nil {
		return nil, err
	}
	var at int64
	if len(heads) > 0 {
		at = heads[0].At.UnixMilli()
	}
	all := []synthetic{{name: "gap", event: noticeEvent(from, to, at)}}
	for i := range heads {
		h := &heads[i]
		all = append(all,
			synthetic{name: h.Note.ID, event: agent.Event{Kind: agent.CheckpointAnnounced, At: h.At.UnixMilli(), NS: h.NS, Payload: h.Note}},
			synthetic{name: h.Note.ID, event: agent.Event{Kind: agent.ValuesEmitted, At: h.At.UnixMilli(), NS: h.NS, Payload: &agent.ValuesNote{State: h.State}}})
	}
	if run != nil {
		all = append(all,
			synthetic{name: run.ID, runID: run.ID, event: agent.Event{Kind: agent.RunStarted, At: run.Began().UnixMilli(), Payload: agent.RunStart{GraphID: run.GraphID}}},
			synthetic{name: run.ID, runID: run.ID, event: agent.Event{Kind: agent.RunFinished, At: run.EndedAt.UnixMilli(), Payload: run.End()}})
	}
	project := protocol.New(r.track.options)
	project.Skip(-1)
	frames := make([]frame.Frame, 0, len(all))
	for i, s := range all {
		free := last - int64(len(all)-1-i)
		e := thread.Entry{Seq: max(free, min(from, last), 1), RunID: s.runID, Event: s.event}
		// Fewer numbers are lost than events take their place: some share one, but none an id.
		e.Snapshot = e.Seq > free && (s.event.Kind == agent.CheckpointAnnounced || s.event.Kind == agent.RunStarted)
		f, ok := project.Synthesize(e, s.name, s.state)
		if ok {
			frames = append(frames, f)
		}
	}
	return frames, nil
}

// lostRun is the newest run, if it has ended and the log no longer has it.
func (r *eventReader) lostRun(ctx context.Context) (*thread.Run, error) {
	run, err := r.newestRun(ctx)
	if err != nil || run == nil || !run.Status.Ended() {
		return nil, err
	}
	first, err := r.track.log.runStart(ctx, run.ID)
	if err != nil || first > 0 {
		return nil, err
	}
	return run, nil
}

// newestRun is the thread's run that started last; nil for none.
func (r *eventReader) newestRun(ctx context.Context) (*thread.Run, error) {
	run, err := r.hub.source.NewestRun(ctx, r.track.log.threadID)
	switch {
	case errors.Is(err, thread.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("stream: runs of thread %s: %w", r.track.log.threadID, err)
	}
	return &run, nil
}
