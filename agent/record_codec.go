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
	"time"

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
	Channels map[string]channelDoc       `json:"channels"`
}

// channelDoc is a channel: empty, or its value in one of three forms.
type channelDoc struct {
	Version int64           `json:"v"`
	Inline  json.RawMessage `json:"j,omitempty"`
	Blob    string          `json:"b,omitempty"` // digest of a Blob
	List    *message.Ref    `json:"l,omitempty"`
}

// ValueCache keeps decoded values between reads of a thread's checkpoints. Keys
// are unique in a thread only: an implementation adds the thread's id. It must
// be safe for concurrent use.
type ValueCache interface {
	Get(key string) (Value, bool)
	// Put offers a value; size is about what it takes, in bytes.
	Put(key string, v Value, size int)
}

func blobKey(id string) string { return "b:" + id }

func listKey(ref message.Ref) string { return "l:" + ref.Segment + ":" + strconv.Itoa(ref.Len) }

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

// DecodeCheckpoint returns a checkpoint from its stored form. blobs and segment
// read what the state refers to; they are called for what the cache doesn't have, blobs
// at most once. cache may be nil.
//
// A list that was loaded is never appended to where it is stored: the next
// append opens a segment (message.Load). Only the process that made a segment
// extends it, through the list that it kept; see CacheValues.
func DecodeCheckpoint(
	rec CheckpointRecord,
	blobs func(ids []string) (map[string][]byte, error),
	segment func(id string, n int) (message.Segment, error),
	cache ValueCache,
) (*Checkpoint, error) {
	var doc stateDoc
	if err := json.Unmarshal(rec.State, &doc); err != nil {
		return nil, fmt.Errorf("agent: decode checkpoint %s: %w", rec.ID, err)
	}
	if doc.Version < 1 || doc.Version > stateVersion {
		return nil, fmt.Errorf("agent: decode checkpoint %s: format %d is unknown, this version reads up to %d", rec.ID, doc.Version, stateVersion)
	}
	cp := &Checkpoint{
		ID: rec.ID, ParentID: rec.ParentID, NS: rec.NS, At: time.UnixMilli(rec.AtMillis).UTC(),
		Step: rec.Step, Source: rec.Source, Parents: doc.Parents, Seen: doc.Seen, Origins: doc.Origins,
		Channels: make(map[string]Channel, len(doc.Channels)),
	}
	if len(rec.Metadata) > 0 {
		if err := json.Unmarshal(rec.Metadata, &cp.Metadata); err != nil {
			return nil, fmt.Errorf("agent: decode metadata of checkpoint %s: %w", rec.ID, err)
		}
	}
	var missing []string
	for name, ch := range doc.Channels {
		v, err := decodeValue(ch, segment, cache)
		if err != nil {
			return nil, fmt.Errorf("agent: decode channel %q of checkpoint %s: %w", name, rec.ID, err)
		}
		if v == nil && ch.Blob != "" && !slices.Contains(missing, ch.Blob) {
			missing = append(missing, ch.Blob)
		}
		cp.Channels[name] = Channel{Version: ch.Version, Value: v}
	}
	if len(missing) == 0 {
		return cp, nil
	}
	slices.Sort(missing)
	found, err := blobs(missing)
	if err != nil {
		return nil, fmt.Errorf("agent: read values of checkpoint %s: %w", rec.ID, err)
	}
	for name, ch := range doc.Channels {
		if ch.Blob == "" || cp.Channels[name].Value != nil {
			continue
		}
		data, ok := found[ch.Blob]
		if !ok {
			return nil, fmt.Errorf("agent: decode channel %q of checkpoint %s: blob %s is missing", name, rec.ID, ch.Blob)
		}
		v := Value{JSON: data}
		if cache != nil {
			cache.Put(blobKey(ch.Blob), v, len(data))
		}
		cp.Channels[name] = Channel{Version: ch.Version, Value: &v}
	}
	return cp, nil
}

// decodeValue returns a channel's value; nil when it is empty or a blob that the cache doesn't have.
func decodeValue(ch channelDoc, segment func(string, int) (message.Segment, error), cache ValueCache) (*Value, error) {
	var key string
	switch {
	case ch.Inline != nil:
		return &Value{JSON: ch.Inline}, nil
	case ch.Blob != "":
		key = blobKey(ch.Blob)
	case ch.List != nil && ch.List.Segment == "":
		return &Value{List: &message.List{}}, nil
	case ch.List != nil:
		key = listKey(*ch.List)
	default:
		return nil, nil
	}
	if cache != nil {
		if v, ok := cache.Get(key); ok {
			return &v, nil
		}
	}
	if ch.List == nil {
		return nil, nil
	}
	list, err := message.Load(*ch.List, true, segment)
	if err != nil {
		return nil, err
	}
	v := Value{List: &list}
	if cache != nil {
		cache.Put(key, v, listSize(list))
	}
	return &v, nil
}

// CacheValues offers the large values and lists of a checkpoint to a cache, once
// the checkpoint is stored. So the next read needs not load what this process has
// just written, and the next run goes on in the same list segment.
func CacheValues(cp *Checkpoint, cache ValueCache) {
	for _, ch := range cp.Channels {
		switch {
		case ch.Value == nil:
		case ch.Value.List != nil:
			if ref := ch.Value.List.Ref(); ref.Segment != "" {
				cache.Put(listKey(ref), *ch.Value, listSize(*ch.Value.List))
			}
		case len(ch.Value.JSON) > inlineLimit:
			cache.Put(blobKey(digest(ch.Value.JSON)), *ch.Value, len(ch.Value.JSON))
		}
	}
}

// listSize is about what a list takes in memory.
func listSize(l message.List) int {
	size := 0
	for _, raw := range l.Raws() {
		size += len(raw) + 24
	}
	return size
}

// orEmpty makes a nil map encode as {}.
func orEmpty(m map[string]json.RawMessage) map[string]json.RawMessage {
	if m == nil {
		return map[string]json.RawMessage{}
	}
	return m
}
