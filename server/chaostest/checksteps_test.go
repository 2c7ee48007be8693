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

// checkSteps: what the state says that steps did was done; what was recorded wasn't
// done again, and what is to be done at most once wasn't done twice.
func (s *session) checkSteps(rec *record) {
	byNonce := map[string]int{}
	for i, e := range rec.effects {
		byNonce[e.nonce] = i
	}
	recorded := map[string]string{} // key: nonce
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
			if nonce == "unknown" { // a person said so
				continue
			}
			i, ok := byNonce[nonce]
			if !ok {
				s.w.violated("%s on thread %s tells of an effect that never was", line, s.thread)
				continue
			}
			recorded[rec.effects[i].key] = nonce
		}
	}
	times := map[string]int{}
	for i, e := range rec.effects {
		times[e.key]++
		if e.step == "once" && times[e.key] > 1 {
			s.w.violated("step %s (%s) of thread %s was done %d times, at most once was asked for", e.step, e.key, s.thread, times[e.key])
		}
		nonce, ok := recorded[e.key]
		if !ok || e.nonce == nonce || i < byNonce[nonce] {
			continue
		}
		if !s.w.mayBeBehind(e) {
			s.w.violated("step %s (%s) of thread %s was done again by %s after what %s did was recorded", e.step, e.key, s.thread, e.nonce, nonce)
		}
	}
}
