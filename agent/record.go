package agent

import "github.com/parley-dev/parley/agent/message"

// CheckpointRecord is a checkpoint in its stored form. The store keeps State as
// it is and never looks into it but through Refs; Blobs and Lists are what State
// refers to and the store may not have yet.
type CheckpointRecord struct {
	NS       string
	ID       string
	ParentID string
	RunID    string
	Step     int
	Source   string
	// AtMillis is the time of the checkpoint in milliseconds since the epoch.
	AtMillis int64
	// Metadata is the checkpoint's metadata as a JSON object (history filters by it).
	Metadata []byte
	// State is the encoded checkpoint: small values inline, large ones by reference.
	State []byte
	// Blobs are large values, content-addressed: storing one twice is harmless.
	Blobs []Blob
	// Lists are new elements of message lists.
	Lists []message.SegmentAppend
}

// Blob is a large channel value, named by the digest of its content.
type Blob struct {
	ID   string
	Data []byte
}
