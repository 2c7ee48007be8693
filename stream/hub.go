// Package stream is how events are read: the hub keeps the recent events of
// watched threads, projections (classic, protocol) turn events into frames, and
// the SSE writer sends frames. It only reads; nothing here changes the truth.
package stream

import (
	"context"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// Source is what the hub reads from: the stored log and the checkpoints behind values events.
type Source interface {
	ReadLog(ctx context.Context, threadID string, after int64, limit int) ([]thread.Entry, error)
	ReadRunLog(ctx context.Context, threadID, runID string, after int64, limit int) ([]thread.Entry, error)
	LogStart(ctx context.Context, threadID string) (int64, error)
	GetRun(ctx context.Context, threadID, runID string) (thread.Run, error)
	Materialize(ctx context.Context, threadID, ns, checkpointID string) (*agent.State, error)
}

// Hub implements thread.Publisher and hands events to readers. A reader is a
// cursor, not a channel: it wakes, takes all that is new, and waits again.
type Hub struct{}

// HubOptions configure a Hub.
type HubOptions struct {
	Source Source
	// RingBytes bounds the events kept per watched thread. Default 4 MiB.
	RingBytes int
}

// NewHub returns a hub. SetSource completes it where source and hub need each other.
func NewHub(o HubOptions) *Hub { panic("unimplemented") }

// SetSource sets the source; call it before the first reader.
func (h *Hub) SetSource(s Source) { panic("unimplemented") }

// Publish implements thread.Publisher.
func (h *Hub) Publish(threadID string, entries []thread.Entry) { panic("unimplemented") }

// RunEnded implements thread.Publisher.
func (h *Hub) RunEnded(threadID, runID string) { panic("unimplemented") }

// Close ends all readers with an abort.
func (h *Hub) Close() { panic("unimplemented") }
