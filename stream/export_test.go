package stream

import (
	"context"

	"github.com/parley-dev/parley/stream/frame"
	"github.com/parley-dev/parley/thread"
)

// EventReader lets tests take a reader's events step by step.
type EventReader struct {
	r    *eventReader
	last *status
}

func (h *Hub) NewEventReader(threadID string, o EventOptions) EventReader {
	return EventReader{h.newEventReader(threadID, o), new(status)}
}

// Step takes once. Done says that there is nothing more for now.
func (e EventReader) Step(ctx context.Context) (frames []frame.Frame, done bool, err error) {
	frames, *e.last, err = e.r.next(ctx)
	return frames, *e.last == waiting || *e.last == missing, err
}

// Missing says that the reader wants to look again in a moment.
func (e EventReader) Missing() bool { return *e.last == missing }

func (e EventReader) Close() { e.r.close() }

// RunReader lets tests take a run's frames step by step.
type RunReader struct{ r *runReader }

func (h *Hub) NewRunReader(run thread.Run) RunReader { return RunReader{h.newRunReader(&run, -1)} }

// Step takes once.
func (e RunReader) Step(ctx context.Context) (frames []frame.Frame, state string, err error) {
	frames, s, err := e.r.next(ctx)
	return frames, map[status]string{more: "more", waiting: "waiting", missing: "missing", ended: "ended"}[s], err
}

// Lost is whether frames before those of the last Step are missing.
func (e RunReader) Lost() bool { return e.r.lost() }

func (e RunReader) Close() { e.r.close() }
