package chaostest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

// jump is less than what the next owner of a run leaves out of the numbers that a
// dead one had reserved (decisions 2).
const jump = 1 << 19

// checkReaders: readers miss nothing that is stored unless they are told so, get
// nothing twice, and all of them, those who come in the end included, are told the
// same under a number.
func (s *session) checkReaders(ctx context.Context, rec *record) {
	s.checkLog(rec)
	readers := map[string][]*reader{}
	for id := range rec.runs {
		readers[id] = nil // also those of which nobody was told
	}
	for _, r := range s.readers {
		readers[r.run] = append(readers[r.run], r)
	}
	i := 0
	for id, list := range readers {
		_, there := rec.runs[id]
		if id != "" && !there {
			continue // rolled back
		}
		i++
		last := s.w.follow(s.who("last%d", i), s.thread, id, i)
		ok := eventually(patience, func() bool { return id == "" && last.reached(rec.shown()) || last.over() })
		last.end()
		if !ok {
			s.w.violated("a replay of thread %s, run %q, comes to %d of %d only", s.thread, id, last.last, rec.shown())
			continue
		}
		s.checkReader(last, rec, nil)
		for _, r := range list {
			s.checkReader(r, rec, last)
			if !s.rollbacks {
				s.w.same(r, last)
			}
		}
	}
}

// checkLog: the numbers of the thread's log have no holes but those that a lost
// lease, or a run that was rolled back, leaves.
func (s *session) checkLog(rec *record) {
	last := int64(0)
	for _, e := range rec.log {
		if e.Seq == 0 {
			continue
		}
		if hole := e.Seq - last - 1; hole < 0 || hole > 0 && hole < jump && !s.rollbacks {
			s.w.violated("the log of thread %s goes on with %d (%s) behind %d", s.thread, e.Seq, e.Event.Kind, last)
		}
		last = e.Seq
	}
}

// shown is the last seq that every reader gets, however late: the beginnings and
// ends of runs that are over are left out for those who come later.
func (rec *record) shown() (seq int64) {
	for _, e := range rec.log {
		if !frames(e) {
			seq = max(seq, e.Seq)
		}
	}
	return seq
}

func frames(e thread.Entry) bool {
	return e.Event.Kind == agent.RunStarted || e.Event.Kind == agent.RunFinished
}

// checkReader checks the numbers that a reader got against what there is: the log,
// or for a run's reader a replay.
func (s *session) checkReader(r *reader, rec *record, replay *reader) {
	var want []int64 // in order
	kinds, facts := map[int64]string{}, map[int64]string{}
	switch {
	case r.run == "":
		shown := map[string]bool{}
		for _, e := range rec.log {
			if what := once(e); what != "" {
				again := shown[what]
				shown[what] = true
				if again {
					continue
				}
			}
			if e.Seq > 0 && !frames(e) {
				want = append(want, e.Seq)
				switch p := e.Event.Payload.(type) {
				case agent.InterruptInfo:
					facts[e.Seq] = p.ID
				case agent.Answered:
					facts[e.Seq] = strings.Join(p.InterruptIDs, " ")
				}
				kinds[e.Seq] = string(e.Event.Kind) + " of run " + e.RunID
			}
		}
		if r.clean > 0 {
			s.w.violated("%s: %d streams of events ended as if they were complete", r.who, r.clean)
		}
	case replay != nil:
		for _, f := range replay.frames {
			// A run whose beginning a master took with it begins anew for those who come later.
			if f.name != "metadata" || len(r.frames) == 0 || r.frames[0].name != "metadata" {
				want = append(want, f.n)
			}
		}
	default:
		before := int64(-1)
		for i, f := range r.frames {
			if hole := f.n - before - 1; hole > 0 && hole < jump && !f.gap {
				s.w.violated("%s, a replay, has %s behind %d: %s", r.who, f, before, around(r.frames, i))
			}
			before = f.n
		}
	}
	told := map[string]bool{}
	last, next := int64(-1), 0
	for i, f := range r.frames {
		if f.n <= last && !f.synthetic {
			s.w.violated("%s: %s came although %d had come: %s", r.who, f, last, around(r.frames, i))
		}
		for next < len(want) && want[next] < f.n {
			if want[next] > last && !f.gap && !f.synthetic && !told[facts[want[next]]] {
				s.w.violated("%s: %d (%s) is missing before %s: %s", r.who, want[next], kinds[want[next]], f, around(r.frames, i))
			}
			next++
		}
		switch f.name { // also what the store has lost, and says once more
		case "input.requested":
			told[questionOf(f.data)] = true
		case "input.answered":
			told[answeredIn(f.data)] = true
		}
		delete(told, "")
		last = max(last, f.n)
	}
	if i, _ := slices.BinarySearch(want, last+1); i < len(want) && !r.gone && (r.clean == 0 || !s.w.deposes()) {
		s.w.violated("%s: all from %d (%s) on is missing", r.who, want[i], kinds[want[i]])
	}
}

// once names what readers are told once, although a recovered run says it once more.
func once(e thread.Entry) string {
	switch p := e.Event.Payload.(type) {
	case agent.Answered:
		return e.RunID
	case agent.InterruptInfo:
		if e.Event.Kind == agent.InterruptRaised {
			return e.RunID + p.ID
		}
	}
	return ""
}

// questionOf is the id in an input.requested frame.
func questionOf(data string) string {
	_, rest, _ := strings.Cut(data, `"interrupt_id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// answeredIn are the ids in an input.answered frame.
func answeredIn(data string) string {
	_, rest, _ := strings.Cut(data, `"interrupt_ids":["`)
	ids, _, _ := strings.Cut(rest, `"]`)
	return strings.ReplaceAll(ids, `","`, " ")
}

// difference shows two texts where they begin to differ.
func difference(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	from := max(0, i-60)
	return fmt.Sprintf("…%.160s… and …%.160s…", a[from:], b[from:])
}

// around shows frames near one.
func around(list []frame, i int) string {
	var b strings.Builder
	for _, f := range list[max(0, i-3):min(len(list), i+3)] {
		b.WriteString("\n    " + f.String())
	}
	return b.String()
}

// passing tells whether the frame is one that may be seen, and lost with its replica.
func (f frame) passing() bool {
	switch f.name {
	case "messages", "messages|partial", "custom", "tools":
		return true
	case "tasks":
		return !strings.Contains(f.data, `"result":`)
	case "lifecycle":
		return strings.Contains(f.data, `"event":"started"`)
	}
	return false
}

// deposes tells whether a master goes that may have told readers of what its
// replica doesn't know: streams show what is stored, not what is confirmed. What
// clients are answered is (decisions 18).
func (w *world) deposes() bool { return w.plan.has(faultPromote, faultDepose) }

// same compares what a reader got with a replay.
func (w *world) same(r, replay *reader) {
	have := map[int64]frame{}
	for _, f := range replay.frames {
		if !f.synthetic {
			have[f.n] = f
		}
	}
	for _, f := range r.frames {
		g, ok := have[f.n]
		switch {
		case f.synthetic || f.name == "lifecycle": // of runs that are over a replay doesn't tell
		case f.name == "tasks" && strings.Contains(f.data, `"input":null`): // the checkpoint that has it was lost with its master
		case ok && (g.data != f.data || g.name != f.name || g.id != f.id):
			w.violated("%s was told %s, %s is told %s; %s", r.who, f, replay.who, g, difference(f.data, g.data))
		case !ok && !f.passing() && !w.deposes():
			w.violated("%s was told %s, which a replay doesn't have", r.who, f)
		}
	}
}
