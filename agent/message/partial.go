package message

import (
	"encoding/json"
	"strings"
)

// partialObject returns the JSON object that the beginning of one promises: an
// open string value is closed, what can't be told yet (half a key, half a
// word) is left out. It returns {} when nothing can be made of it.
func partialObject(text string) json.RawMessage {
	p := partialReader{in: []byte(text)}
	p.space()
	if p.pos < len(p.in) && p.in[p.pos] == '{' {
		p.members('}')
		if whole, err := compact(p.out); err == nil {
			return whole
		}
	}
	return json.RawMessage(`{}`)
}

// partialReader copies the beginning of a JSON value from in to out so that out is complete.
type partialReader struct {
	in  []byte
	pos int
	out []byte
}

func (p *partialReader) space() { p.pos = skipSpace(p.in, p.pos) }

// members copies an object or a list up to its closing bracket; it reports
// whether that was reached.
func (p *partialReader) members(closing byte) (whole bool) {
	p.out = append(p.out, p.in[p.pos])
	p.pos++
	for first := true; ; first = false {
		p.space()
		if p.pos < len(p.in) && p.in[p.pos] == closing {
			p.pos++
			whole = true
			break
		}
		mark := len(p.out)
		if !first {
			if !p.sign(',') {
				break
			}
		}
		if closing == '}' && !p.key() {
			p.out = p.out[:mark]
			break
		}
		usable, done := p.value()
		if !usable {
			p.out = p.out[:mark]
		}
		if !done {
			break
		}
	}
	p.out = append(p.out, closing)
	return whole
}

// sign copies one expected character and the space around it.
func (p *partialReader) sign(c byte) bool {
	p.space()
	if p.pos >= len(p.in) || p.in[p.pos] != c {
		return false
	}
	p.out = append(p.out, c)
	p.pos++
	p.space()
	return true
}

// key copies a whole key and its colon.
func (p *partialReader) key() bool {
	end := skipString(p.in, p.pos)
	if end < 0 {
		return false
	}
	p.out = append(p.out, p.in[p.pos:end]...)
	p.pos = end
	return p.sign(':')
}

// value copies a value: usable says that out got something valid, done that the
// value is whole and more may follow.
func (p *partialReader) value() (usable, done bool) {
	if p.pos >= len(p.in) {
		return false, false
	}
	switch c := p.in[p.pos]; c {
	case '{':
		return true, p.members('}')
	case '[':
		return true, p.members(']')
	case '"':
		if end := skipString(p.in, p.pos); end >= 0 {
			p.out = append(p.out, p.in[p.pos:end]...)
			p.pos = end
			return true, true
		}
		return p.openString(), false
	}
	end := p.pos
	for end < len(p.in) && !strings.ContainsRune(",]} \t\r\n", rune(p.in[end])) {
		end++
	}
	token := p.in[p.pos:end]
	p.pos = end
	if end < len(p.in) {
		p.out = append(p.out, token...)
		return true, true // a wrong word shows when the whole is checked
	}
	for ; len(token) > 0; token = token[:len(token)-1] {
		if json.Valid(token) {
			p.out = append(p.out, token...)
			return true, false
		}
	}
	return false, false
}

// openString copies the rest as a string, without an escape that isn't whole.
func (p *partialReader) openString() bool {
	text := p.in[p.pos:]
	for cut := 0; cut < len(`\u1234`) && cut < len(text); cut++ {
		closed := append(append([]byte{}, text[:len(text)-cut]...), '"')
		if json.Valid(closed) {
			p.out = append(p.out, closed...)
			return true
		}
	}
	return false
}
