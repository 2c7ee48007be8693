package stream

import (
	"context"

	"github.com/parley-dev/parley/stream/frame"
)

// EventReader lets tests take a reader's events step by step.
type EventReader struct{ r *eventReader }

func (h *Hub) NewEventReader(threadID string, o EventOptions) EventReader {
	return EventReader{h.newEventReader(threadID, o)}
}

// Step takes once. Done says that there is nothing more for now.
func (e EventReader) Step(ctx context.Context) (frames []frame.Frame, done bool, err error) {
	frames, state, err := e.r.next(ctx)
	return frames, state == waiting || state == missing, err
}

func (e EventReader) Close() { e.r.close() }
