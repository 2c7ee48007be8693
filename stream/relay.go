package stream

// Relay brings what other processes do to the threads that are watched: it
// publishes it to the hub as this process's own. Its methods must not block.
type Relay interface {
	Watch(threadID string)
	Unwatch(threadID string)
}

// SetRelay sets the relay; call it before the first reader. Without one, all
// events come from this process.
func (h *Hub) SetRelay(r Relay) { h.relay = r }

func (h *Hub) join(threadID string) {
	if h.relay != nil {
		h.relay.Watch(threadID)
	}
}

func (h *Hub) leave(threadID string) {
	if h.relay != nil {
		h.relay.Unwatch(threadID)
	}
}

// Missed tells that events of a thread up to pos may have come that the hub was
// not told of. They are in the log, where readers look for them now.
func (h *Hub) Missed(threadID string, pos int64) {
	if f := h.feed(threadID); f != nil {
		f.missed(pos)
	}
}

// missed drops what the ring has up to pos, where it may have holes.
func (f *feed) missed(pos int64) {
	f.mu.Lock()
	drop := 0
	for drop < len(f.ring) && f.ring[drop].entry.Pos <= pos {
		f.bytes -= f.ring[drop].weight
		if f.ring[drop].state {
			f.states--
		}
		f.ring[drop] = slot{}
		drop++
	}
	f.ring = f.ring[drop:]
	f.lost, f.stored = max(f.lost, pos), max(f.stored, pos)
	wake := f.change(true)
	f.mu.Unlock()
	if wake != nil {
		close(wake)
	}
}
