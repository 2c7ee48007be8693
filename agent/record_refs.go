package agent

import (
	"encoding/json"
	"fmt"

	"github.com/parley-dev/parley/agent/message"
)

// Refs are what stored states refer to.
type Refs struct {
	Blobs    map[string]bool // digests
	Segments map[string]bool // of message lists; those below them, which segments name themselves, not included
}

// Add adds what a stored state (CheckpointRecord.State) refers to.
func (r *Refs) Add(state []byte) error {
	var doc struct {
		Version  int `json:"v"`
		Channels map[string]struct {
			Blob string       `json:"b"`
			List *message.Ref `json:"l"`
		} `json:"channels"`
	}
	if err := json.Unmarshal(state, &doc); err != nil {
		return fmt.Errorf("agent: references of a state: %w", err)
	}
	if doc.Version > stateVersion {
		return fmt.Errorf("agent: references of a state: format %d is unknown, this version reads up to %d", doc.Version, stateVersion)
	}
	if r.Blobs == nil {
		r.Blobs, r.Segments = map[string]bool{}, map[string]bool{}
	}
	for _, ch := range doc.Channels {
		if ch.Blob != "" {
			r.Blobs[ch.Blob] = true
		}
		if ch.List != nil && ch.List.Segment != "" {
			r.Segments[ch.List.Segment] = true
		}
	}
	return nil
}
