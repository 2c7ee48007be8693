package query

import (
	"bytes"
	"encoding/json"
	"maps"
)

// MergeConfig merges configurations key by key, configurable likewise; the second wins.
func MergeConfig(old, new json.RawMessage) (json.RawMessage, error) {
	if len(new) == 0 || string(new) == "null" || bytes.Equal(old, new) {
		return old, nil
	}
	if len(old) == 0 || string(old) == "{}" {
		return new, nil
	}
	var a, b map[string]json.RawMessage
	if err := json.Unmarshal(old, &a); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(new, &b); err != nil {
		return nil, err
	}
	const inner = "configurable"
	var ca, cb map[string]json.RawMessage
	if json.Unmarshal(a[inner], &ca) == nil && json.Unmarshal(b[inner], &cb) == nil {
		maps.Copy(ca, cb)
		merged, err := encodeJSON(ca)
		if err != nil {
			return nil, err
		}
		b[inner] = merged
	}
	maps.Copy(a, b)
	return encodeJSON(a)
}

// encodeJSON writes v with raw JSON in it as it is.
func encodeJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
