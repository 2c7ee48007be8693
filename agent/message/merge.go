package message

import "encoding/json"

// mergeMode says what becomes of two strings under one key.
type mergeMode bool

const (
	replaceStrings mergeMode = false
	concatStrings  mergeMode = true
)

// mergeObjects merges two JSON objects as pieces of a stream (spec/runtime.md
// 4.4): objects merge by key, lists concatenate, strings as mode says (but id,
// name and type are replaced by a non-empty later value), anything else is replaced.
func mergeObjects(a, b json.RawMessage, mode mergeMode) json.RawMessage {
	if !isObject(a) {
		return b
	}
	if !isObject(b) {
		return a
	}
	var keys []string
	values := map[string]json.RawMessage{}
	add := func(key string, v json.RawMessage) error {
		old, known := values[key]
		if !known {
			keys = append(keys, key)
		}
		values[key] = mergeValue(key, old, v, mode)
		return nil
	}
	if eachField(a, add) != nil || eachField(b, add) != nil {
		return b
	}
	merged := []byte{'{'}
	for i, k := range keys {
		if i > 0 {
			merged = append(merged, ',')
		}
		merged = appendString(merged, k)
		merged = append(merged, ':')
		merged = append(merged, values[k]...)
	}
	return append(merged, '}')
}

func mergeValue(key string, old, v json.RawMessage, mode mergeMode) json.RawMessage {
	switch {
	case old == nil || isNull(old):
		return v
	case isNull(v):
		return old
	case isObject(old) && isObject(v):
		return mergeObjects(old, v, mode)
	case isArray(old) && isArray(v) && mode == concatStrings:
		if len(old) == 2 {
			return v
		}
		if len(v) == 2 {
			return old
		}
		return append(append(append(json.RawMessage{}, old[:len(old)-1]...), ','), v[1:]...)
	case isString(old) && isString(v) && len(v) == 2:
		return old
	case isString(old) && isString(v) && mode == concatStrings && key != "id" && key != "name" && key != "type":
		return append(append(json.RawMessage{}, old[:len(old)-1]...), v[1:]...)
	}
	return v
}
