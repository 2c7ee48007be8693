package stream

import (
	"context"
	"fmt"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/stream/classic"
	"github.com/parley-dev/parley/stream/execution"
	"github.com/parley-dev/parley/stream/frame"
	"github.com/parley-dev/parley/thread"
)

// logBatch is how many entries are read from the log at once.
const logBatch = 512

// fold is the projection of one run with the place it has reached.
type fold struct {
	source  Source
	run     *thread.Run
	project projection
	pos     int64 // of the last entry
	begun   bool
	// truncated is set when the log no longer has the run's first event: the
	// frames' numbers are not those that they had.
	truncated bool
	gap       bool // entries were lost before the next frame
	states    stateCache
}

// projection turns the events of one run, from its first, into numbered frames.
type projection interface {
	// NeedsState returns the id of the checkpoint whose state Project needs for the entry; "" for none.
	NeedsState(e thread.Entry) string
	// Project returns the frames of the next entry, valid until the next call.
	Project(e thread.Entry, state *agent.State) []frame.Frame
	// Skip has frames up to number n counted, but not made.
	Skip(n int64)
	// Finished reports whether the run's last event was projected.
	Finished() bool
	Recycle()
	Release()
}

// dialect is what a run's events are shown in.
type dialect int

const (
	classicFrames dialect = iota
	executionChunks
	dialects
)

// of is the projection of a run.
func (d dialect) of(run *thread.Run) projection {
	if d == executionChunks {
		return execution.New(*run)
	}
	return classic.New(*run)
}

func newFold(source Source, run *thread.Run, d dialect) fold {
	return fold{source: source, run: run, project: d.of(run), states: stateCache{source: source, threadID: run.ThreadID}}
}

// apply projects the next entry. On an error nothing has changed.
func (f *fold) apply(ctx context.Context, e thread.Entry) ([]frame.Frame, error) {
	needs := f.project.NeedsState(e)
	state, err := f.states.get(ctx, e.Event.NS, needs)
	if err != nil {
		return nil, err
	}
	if !f.begun {
		f.begun = true
		f.truncated = e.Event.Kind != agent.RunStarted
	}
	frames := f.project.Project(e, state)
	f.pos = e.Pos
	if f.gap && len(frames) > 0 {
		frames[0].Gap, f.gap = true, false
	}
	f.gap = f.gap || needs != "" && state == nil // a fail-over took the checkpoint, or it isn't where it is looked for yet
	return frames, nil
}

// read returns the run's next entries from the log.
func (f *fold) read(ctx context.Context) ([]thread.Entry, error) {
	entries, err := f.source.ReadRunLog(ctx, f.run.ThreadID, f.run.ID, f.pos, logBatch)
	if err != nil {
		return nil, fmt.Errorf("stream: log of run %s: %w", f.run.ID, err)
	}
	return entries, nil
}
