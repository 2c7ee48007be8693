package chaostest

import (
	"encoding/json"
	"strings"
)

// valuesOf reads the values out of a state.
func valuesOf(state string) (j job) {
	var v struct {
		Values struct {
			Log   []string `json:"log"`
			Notes []string `json:"notes"`
		} `json:"values"`
	}
	_ = json.Unmarshal([]byte(state), &v) // of an empty thread it is no object
	j.Log, j.Notes = v.Values.Log, v.Values.Notes
	return j
}

// checkSteps: the state tells of each node once, and of effects that were; what was
// recorded wasn't done again, and what is to be done at most once wasn't done twice.
func (s *session) checkSteps(rec *record) {
	done := map[string]effect{} // by nonce
	recorded := map[string]effect{}
	times := map[string]int{}
	for _, e := range rec.effects {
		first, is := recorded[e.key]
		switch {
		case e.got && !is:
			recorded[e.key] = e
		case e.got && e.nonce != first.nonce && !s.w.mayBeBehind(e):
			s.w.violated("step %s (%s) of thread %s is recorded as %s, and as %s", e.step, e.key, s.thread, first.nonce, e.nonce)
		case e.got:
		default:
			done[e.nonce] = e
			times[e.key]++
			if e.step == "once" && times[e.key] > 1 {
				s.w.violated("step %s (%s) of thread %s was done %d times, at most once was asked for", e.step, e.key, s.thread, times[e.key])
			}
			if is && !s.w.mayBeBehind(e) {
				s.w.violated("step %s (%s) of thread %s was done again by %s after what %s did was recorded", e.step, e.key, s.thread, e.nonce, first.nonce)
			}
		}
	}
	words := map[string]int{}
	for _, line := range rec.values.Log {
		parts := strings.Split(line, ":")
		kind := strings.Join(parts[:min(2, len(parts))], ":")
		if parts[0] == "ask" && len(parts) > 2 {
			kind += ":" + parts[2]
		}
		if words[kind]++; words[kind] > 1 && parts[0] != "extra" {
			s.w.violated("thread %s went %d times through %s: %v", s.thread, words[kind], kind, rec.values.Log)
		}
		var nonces []string
		switch parts[0] {
		case "begin", "talk", "once":
			nonces = parts[2:]
		case "ask":
			nonces = parts[4:]
		}
		for _, nonce := range nonces {
			if _, ok := done[nonce]; !ok && nonce != "unknown" { // a person says so
				s.w.violated("%s on thread %s tells of an effect that never was", line, s.thread)
			}
		}
	}
}
