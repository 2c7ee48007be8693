package chaostest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/parley-dev/parley/agent"
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

// keep writes down all that helps to understand a failure.
func (w *world) keep(dir string) error {
	if err := os.CopyFS(dir, os.DirFS(w.dir)); err != nil {
		return err
	}
	if err := w.hist.write(filepath.Join(dir, "history.jsonl")); err != nil {
		return err
	}
	for i, n := range w.topo.nodes {
		b, err := os.ReadFile(n.Log())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("redis%d.log", i)), b, 0o600); err != nil {
			return err
		}
	}
	for _, s := range w.sessions {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("thread%d.txt", s.index)), []byte(s.dump()), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// dump is what was stored of a thread, and what its readers got.
func (s *session) dump() string {
	var b strings.Builder
	fmt.Fprintln(&b, "thread", s.thread)
	if rec := s.rec; rec != nil {
		for _, r := range rec.runs {
			fmt.Fprintf(&b, "run %s %s attempt %d suspended %v resumes %v at %s\n", r.ID, r.Status, r.Attempt, r.Suspended, r.Resumes, r.CreatedAt)
		}
		for _, c := range rec.chain {
			fmt.Fprintf(&b, "checkpoint %s parent %s step %d %s of run %s\n", c.Record.ID, c.Record.ParentID, c.Record.Step, c.Record.Source, c.Record.RunID)
		}
		for _, e := range rec.log {
			payload, _ := agent.EncodePayload(e.Event) // nothing is lost with it
			fmt.Fprintf(&b, "log %d seq %d %s run %s at %d %.150s\n", e.Pos, e.Seq, e.Event.Kind, e.RunID, e.Event.At, payload)
		}
		for _, l := range rec.values.Log {
			fmt.Fprintln(&b, "state", l)
		}
		for _, e := range rec.effects {
			fmt.Fprintf(&b, "effect %+v\n", e)
		}
	}
	for _, r := range s.readers {
		fmt.Fprintf(&b, "reader %s of %q, %d streams, gone %v\n", r.who, r.run, r.streams, r.gone)
		for _, f := range r.frames {
			fmt.Fprintf(&b, "  stream %d: %s\n", f.stream, f)
		}
	}
	return b.String()
}
