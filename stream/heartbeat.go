package stream

import (
	"sync"
	"time"
)

// wheelSlots is how many groups the streams with one heartbeat interval form.
// A group's heartbeats are sent together: a thousand idle streams wake the
// process a few times a second, not two hundred times.
const wheelSlots = 20

// wheel times the heartbeats of all streams with the same interval. It runs
// while there are any.
type wheel struct {
	interval time.Duration

	mu      sync.Mutex
	slots   [wheelSlots]chan struct{}
	current int // slot that fired last
	users   int
	stop    chan struct{}
	stopped chan struct{}
}

// join adds a stream and returns its slot: the one whose next turn is a whole interval away.
func (w *wheel) join() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.users++
	if w.users == 1 {
		w.stop, w.stopped = make(chan struct{}), make(chan struct{})
		go w.run(w.stop, w.stopped)
	}
	return w.current
}

// leave removes a stream; the last one waits until the wheel stands still.
func (w *wheel) leave() {
	w.mu.Lock()
	w.users--
	var stopped chan struct{}
	if w.users == 0 {
		close(w.stop)
		stopped = w.stopped
	}
	w.mu.Unlock()
	if stopped != nil {
		<-stopped
	}
}

// beat returns a channel that is closed at the slot's next turn.
func (w *wheel) beat(slot int) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.slots[slot] == nil {
		w.slots[slot] = make(chan struct{})
	}
	return w.slots[slot]
}

func (w *wheel) run(stop, stopped chan struct{}) {
	defer close(stopped)
	tick := time.NewTicker(max(w.interval/wheelSlots, time.Microsecond))
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			w.mu.Lock()
			w.current = (w.current + 1) % wheelSlots
			fired := w.slots[w.current]
			w.slots[w.current] = nil
			w.mu.Unlock()
			if fired != nil {
				close(fired)
			}
		}
	}
}

// wheelOf returns the wheel of an interval.
func (h *Hub) wheelOf(interval time.Duration) *wheel {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.wheels[interval]
	if w == nil {
		w = &wheel{interval: interval}
		h.wheels[interval] = w
	}
	return w
}
