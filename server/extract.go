package server

import (
	"encoding/json"
	"sort"
	"strconv"
	"strings"
)

// extraction maps names to paths into a thread: values.messages[-1].content or metadata.owner.
type extraction map[string]string

// extractions reads the field extract of a search.
func extractions(f *fields) extraction {
	out := extraction{}
	for name, raw := range f.conditions("extract") {
		var path string
		if kindOf(raw) != "string" || json.Unmarshal(raw, &path) != nil {
			f.fault("extract", "Expected string", name)
			continue
		}
		out[name] = path
	}
	return out
}

// from evaluates the paths; what is not there is null.
func (x extraction) from(values, metadata json.RawMessage) json.RawMessage {
	names := make([]string, 0, len(x))
	for name := range x {
		names = append(names, name)
	}
	sort.Strings(names)
	root := (&object{}).raw("values", rawOr(values, "{}")).raw("metadata", metadata).done()
	out := map[string]json.RawMessage{}
	for _, name := range names {
		out[name] = rawOr(follow(root, x[name]), "null")
	}
	return encode(out)
}

// follow walks a path of keys and [indexes]; a negative index counts from the end.
func follow(at json.RawMessage, path string) json.RawMessage {
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' }) {
		index, isIndex := strings.CutSuffix(part, "]")
		if isIndex {
			n, err := strconv.Atoi(index)
			var items []json.RawMessage
			if err != nil || json.Unmarshal(at, &items) != nil {
				return nil
			}
			if n < 0 {
				n += len(items)
			}
			if n < 0 || n >= len(items) {
				return nil
			}
			at = items[n]
			continue
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(at, &members) != nil {
			return nil
		}
		at = members[part]
	}
	return at
}
