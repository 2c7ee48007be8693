package react

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// encode is v as JSON that keeps the characters <, > and & of texts as they are.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// decodeState reads the state, or a part of it.
func decodeState[S any](raw json.RawMessage) (S, error) {
	var s S
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("react: decode the state: %w", err)
	}
	return s, nil
}
