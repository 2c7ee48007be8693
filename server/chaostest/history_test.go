package chaostest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// history is all that happened in a seed, in the order in which it was seen here.
type history struct {
	begin time.Time
	mu    sync.Mutex
	notes []note
}

// note is a line of the history.
type note struct {
	MS   int64  `json:"ms"`
	Who  string `json:"who"`
	What string `json:"what"`
	// Call is set for requests with their replies.
	Call *call `json:"call,omitempty"`
}

// call is a request and what came of it.
type call struct {
	Method, Path string
	Body         string `json:",omitempty"`
	Key          string `json:",omitempty"` // of idempotency
	Replica      int
	Began        int64  // ms
	Status       int    // 0: no reply
	Reply        string `json:",omitempty"`
	Err          string `json:",omitempty"`
}

func newHistory() *history { return &history{begin: time.Now()} }

func (h *history) ms() int64 { return time.Since(h.begin).Milliseconds() }

func (h *history) add(who, format string, args ...any) {
	n := note{MS: h.ms(), Who: who, What: fmt.Sprintf(format, args...)}
	h.mu.Lock()
	h.notes = append(h.notes, n)
	h.mu.Unlock()
}

func (h *history) called(who string, c call) {
	n := note{MS: h.ms(), Who: who, Call: &c}
	h.mu.Lock()
	h.notes = append(h.notes, n)
	h.mu.Unlock()
}

// write keeps the history in a file.
func (h *history) write(path string) error {
	f, err := os.Create(path) //nolint:gosec // the test's own
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // a failure shows in Encode
	h.mu.Lock()
	defer h.mu.Unlock()
	enc := json.NewEncoder(f)
	for _, n := range h.notes {
		if err := enc.Encode(n); err != nil {
			return err
		}
	}
	return nil
}

// phases says when the seed came how far.
func (h *history) phases() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for _, n := range h.notes {
		if n.Who == "PHASE" {
			all = append(all, fmt.Sprintf("%s %d", n.What, n.MS))
		}
	}
	return strings.Join(all, ", ")
}
