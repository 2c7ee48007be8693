package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/parley-dev/parley/agent/message"
)

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
		Step: rec.Step, Source: rec.Source, Parents: doc.Parents, Seen: doc.Seen, Origins: doc.Origins, Keys: doc.Keys,
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
