package message

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// UnknownIDError says that a Remove message names a message that isn't in the list.
type UnknownIDError struct{ ID string }

func (e *UnknownIDError) Error() string {
	return fmt.Sprintf("Attempting to delete a message with an ID that doesn't exist ('%s')", e.ID)
}

// item is one message of an update.
type item struct {
	raw    json.RawMessage
	id     string
	remove bool
}

func raws(items []item) []json.RawMessage {
	out := make([]json.RawMessage, len(items))
	for i, it := range items {
		out[i] = it.raw
	}
	return out
}

// Normalize returns an update as a JSON array of messages in their wire form,
// those without id given one by newID: what Reduce does with it is then the same
// however often it is applied. Messages that are in this form already keep
// their bytes. Errors: as Coerce.
func Normalize(update json.RawMessage, newID func() string) (json.RawMessage, error) {
	items, err := coerceUpdate(update, newID)
	if err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, len(update)+2), '[')
	for i, it := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, it.raw...)
	}
	return append(out, ']'), nil
}

// Reduce adds an update, a message or a list of messages in any form that Coerce
// takes, to a list (spec/runtime.md 4.1): a message whose id is in the list takes
// that one's place, a Remove message deletes by id, the id RemoveAll clears, the
// rest is appended. Messages without id, old ones too, get one from newID.
// Errors: *UnknownIDError, and those of Coerce.
func Reduce(old List, update json.RawMessage, newID func() string) (List, error) {
	items, err := coerceUpdate(update, newID)
	if err != nil {
		return List{}, err
	}
	for i := len(items) - 1; i >= 0; i-- {
		if items[i].remove && items[i].id == RemoveAll {
			return List{}.appendRaw(raws(items[i+1:])), nil
		}
	}
	return merge(identify(old, newID), items)
}

// identify gives ids to the messages of a list that have none.
func identify(l List, newID func() string) List {
	first := l.anonymous()
	if first < 0 {
		return l
	}
	tail := make([]json.RawMessage, 0, l.Len()-first)
	for i := first; i < l.Len(); i++ {
		raw := l.Raw(i)
		if idOf(raw) == "" {
			m := decode(raw)
			m.ID = newID()
			raw = m.AppendJSON(nil)
		}
		tail = append(tail, raw)
	}
	return l.prefix(first).appendRaw(tail)
}

// change is what an update does to one message of the list.
type change struct {
	raw    json.RawMessage // replaces the message, unless nil
	remove bool
}

// merge applies an update without RemoveAll.
func merge(old List, items []item) (List, error) {
	changes := map[int]*change{}
	var added []item
	removed := map[int]bool{} // of added
	place := map[string]int{} // id → position in added
	for _, it := range items {
		if p, ok := place[it.id]; ok {
			removed[p] = it.remove
			if !it.remove {
				added[p] = it
			}
			continue
		}
		found := old.positions(it.id)
		switch {
		case len(found) == 0 && it.remove:
			return List{}, &UnknownIDError{ID: it.id}
		case len(found) == 0:
			place[it.id] = len(added)
			added = append(added, it)
		default:
			for i, p := range found {
				c := changes[p]
				if c == nil {
					c = &change{}
					changes[p] = c
				}
				c.remove = it.remove
				if i == 0 && !it.remove {
					c.raw = it.raw
				}
			}
		}
	}
	var tail []json.RawMessage
	keep := old
	if first := firstChange(old, changes); first < old.Len() {
		keep = old.prefix(first)
		tail = make([]json.RawMessage, 0, old.Len()-first+len(added))
		for i := first; i < old.Len(); i++ {
			c := changes[i]
			switch {
			case c == nil || (c.raw == nil && !c.remove):
				tail = append(tail, old.Raw(i))
			case !c.remove:
				tail = append(tail, c.raw)
			}
		}
	}
	for i, it := range added {
		if !removed[i] {
			tail = append(tail, it.raw)
		}
	}
	return keep.appendRaw(tail), nil
}

// firstChange returns the first position at which the list really changes, or
// its length. A message that is replaced by itself doesn't count.
func firstChange(old List, changes map[int]*change) int {
	first := old.Len()
	for p, c := range changes {
		if p < first && (c.remove || (c.raw != nil && !bytes.Equal(c.raw, old.Raw(p)))) {
			first = p
		}
	}
	return first
}

// coerceUpdate reads the messages of an update. With newID those without id get
// one. A message that is in its wire form already keeps its bytes.
func coerceUpdate(update json.RawMessage, newID func() string) ([]item, error) {
	update, err := compact(update)
	if err != nil {
		return nil, err
	}
	var items []item
	err = eachMessage(update, func(v json.RawMessage) error {
		if it, ok := canonical(v); ok && (it.id != "" || newID == nil) {
			items = append(items, it)
			return nil
		}
		m, err := coerce(v)
		if err != nil {
			return err
		}
		if m.ID == "" && newID != nil {
			m.ID = newID()
		}
		items = append(items, item{raw: m.AppendJSON(nil), id: m.ID, remove: m.Type == Remove})
		return nil
	})
	return items, err
}

// canonical recognizes a message that has all keys of its wire form and nothing
// that Coerce would change.
func canonical(raw json.RawMessage) (it item, ok bool) {
	if !isObject(raw) {
		return item{}, false
	}
	var typ, callID string
	var content, kwargs, metadata, calls, invalid json.RawMessage
	foreign := false
	seen := 0
	if eachField(raw, func(key string, v json.RawMessage) error {
		bit := 0
		switch key {
		case "type":
			typ, _ = unquote(v)
			bit = 1
		case "id":
			it.id, _ = unquote(v)
			foreign = foreign || it.id == ""
			bit = 2
		case "content":
			content, bit = v, 4
		case "additional_kwargs":
			kwargs, bit = v, 8
		case "response_metadata":
			metadata, bit = v, 16
		case "tool_calls":
			calls, bit = v, 32
		case "invalid_tool_calls":
			invalid, bit = v, 64
		case "tool_call_id":
			callID, _ = unquote(v)
			bit = 128
		case "role", "lc", "tool_call_chunks":
			foreign = true
		case "name", "usage_metadata", "status", "artifact":
			foreign = foreign || isNull(v)
		}
		foreign = foreign || seen&bit != 0
		seen |= bit
		return nil
	}) != nil || foreign || (!isString(content) && !isArray(content)) || !isObject(kwargs) || !isObject(metadata) {
		return item{}, false
	}
	switch typ {
	case Human, System:
	case AI:
		if !isArray(invalid) || !isArray(calls) || eachElement(calls, ownCall) != nil {
			return item{}, false
		}
	case Tool:
		if callID == "" {
			return item{}, false
		}
	case Remove:
		if it.id == "" {
			return item{}, false
		}
		it.remove = true
	default:
		return item{}, false
	}
	it.raw = raw
	return it, true
}

// ownCall refuses a tool call that isn't {name, args, id, …}.
func ownCall(raw json.RawMessage) error {
	var name, args, id bool
	err := eachField(raw, func(key string, v json.RawMessage) error {
		switch key {
		case "name":
			name = isString(v)
		case "args":
			args = isObject(v)
		case "id":
			id = isString(v)
		}
		return nil
	})
	if err != nil || !name || !args || !id {
		return errSyntax
	}
	return nil
}
