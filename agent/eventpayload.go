package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// EncodePayload is the payload of an event as JSON; nil when it has none. Raw
// values in it keep their bytes, so that a replay is what was seen live.
func EncodePayload(e Event) ([]byte, error) {
	if e.Payload == nil {
		return nil, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e.Payload); err != nil {
		return nil, fmt.Errorf("agent: encode %s event: %w", e.Kind, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// DecodePayload reads what EncodePayload wrote for an event of that kind; nil
// for no bytes and for a kind that it doesn't know.
func DecodePayload(k Kind, b []byte) (any, error) {
	decode, ok := payloads[k]
	if !ok || len(b) == 0 {
		return nil, nil
	}
	p, err := decode(b)
	if err != nil {
		return nil, fmt.Errorf("agent: decode %s event: %w", k, err)
	}
	return p, nil
}

// StateReference is the id of the checkpoint, of the event's namespace, whose
// state stands behind a payload that was read from the log; "" for one that has
// all it needs.
func StateReference(payload any) string {
	switch v := payload.(type) {
	case *ValuesNote:
		if v.State == nil && v.Inline == nil {
			return v.CheckpointID
		}
	case *CheckpointDetail:
		if v.State == nil && v.Inline == nil {
			return v.CheckpointID
		}
	case TaskStart:
		if v.State == nil && (len(v.Input) == 0 || string(v.Input) == "null") {
			return v.CheckpointID
		}
	}
	return ""
}
