package thread

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Contains reports whether every key of want is in m: objects recurse, arrays
// compare element by element on the indexes that want has, a null in want never
// matches, other values must be equal (spec/rest-api.md 2.2).
func (m Metadata) Contains(want Metadata) bool {
	for k, w := range want {
		have, ok := m[k]
		if !ok || !contains(decode(have), decode(w)) {
			return false
		}
	}
	return true
}

// Matches reports whether metadata passes the auth filter: a plain value must be
// equal, {"$eq": v} likewise, {"$contains": v or [v, …]} wants an array that
// holds all of them; of several operators each must hold
// (spec/rest-api.md 1.10). A missing key fails, and so does an unknown
// operator: a filter that isn't understood lets nothing through.
// Beyond that: {"$ne": v} and {"$absent": true} accept a missing key, {"$unscoped": true}
// wants a namespace of the default project, and the key $or holds filters one of which must match.
func (f Filter) Matches(m Metadata) bool {
	for k, raw := range f {
		if k == "$or" {
			if !matchesOne(raw, m) {
				return false
			}
			continue
		}
		have, ok := m[k]
		if !ok && !passesAbsent(decode(raw)) || ok && !passes(decode(have), decode(raw)) {
			return false
		}
	}
	return true
}

// matchesOne reports whether one of a list of filters matches.
func matchesOne(raw json.RawMessage, m Metadata) bool {
	var list []Filter
	if json.Unmarshal(raw, &list) != nil {
		return false
	}
	for _, f := range list {
		if len(f) > 0 && f.Matches(m) {
			return true
		}
	}
	return false
}

// passesAbsent reports whether a condition holds of a key that isn't there.
func passesAbsent(want any) bool {
	ops, ok := want.(map[string]any)
	if !ok || len(ops) == 0 {
		return false
	}
	for op, v := range ops {
		if op != "$ne" && (op != "$absent" || v != true) {
			return false
		}
	}
	return true
}

func passes(have, want any) bool {
	ops, ok := want.(map[string]any)
	if !ok || !hasOperator(ops) {
		return equal(have, want)
	}
	for op, v := range ops {
		switch op {
		case "$eq":
			ok = equal(have, v)
		case "$ne":
			ok = !equal(have, v)
		case "$contains":
			ok = holdsAll(have, v)
		case "$unscoped":
			ok = v == true && isUnscoped(have)
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return true
}

func hasOperator(ops map[string]any) bool {
	for op := range ops {
		if strings.HasPrefix(op, "$") {
			return true
		}
	}
	return false
}

// holdsAll reports whether have is a list with v, or with all of a list v.
func holdsAll(have, v any) bool {
	list, ok := have.([]any)
	if !ok {
		return false
	}
	all, ok := v.([]any)
	if !ok {
		all = []any{v}
	}
	for _, one := range all {
		if !holds(list, one) {
			return false
		}
	}
	return true
}

func holds(list []any, one any) bool {
	for _, e := range list {
		if equal(e, one) {
			return true
		}
	}
	return false
}

func contains(have, want any) bool {
	switch w := want.(type) {
	case nil:
		return false
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			return false
		}
		for k, v := range w {
			e, ok := h[k]
			if !ok || !contains(e, v) {
				return false
			}
		}
		return true
	case []any:
		h, ok := have.([]any)
		if !ok || len(h) < len(w) {
			return false
		}
		for i, v := range w {
			if !contains(h[i], v) {
				return false
			}
		}
		return true
	}
	return equal(have, want)
}

func equal(a, b any) bool { return bytes.Equal(encode(a), encode(b)) }

// decode reads JSON with its numbers as they are written; null for what is no JSON.
func decode(raw json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil
	}
	return v
}

// encode writes v with sorted keys and nothing escaped that need not be.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // v came out of decode
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// canonical is the form in which two JSON texts are compared: sorted keys, no
// white space, numbers as written.
func canonical(raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return []byte("null")
	}
	return encode(decode(raw))
}

// isNull reports whether raw is absent or null.
func isNull(raw json.RawMessage) bool {
	t := bytes.TrimSpace(raw)
	return len(t) == 0 || bytes.Equal(t, []byte("null"))
}
