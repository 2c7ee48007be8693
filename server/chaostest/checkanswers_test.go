package chaostest

import (
	"context"
	"slices"
	"strconv"
	"strings"
)

// checkAnswers: each question has one answer at most, the accepted one, and that is what the run got.
func (s *session) checkAnswers(rec *record) {
	ids := make([]string, 0, len(s.asked))
	for id := range s.asked {
		ids = append(ids, id)
	}
	stored, err := s.w.store.Answers(context.Background(), s.thread, ids)
	if err != nil {
		s.w.violated("answers of thread %s: %v", s.thread, err)
		return
	}
	got := map[string]string{} // "ask:TAG:i": answer
	for _, line := range rec.values.Log {
		if parts := strings.Split(line, ":"); parts[0] == "ask" && len(parts) > 3 {
			got[strings.Join(parts[:3], ":")] = parts[3]
		}
	}
	taken := map[string]answered{}
	for _, a := range s.answers {
		if _, ok := rec.runs[a.run]; !ok {
			continue // rolled back, and its answer with it; otherwise checkRuns has said so
		}
		for _, id := range a.ids {
			q := s.asked[id]
			if q.tag == "" { // the outcome of a step
				continue
			}
			if other, ok := taken[id]; ok && other.value != a.value {
				s.w.violated("question %s of thread %s was answered twice: %s by run %s, %s by run %s", id, s.thread, other.value, other.run, a.value, a.run)
			}
			taken[id] = a
			if have, ok := stored[id]; !ok || string(have.Value) != strconv.Quote(a.value) {
				s.w.violated("answer %s to %s of thread %s was accepted, stored is %s", a.value, id, s.thread, have.Value)
			}
			if text, ok := got["ask:"+q.tag+":"+strconv.Itoa(q.index)]; ok && text != a.value {
				s.w.violated("answer %s to %s of thread %s was accepted, the run got %s", a.value, id, s.thread, text)
			}
		}
		if a.note == "" {
			continue
		}
		times := 0
		for _, n := range rec.values.Notes {
			if n == a.note {
				times++
			}
		}
		if r := rec.runs[a.run]; times > 1 || times == 0 && r.Status == "success" && !s.drops {
			s.w.violated("the update %s of run %s (%s) of thread %s was applied %d times", a.note, a.run, r.Status, s.thread, times)
		}
	}
	for _, n := range rec.values.Notes {
		if !slices.Contains(s.unheard, n) && !slices.ContainsFunc(s.answers, func(a answered) bool { return a.note == n }) {
			s.w.violated("the update %s of thread %s was refused, and applied", n, s.thread)
		}
	}
}
