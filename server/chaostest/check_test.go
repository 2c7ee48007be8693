package chaostest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"syscall"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// quiet tells whether nothing runs, and nothing is asked, any more.
func (w *world) quiet(ctx context.Context) bool {
	for range 2 { // a second look: an answer may have been under way
		for _, s := range w.sessions {
			runs, err := w.store.Inflight(ctx, s.thread)
			if err != nil || len(runs) > 0 {
				return false
			}
			open, err := w.store.PendingInterrupts(ctx, s.thread)
			if err != nil || len(open) > 0 {
				return false
			}
		}
	}
	return true
}

func (w *world) inflight(ctx context.Context) string {
	var all []string
	for _, s := range w.sessions {
		runs, err := w.store.Inflight(ctx, s.thread)
		for _, r := range runs {
			all = append(all, fmt.Sprintf("%s/%s %s attempt %d cancel %q not before %s", s.thread, r.ID, r.Status, r.Attempt, r.Cancel, r.NotBefore))
		}
		open, err2 := w.store.PendingInterrupts(ctx, s.thread)
		all = append(all, fmt.Sprintf("%s: %d questions %v %v", s.thread, len(open), err, err2))
	}
	return strings.Join(all, "; ")
}

// check checks the invariants.
func (w *world) check(ctx context.Context) {
	for _, s := range w.sessions {
		rec, err := s.record(ctx)
		if err != nil {
			w.violated("read back thread %s: %v", s.thread, err)
			continue
		}
		s.rec = rec
		s.settle(rec)
		s.w.hist.add("PHASE", "settled")
		s.checkRuns(rec)
		s.checkChain(rec)
		s.checkReplicas(ctx, rec)
		s.checkSteps(rec)
		s.checkAnswers(rec)
		s.checkReaders(ctx, rec)
	}
	w.hist.add("PHASE", "read")
	w.checkLists(ctx)
	w.hist.add("PHASE", "searched")
	w.checkDeletion(ctx)
	w.hist.add("PHASE", "deleted")
}

// record is what the store has of a thread in the end.
type record struct {
	thread  thread.Thread
	runs    map[string]thread.Run
	chain   []thread.StoredTuple // newest first
	values  job
	state   map[string]any
	effects []effect
	log     []thread.Entry
}

func (s *session) record(ctx context.Context) (*record, error) {
	rec := &record{runs: map[string]thread.Run{}}
	var err error
	if rec.thread, err = s.w.store.GetThread(ctx, s.thread); err != nil {
		return nil, err
	}
	runs, err := s.w.store.ListRuns(ctx, s.thread, thread.RunQuery{Limit: 1000})
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		rec.runs[r.ID] = r
	}
	if rec.chain, err = s.w.store.ListCheckpoints(ctx, s.thread, "", agent.CheckpointQuery{Limit: 10000}); err != nil {
		return nil, err
	}
	for after := int64(0); ; {
		entries, err := s.w.store.ReadLog(ctx, s.thread, after, 1000)
		if err != nil {
			return nil, err
		}
		if len(entries) == 0 {
			break
		}
		rec.log = append(rec.log, entries...)
		after = entries[len(entries)-1].Pos
	}
	all, err := effects(s.w.witness())
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		if e.thread == s.thread {
			rec.effects = append(rec.effects, e)
		}
	}
	return rec, nil
}

// settle waits for readers.
func (s *session) settle(rec *record) {
	seq := rec.shown()
	for _, r := range s.readers {
		ok := eventually(late, func() bool { return r.run == "" && r.reached(seq) || r.over() })
		if !ok {
			for _, server := range s.w.replicas {
				server.signal(syscall.SIGUSR1) // what it does is in its log then
			}
			s.w.violated("%s (run %q) has not come to the end, but to %d of %d", r.who, r.run, r.last, seq)
		}
		r.end()
	}
}

// checkRuns: each run has ended, and each that was accepted is there.
func (s *session) checkRuns(rec *record) {
	for id, r := range rec.runs {
		s.w.runs++
		s.w.takenOver += r.Attempt - 1
		if !r.Status.Ended() {
			s.w.violated("run %s of thread %s is %s", id, s.thread, r.Status)
		}
	}
	byKey := map[string]string{}
	look := func(run, key string, what string) {
		if first := byKey[key]; first != "" && first != run && !s.rollbacks { // with a run that is rolled back its key goes
			s.w.violated("%s %s became two runs: %s and %s", what, key, first, run)
		}
		byKey[key] = run
		if _, ok := rec.runs[run]; !ok && !s.drops {
			s.w.violated("%s %s was accepted as run %s, which is lost", what, key, run)
		}
	}
	for _, r := range s.runs {
		look(r.run, r.key, "request")
	}
	for _, a := range s.answers {
		look(a.run, a.key, "answer")
	}
}

// checkChain: each checkpoint's parent is the one before it.
func (s *session) checkChain(rec *record) {
	for i, c := range rec.chain {
		want := ""
		if i+1 < len(rec.chain) {
			want = rec.chain[i+1].Record.ID
		}
		if c.Record.ParentID != want {
			s.w.violated("checkpoint %s (%s, step %d) of thread %s has parent %q, before it came %q", c.Record.ID, c.Record.Source, c.Record.Step, s.thread, c.Record.ParentID, want)
		}
	}
}

// checkReplicas: all replicas tell the same.
func (s *session) checkReplicas(ctx context.Context, rec *record) {
	var first string
	for i := range s.w.replicas {
		c, reply := s.w.insist(ctx, request{who: s.who("check"), method: http.MethodGet, path: "/threads/" + s.thread + "/state"}, i)
		if c.Status != http.StatusOK {
			s.w.violated("state of thread %s: %d %s", s.thread, c.Status, c.Reply)
			continue
		}
		if first == "" {
			first, rec.state = c.Reply, reply
			rec.values = valuesOf(c.Reply)
		}
		if c.Reply != first {
			s.w.violated("replicas tell different states of thread %s: %s %s", s.thread, first, c.Reply)
		}
	}
	if len(rec.chain) == 0 {
		return
	}
	at, _ := rec.state["checkpoint"].(map[string]any)
	if at["checkpoint_id"] != rec.chain[0].Record.ID {
		s.w.violated("replicas show checkpoint %v of thread %s, the newest is %s", at["checkpoint_id"], s.thread, rec.chain[0].Record.ID)
	}
}
