package exactjson

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// Repeated finds a key that stands twice in one object, anywhere in valid JSON: readers differ in which of the two
// counts, so that one may be shown and another carried out. It returns where the second stands, as a JSON pointer
// (RFC 6901); ok is false when there is none, or raw isn't JSON.
func Repeated(raw []byte) (pointer string, ok bool) {
	w := walker{}
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			w.push(raw[i] == '{')
		case '}', ']':
			if w.depth == 0 {
				return "", false
			}
			w.depth--
		case ',':
			if l := w.top(); l != nil {
				l.index++
				l.wantsKey = l.object
			}
		case '"':
			end := stringEnd(raw, i)
			if end < 0 {
				return "", false
			}
			if l := w.top(); l != nil && l.wantsKey {
				l.wantsKey, l.key = false, keyOf(raw[i:end+1])
				if !l.add(l.key) {
					return w.pointer(), true
				}
			}
			i = end
		}
	}
	return "", false
}

// walker knows the objects and lists around a place in JSON.
type walker struct {
	levels []level
	depth  int
}

// level is an object or a list; its memory is used again for the next one there.
type level struct {
	object, wantsKey bool
	index            int
	key              []byte
	keys             [][]byte            // of an object, while they are few
	many             map[string]struct{} // all of them, once they are many
}

// few is how many keys are compared one by one.
const few = 16

func (w *walker) push(object bool) {
	if w.depth == len(w.levels) {
		w.levels = append(w.levels, level{})
	}
	l := &w.levels[w.depth]
	*l = level{object: object, wantsKey: object, keys: l.keys[:0]}
	w.depth++
}

func (w *walker) top() *level {
	if w.depth == 0 {
		return nil
	}
	return &w.levels[w.depth-1]
}

// add notes a key; false if it was there.
func (l *level) add(key []byte) bool {
	if l.many != nil {
		_, there := l.many[string(key)]
		l.many[string(key)] = struct{}{}
		return !there
	}
	for _, k := range l.keys {
		if bytes.Equal(k, key) {
			return false
		}
	}
	if l.keys = append(l.keys, key); len(l.keys) > few {
		l.many = make(map[string]struct{}, 2*few)
		for _, k := range l.keys {
			l.many[string(k)] = struct{}{}
		}
	}
	return true
}

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

// pointer is where the walker stands.
func (w *walker) pointer() string {
	var b strings.Builder
	for _, l := range w.levels[:w.depth] {
		b.WriteByte('/')
		if l.object {
			b.WriteString(escapePointer.Replace(string(l.key)))
		} else {
			b.WriteString(strconv.Itoa(l.index))
		}
	}
	return b.String()
}

// stringEnd is where the string that begins at i ends; -1 for nowhere.
func stringEnd(raw []byte, i int) int {
	for from := i + 1; ; {
		n := bytes.IndexByte(raw[from:], '"')
		if n < 0 {
			return -1
		}
		end, escapes := from+n, 0
		for end-1-escapes > i && raw[end-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return end
		}
		from = end + 1
	}
}

// keyOf is the text of a key, as encoding/json reads it.
func keyOf(quoted []byte) []byte {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 && validKey(inner) {
		return inner
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return inner
	}
	return []byte(s)
}

// validKey reports whether a key's bytes are its text: all but those of broken UTF-8.
func validKey(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return bytes.Equal(bytes.ToValidUTF8(b, nil), b)
		}
	}
	return true
}
