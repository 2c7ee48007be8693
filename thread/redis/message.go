package redis

import (
	"strconv"
	"strings"

	rds "github.com/redis/go-redis/v9"

	"github.com/parley-dev/parley/thread"
)

// take handles what came over the subscription. Messages are written by scripts/lib/log.lua.
func (r *relay) take(m any) {
	switch m := m.(type) {
	case *rds.Subscription:
		if id, ok := strings.CutPrefix(m.Channel, r.s.keys.threadChannel("")); ok && m.Kind == "subscribe" {
			r.lookLater([]string{id})
		} else if m.Kind == "subscribe" && m.Channel == r.s.keys.probe(r.s.origin) {
			r.mu.Lock()
			r.probing = true
			r.mu.Unlock()
		} else if m.Kind == "subscribe" {
			r.sub.WorkWaits() // it may have been said while nobody listened
		}
	case *rds.Message:
		if m.Channel == r.s.keys.control() {
			r.control(m.Payload)
			return
		}
		if id, ok := strings.CutPrefix(m.Channel, r.s.keys.threadChannel("")); ok {
			r.event(id, m.Payload)
		}
	}
}

// control is a message that is for all processes.
func (r *relay) control(payload string) {
	f := strings.Split(payload, "\n")
	switch {
	case f[0] == "W":
		r.sub.WorkWaits()
	case f[0] == "C" && len(f) == 4 && f[1] != r.s.origin:
		r.sub.CancelRequested(f[3], f[2])
	case f[0] == "V" && len(f) == 3 && f[1] != r.s.origin:
		r.sub.ReviewsChanged(f[2])
	case f[0] == "H" && len(f) == 4 && f[1] != r.s.origin:
		if id, ok := strings.CutPrefix(f[2], r.s.keys.threadChannel("")); ok {
			r.sub.RunChanged(id, f[3])
		}
	}
}

// event is a message about a thread. Of what this store has done itself its user
// has told already.
func (r *relay) event(id, payload string) {
	f := strings.SplitN(payload, "\n", 7)
	own := len(f) > 1 && f[1] == r.s.origin
	switch {
	case f[0] == "D": // another thread may take the id
		r.mu.Lock()
		if w := r.watched[id]; w != nil {
			w.last = 0
		}
		r.mu.Unlock()
	case f[0] == "R" && len(f) == 3 && !own:
		r.sub.RunEnded(id, f[2])
	case f[0] == "E" && len(f) == 7:
		before, err := strconv.ParseInt(f[2], 10, 64)
		first, err1 := strconv.ParseInt(f[3], 10, 64)
		last, err2 := strconv.ParseInt(f[4], 10, 64)
		if err := errorsFirst(err, err1, err2); err != nil {
			r.s.log.Warn("message about a thread", "thread", id, "err", err)
			return
		}
		r.batch(id, own, before, first, last, f[5], f[6])
	}
}

// batch is a batch of the log; data is left out of a large one.
func (r *relay) batch(id string, own bool, before, first, last int64, run, data string) {
	r.mu.Lock()
	w := r.watched[id]
	if w == nil {
		r.mu.Unlock()
		return
	}
	known, hole, old := w.known, before > w.last, last <= w.last
	w.last = max(w.last, last)
	r.mu.Unlock()
	if !known || old || own && !hole { // what isn't known is looked at in a moment
		return
	}
	entries, err := thread.DecodeEntries(nil, []byte(data), run, 0)
	if data == "" || err != nil {
		r.sub.Missed(id, last)
		return
	}
	if hole {
		r.sub.Missed(id, first-1)
	}
	if !own {
		r.sub.Publish(id, entries)
	}
}
