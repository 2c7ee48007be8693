package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/parley-dev/parley/agent/message"
)

// stateVersion is the format of CheckpointRecord.State. A reader refuses what is
// newer than it; every older format stays readable (testdata has one of each).
const stateVersion = 1

// inlineLimit is the greatest size in bytes of a value that stands in the state document itself.
const inlineLimit = 1024

// stateDoc is CheckpointRecord.State: what the record doesn't say in columns of its own.
type stateDoc struct {
	Version  int                         `json:"v"`
	Parents  map[string]string           `json:"parents,omitempty"`
	Seen     map[string]map[string]int64 `json:"seen,omitempty"`
	Origins  map[string]string           `json:"origins,omitempty"`
	Keys     []string                    `json:"keys,omitempty"`
	Channels map[string]channelDoc       `json:"channels"`
}

// channelDoc is a channel: empty, or its value in one of three forms.
type channelDoc struct {
	Version int64           `json:"v"`
	Inline  json.RawMessage `json:"j,omitempty"`
	Blob    string          `json:"b,omitempty"` // digest of a Blob
	List    *message.Ref    `json:"l,omitempty"`
}

// EncodeCheckpoint returns a checkpoint in its stored form. prev is a stored
// checkpoint of the same thread and namespace, usually the parent: what it has
// already isn't in Blobs and Lists again. With nil everything is. A run that
// stores many checkpoints has less to do with a CheckpointEncoder.
func EncodeCheckpoint(cp *Checkpoint, prev *Checkpoint) (CheckpointRecord, error) {
	return new(CheckpointEncoder).Encode(cp, prev)
}

// CheckpointEncoder is EncodeCheckpoint with a memory: large values that stay
// the same from one checkpoint of a namespace to the next are hashed once. The zero
// value is ready. It isn't safe for concurrent use.
type CheckpointEncoder struct {
	digests map[string]map[*Value]string // of the last checkpoint of each namespace
}

// Encode is EncodeCheckpoint.
func (e *CheckpointEncoder) Encode(cp *Checkpoint, prev *Checkpoint) (CheckpointRecord, error) {
	metadata, err := json.Marshal(orEmpty(cp.Metadata))
	if err != nil {
		return CheckpointRecord{}, fmt.Errorf("agent: encode metadata of checkpoint %s: %w", cp.ID, err)
	}
	var runID string
	if raw, ok := cp.Metadata["run_id"]; ok {
		_ = json.Unmarshal(raw, &runID) // no run wrote a checkpoint whose run_id is no string
	}
	rec := CheckpointRecord{
		NS: cp.NS, ID: cp.ID, ParentID: cp.ParentID, RunID: runID, Step: cp.Step, Source: cp.Source,
		AtMillis: cp.At.UnixMilli(), Metadata: metadata,
	}
	known := e.digests[cp.NS]
	digests := map[*Value]string{}
	b := append([]byte(`{"v":`), strconv.Itoa(stateVersion)...)
	for _, part := range []struct {
		key   string
		value any
		empty bool
	}{
		{"parents", cp.Parents, len(cp.Parents) == 0},
		{"seen", cp.Seen, len(cp.Seen) == 0},
		{"origins", cp.Origins, len(cp.Origins) == 0},
		{"keys", cp.Keys, len(cp.Keys) == 0},
	} {
		if part.empty {
			continue
		}
		raw, err := json.Marshal(part.value)
		if err != nil {
			return CheckpointRecord{}, fmt.Errorf("agent: encode checkpoint %s: %w", cp.ID, err)
		}
		b = append(append(append(append(b, `,"`...), part.key...), `":`...), raw...)
	}
	b = append(b, `,"channels":{`...)
	for i, name := range slices.Sorted(maps.Keys(cp.Channels)) {
		if i > 0 {
			b = append(b, ',')
		}
		ch := cp.Channels[name]
		b = append(appendString(b, name), `:{"v":`...)
		b = strconv.AppendInt(b, ch.Version, 10)
		var before *Value
		if prev != nil {
			before = prev.Channels[name].Value
		}
		switch {
		case ch.Value == nil:
		case ch.Value.List != nil:
			ref := ch.Value.List.Ref()
			rec.Lists = append(rec.Lists, newEntries(*ch.Value.List, before)...)
			b = append(appendString(append(b, `,"l":{"s":`...), ref.Segment), `,"l":`...)
			b = append(strconv.AppendInt(b, int64(ref.Len), 10), '}')
		case len(ch.Value.JSON) <= inlineLimit:
			b = append(append(b, `,"j":`...), orNull(ch.Value.JSON)...)
		default:
			id, ok := known[ch.Value]
			if !ok {
				id = digest(ch.Value.JSON)
			}
			digests[ch.Value] = id
			if before == nil || !bytes.Equal(before.JSON, ch.Value.JSON) {
				rec.Blobs = append(rec.Blobs, Blob{ID: id, Data: ch.Value.JSON})
			}
			b = append(append(append(b, `,"b":"`...), id...), '"')
		}
		b = append(b, '}')
	}
	rec.State = append(b, "}}"...)
	if e.digests == nil {
		e.digests = map[string]map[*Value]string{}
	}
	e.digests[cp.NS] = digests
	return rec, nil
}

// newEntries is what of a list isn't in the list that the channel held before.
func newEntries(l message.List, before *Value) []message.SegmentAppend {
	if before == nil || before.List == nil {
		return l.Since(message.Ref{})
	}
	return l.SinceList(*before.List)
}

// digest names a blob by its content.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// orEmpty makes a nil map encode as {}.
func orEmpty(m map[string]json.RawMessage) map[string]json.RawMessage {
	if m == nil {
		return map[string]json.RawMessage{}
	}
	return m
}
