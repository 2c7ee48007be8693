package thread

import (
	"context"
	"encoding/binary"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/parley-dev/parley/agent"
)

// SystemClock is the wall clock.
type SystemClock struct{}

var _ agent.Clock = SystemClock{}

// Now implements agent.Clock.
func (SystemClock) Now() time.Time { return time.Now() }

// Sleep implements agent.Clock.
func (SystemClock) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// newID returns a UUIDv7, the form of thread, run and assistant ids.
func newID() string {
	id, err := uuid.NewV7()
	if err != nil { // only when the system's random source fails
		panic(err)
	}
	return id.String()
}

// threadIDs mints the ids of one thread: each checkpoint id is above the head
// and above every id minted before, whatever the clock does (decisions 15).
type threadIDs struct {
	clock agent.Clock

	mu   sync.Mutex
	last uuid.UUID
}

// newThreadIDs returns ids above head; a head that is no UUID counts as none.
func newThreadIDs(clock agent.Clock, head string) *threadIDs {
	last, err := uuid.Parse(head)
	if err != nil {
		last = uuid.Nil
	}
	return &threadIDs{clock: clock, last: last}
}

// Checkpoint implements agent.IDs.
func (t *threadIDs) Checkpoint() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := uuid.New()
	binary.BigEndian.PutUint64(id[:8], uint64(t.clock.Now().UnixMilli())<<16|uint64(binary.BigEndian.Uint16(id[6:8])))
	id[6] = id[6]&0x0f | 0x70
	if id.String() <= t.last.String() {
		id = successor(t.last)
	}
	t.last = id
	return id.String()
}

// UUID implements agent.IDs.
func (t *threadIDs) UUID() string { return uuid.NewString() }

// successor is the next id in string order that has the same version and variant.
func successor(id uuid.UUID) uuid.UUID {
	low := binary.BigEndian.Uint64(id[8:])
	const variant, random = uint64(0xc000000000000000), uint64(0x3fffffffffffffff)
	next := (low + 1) & random
	binary.BigEndian.PutUint64(id[8:], low&variant|next)
	if next != 0 {
		return id
	}
	high := binary.BigEndian.Uint64(id[:8])
	stamp, version, seq := high>>16, high>>12&0xf, high&0xfff
	if seq = (seq + 1) & 0xfff; seq == 0 {
		stamp++
	}
	binary.BigEndian.PutUint64(id[:8], stamp<<16|version<<12|seq)
	return id
}
