package classic

import (
	"encoding/json"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

// jsonOf is the state behind an event: live, inline, or read for it; nil when it is gone.
func jsonOf(live *agent.State, inline json.RawMessage, read *agent.State) []byte {
	switch {
	case live != nil:
		return live.JSON()
	case inline != nil:
		return inline
	case read != nil:
		return read.JSON()
	}
	return nil
}

// listsOf is the state whose message lists need no decoding; nil for an inline one.
func listsOf(live, read *agent.State) *agent.State {
	if live != nil {
		return live
	}
	return read
}

// values sends the whole state, and in mode "messages" the messages that are new in it.
func (p *Projection) values(ns string, state []byte, lists *agent.State) {
	if p.modes.has(Values) && p.visible(ns) {
		p.raw(Values, "values", ns, state)
	}
	if p.completes(ns) {
		p.complete(state, lists)
	}
}

// raw sends a frame with ready JSON.
func (p *Projection) raw(mode Mode, name, ns string, data []byte) {
	if p.begin(mode, name, p.suffix(ns), len(data)) {
		p.buf = append(p.buf, data...)
		p.end()
	}
}

// completes reports whether values of the namespace give messages/complete: the root's do.
func (p *Projection) completes(ns string) bool { return ns == "" && p.modes.has(Messages) }

// complete sends the messages of a state that were not sent so before.
func (p *Projection) complete(state []byte, lists *agent.State) {
	var fresh []json.RawMessage
	size := 0
	for _, raw := range stateMessages(state, lists) {
		var m struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(raw, &m) != nil || m.ID == "" {
			continue
		}
		if _, ok := p.completed[m.ID]; ok {
			continue
		}
		p.completed[m.ID] = struct{}{}
		fresh = append(fresh, raw)
		size += len(raw) + 1
	}
	if len(fresh) == 0 || !p.begin(Messages, "messages/complete", "", size+2) {
		return
	}
	p.buf = append(p.buf, '[')
	for i, raw := range fresh {
		if i > 0 {
			p.buf = append(p.buf, ',')
		}
		p.buf = append(p.buf, raw...)
	}
	p.buf = append(p.buf, ']')
	p.end()
}

// stateMessages are the messages of the state key "messages".
func stateMessages(state []byte, lists *agent.State) []json.RawMessage {
	if lists != nil {
		v, ok := lists.Value("messages")
		switch {
		case !ok:
			return nil
		case v.List != nil:
			return rawMessages(*v.List)
		}
		return elements(v.JSON)
	}
	var s struct {
		Messages json.RawMessage `json:"messages"`
	}
	if json.Unmarshal(state, &s) != nil {
		return nil
	}
	return elements(s.Messages)
}

func rawMessages(l message.List) []json.RawMessage {
	raws := make([]json.RawMessage, 0, l.Len())
	for _, raw := range l.Raws() {
		raws = append(raws, raw)
	}
	return raws
}

// elements splits a JSON array; anything else has none.
func elements(raw json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// updates sends what one finished task returned.
func (p *Projection) updates(ns string, note agent.UpdatesNote) {
	if !p.modes.has(Updates) || !p.visible(ns) ||
		!p.begin(Updates, "updates", p.suffix(ns), len(note.Data)+len(note.Node)+48) {
		return
	}
	p.buf = append(p.buf, '{')
	p.buf = appendString(p.buf, note.Node)
	p.buf = append(p.buf, ':')
	p.buf = appendRaw(p.buf, note.Data, "null")
	if note.Cached {
		p.buf = append(p.buf, `,"__metadata__":{"cached":true}`...)
	}
	p.buf = append(p.buf, '}')
	p.end()
}

// interrupts sends the pair of frames that announces a question; nil is a
// breakpoint, which is an empty list (spec/rest-api.md 4.6).
func (p *Projection) interrupts(ns string, info *agent.InterruptInfo) {
	if !p.visible(ns) {
		return
	}
	for _, pair := range [...]struct {
		mode Mode
		name string
	}{{Updates, "updates"}, {Values, "values"}} {
		if p.modes.has(pair.mode) {
			p.raw(pair.mode, pair.name, ns, AppendInterrupt(nil, info))
		}
	}
}

// AppendInterrupt appends the data of an interrupt notice; nil is a breakpoint's.
func AppendInterrupt(dst []byte, info *agent.InterruptInfo) []byte {
	dst = append(dst, `{"__interrupt__":`...)
	if info == nil {
		return append(dst, `[]}`...)
	}
	return append(appendInterrupts(dst, []agent.InterruptInfo{*info}), '}')
}

// appendInterrupts appends questions with the two keys that clients know (spec/rest-api.md 5.2).
func appendInterrupts(dst []byte, infos []agent.InterruptInfo) []byte {
	dst = append(dst, '[')
	for i, info := range infos {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"id":`...)
		dst = appendString(dst, info.ID)
		dst = append(dst, `,"value":`...)
		dst = appendRaw(dst, info.Value, "null")
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// custom sends a value that a node wrote, also from a graph that isn't shown otherwise.
func (p *Projection) custom(ns string, c agent.Custom) {
	if p.modes.has(Custom) {
		p.raw(Custom, "custom", ns, appendRaw(nil, c.Value, "null"))
	}
}
