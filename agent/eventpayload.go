package agent

import (
	"encoding/json"
	"fmt"
)

// EncodePayload is the payload of an event as JSON; nil when it has none.
func EncodePayload(e Event) ([]byte, error) {
	if e.Payload == nil {
		return nil, nil
	}
	b, err := json.Marshal(e.Payload)
	if err != nil {
		return nil, fmt.Errorf("agent: encode %s event: %w", e.Kind, err)
	}
	return b, nil
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
