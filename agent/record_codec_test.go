package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/agent/message"
)

// recordStore keeps what checkpoint records refer to, as a store does.
type recordStore struct {
	blobs    map[string][]byte
	segments map[string]*message.Segment
	reads    int
}

func newRecordStore() *recordStore {
	return &recordStore{blobs: map[string][]byte{}, segments: map[string]*message.Segment{}}
}

func (s *recordStore) put(t require.TestingT, rec CheckpointRecord) {
	for _, b := range rec.Blobs {
		s.blobs[b.ID] = b.Data
	}
	for _, a := range rec.Lists {
		seg := s.segments[a.Segment]
		if seg == nil {
			seg = &message.Segment{ID: a.Segment, Base: a.Base}
			s.segments[a.Segment] = seg
		}
		require.LessOrEqual(t, a.From, len(seg.Entries), "a hole in a segment")
		for i, entry := range a.Entries {
			if at := a.From + i; at < len(seg.Entries) {
				require.Equal(t, string(seg.Entries[at]), string(entry), "a stored entry was changed")
				continue
			}
			seg.Entries = append(seg.Entries, entry)
		}
	}
}

func (s *recordStore) readBlobs(ids []string) (map[string][]byte, error) {
	found := map[string][]byte{}
	for _, id := range ids {
		s.reads++
		if data, ok := s.blobs[id]; ok {
			found[id] = data
		}
	}
	return found, nil
}

func (s *recordStore) segment(id string, n int) (message.Segment, error) {
	s.reads++
	seg := s.segments[id]
	if seg == nil {
		return message.Segment{}, fmt.Errorf("no segment %q", id)
	}
	return message.Segment{ID: id, Base: seg.Base, Entries: seg.Entries[:min(n, len(seg.Entries))]}, nil
}

func (s *recordStore) decode(t require.TestingT, rec CheckpointRecord, cache ValueCache) *Checkpoint {
	cp, err := DecodeCheckpoint(rec, s.readBlobs, s.segment, cache)
	require.NoError(t, err)
	return cp
}

// mapCache is a ValueCache without limit.
type mapCache struct {
	mu     sync.Mutex
	values map[string]Value
}

func (c *mapCache) Get(key string) (Value, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.values[key]
	return v, ok
}

func (c *mapCache) Put(key string, v Value, _ int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values == nil {
		c.values = map[string]Value{}
	}
	c.values[key] = v
}

// requireSame compares checkpoints, lists by their messages.
func requireSame(t require.TestingT, want, got *Checkpoint) {
	plain := func(cp *Checkpoint) *Checkpoint {
		c := *cp
		c.Channels = map[string]Channel{}
		for name, ch := range cp.Channels {
			if ch.Value != nil {
				ch.Value = &Value{JSON: ch.Value.AppendJSON(nil)}
			}
			c.Channels[name] = ch
		}
		return &c
	}
	require.Equal(t, plain(want), plain(got))
}

func text(s string) json.RawMessage { return appendString(nil, s) }

func TestCheckpointSurvivesItsStoredForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		store := newRecordStore()
		cache := &mapCache{}
		encoder := &CheckpointEncoder{}
		name := rapid.StringMatching(`[a-z:_<"\\é]{1,6}`)
		ids := rapid.StringMatching(`[0-9a-f]{4}`)
		versions := rapid.MapOfN(name, rapid.Int64Range(1, 99), 1, 3)
		list := message.List{}
		var prev *Checkpoint
		var records []CheckpointRecord
		var all []*Checkpoint
		for i := range rapid.IntRange(1, 6).Draw(t, "checkpoints") {
			cp := &Checkpoint{
				ID: fmt.Sprintf("cp-%03d", i), NS: rapid.SampledFrom([]string{"", "n:1"}).Draw(t, "ns"),
				Step: i - 1, Source: SourceLoop, At: time.UnixMilli(rapid.Int64Range(0, 1<<41).Draw(t, "at")).UTC(),
				Metadata: map[string]json.RawMessage{"run_id": text("r")},
				Channels: map[string]Channel{},
			}
			if prev != nil {
				cp.ParentID = prev.ID
			}
			if rapid.Bool().Draw(t, "routed") {
				cp.Seen = map[string]map[string]int64{name.Draw(t, "node"): versions.Draw(t, "seen")}
				cp.Parents = map[string]string{"": ids.Draw(t, "parent")}
				cp.Origins = map[string]string{ids.Draw(t, "task"): "origin"}
				cp.Keys = []string{name.Draw(t, "key"), "messages"}
			}
			for range rapid.IntRange(0, 4).Draw(t, "channels") {
				ch := Channel{Version: rapid.Int64Range(0, 9).Draw(t, "version")}
				switch rapid.IntRange(0, 3).Draw(t, "form") {
				case 1:
					ch.Value = &Value{JSON: text(rapid.String().Draw(t, "value"))}
				case 2:
					size := rapid.IntRange(inlineLimit-2, 2*inlineLimit).Draw(t, "size")
					ch.Value = &Value{JSON: text(strings.Repeat("x", size))}
				case 3:
					switch rapid.IntRange(0, 3).Draw(t, "list") {
					case 0: // another branch of the history
						if n := list.Len(); n > 0 {
							list = message.New(list.At(0))
						}
					default:
						list = list.Append(message.Message{Type: message.Human, ID: ids.Draw(t, "id"), Content: text("hi")})
					}
					kept := list
					ch.Value = &Value{List: &kept}
				}
				cp.Channels[name.Draw(t, "channel")] = ch
			}
			rec, err := encoder.Encode(cp, prev)
			require.NoError(t, err)
			store.put(t, rec)
			records, all, prev = append(records, rec), append(all, cp), cp
			if rapid.Bool().Draw(t, "cached") {
				CacheValues(cp, cache)
			}
		}
		for i, rec := range records {
			requireSame(t, all[i], store.decode(t, rec, nil))
			requireSame(t, all[i], store.decode(t, rec, cache))
			reads := store.reads
			requireSame(t, all[i], store.decode(t, rec, cache))
			require.Equal(t, reads, store.reads, "the second read comes from the cache")
		}
	})
}

func TestRecordHoldsOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	large := &Value{JSON: text(strings.Repeat("x", 2000))}
	one := message.New(message.Message{Type: message.Human, ID: "1", Content: text("a")})
	first := &Checkpoint{ID: "1", Channels: map[string]Channel{"big": {Version: 1, Value: large}, "messages": {Version: 1, Value: &Value{List: &one}}}}
	rec, err := EncodeCheckpoint(first, nil)
	require.NoError(t, err)
	require.Len(t, rec.Blobs, 1)
	require.Len(t, rec.Lists, 1)
	require.Less(t, len(rec.State), 500)

	two := one.Append(message.Message{Type: message.AI, ID: "2", Content: text("b")})
	second := &Checkpoint{ID: "2", ParentID: "1", Channels: map[string]Channel{"big": {Version: 1, Value: large}, "messages": {Version: 2, Value: &Value{List: &two}}}}
	rec, err = EncodeCheckpoint(second, first)
	require.NoError(t, err)
	require.Empty(t, rec.Blobs)
	require.Len(t, rec.Lists, 1)
	require.Len(t, rec.Lists[0].Entries, 1)
	require.Equal(t, 1, rec.Lists[0].From)

	third := &Checkpoint{ID: "3", ParentID: "2", Channels: second.Channels}
	rec, err = EncodeCheckpoint(third, second)
	require.NoError(t, err)
	require.Empty(t, rec.Blobs)
	require.Empty(t, rec.Lists)
}

func TestNextRunGoesOnInTheSegmentThatThisProcessMade(t *testing.T) {
	t.Parallel()
	store, cache := newRecordStore(), &mapCache{}
	human := func(id string) message.Message {
		return message.Message{Type: message.Human, ID: id, Content: text(id)}
	}
	list := message.New(human("1"))
	cp := &Checkpoint{ID: "1", Channels: map[string]Channel{"messages": {Version: 1, Value: &Value{List: &list}}}}
	rec, err := EncodeCheckpoint(cp, nil)
	require.NoError(t, err)
	store.put(t, rec)
	CacheValues(cp, cache)

	warm := store.decode(t, rec, cache).Channels["messages"].Value.List
	require.Equal(t, list.Ref().Segment, warm.Append(human("2")).Ref().Segment)
	// Another process must not extend it: it can't know what was added since.
	cold := store.decode(t, rec, nil).Channels["messages"].Value.List
	require.NotEqual(t, list.Ref().Segment, cold.Append(human("3")).Ref().Segment)
}

// goldenCheckpoint is what testdata/checkpoint-v1.json holds.
func goldenCheckpoint() *Checkpoint {
	list := message.New(
		message.Message{Type: message.Human, ID: "m1", Content: text("hello")},
		message.Message{Type: message.AI, ID: "m2", Content: text("hi")},
	)
	return &Checkpoint{
		ID: "0198c0de-0000-7000-8000-000000000002", ParentID: "0198c0de-0000-7000-8000-000000000001",
		NS: "child:9f", At: time.UnixMilli(1764500000123).UTC(), Step: 3, Source: SourceLoop,
		Parents:  map[string]string{"": "0198c0de-0000-7000-8000-000000000000"},
		Metadata: map[string]json.RawMessage{"run_id": text("run"), "n": json.RawMessage("1")},
		Seen:     map[string]map[string]int64{"ask": {"branch:to:ask": 4}},
		Origins:  map[string]string{"task": "0198/ask/branch:to:ask"},
		Channels: map[string]Channel{
			"branch:to:ask": {Version: 4},
			"count":         {Version: 5, Value: &Value{JSON: json.RawMessage("7")}},
			"document":      {Version: 6, Value: &Value{JSON: text(strings.Repeat("long ", 300))}},
			"messages":      {Version: 6, Value: &Value{List: &list}},
		},
	}
}

// goldenFile is a record with all that it refers to.
type goldenFile struct {
	Record   CheckpointRecord
	Blobs    map[string][]byte
	Segments map[string]message.Segment
}

func TestOldestFormatStillLoads(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "checkpoint-v1.json")
	raw, err := os.ReadFile(path)
	if os.IsNotExist(err) && os.Getenv("PARLEY_WRITE_GOLDEN") != "" {
		rec, err := EncodeCheckpoint(goldenCheckpoint(), nil)
		require.NoError(t, err)
		store := newRecordStore()
		store.put(t, rec)
		file := goldenFile{Record: rec, Blobs: store.blobs, Segments: map[string]message.Segment{}}
		for id, seg := range store.segments {
			file.Segments[id] = *seg
		}
		raw, err = json.Marshal(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, append(raw, '\n'), 0o600))
	} else {
		require.NoError(t, err)
	}
	var file goldenFile
	require.NoError(t, json.Unmarshal(raw, &file))
	store := newRecordStore()
	store.blobs = file.Blobs
	for id, seg := range file.Segments {
		store.segments[id] = &seg
	}
	requireSame(t, goldenCheckpoint(), store.decode(t, file.Record, nil))
}

func TestDecodeRefusesWhatItCantRead(t *testing.T) {
	t.Parallel()
	rec, err := EncodeCheckpoint(goldenCheckpoint(), nil)
	require.NoError(t, err)
	store := newRecordStore()
	for name, tc := range map[string]struct {
		state string
		want  string
	}{
		"newer format":    {`{"v":2,"channels":{}}`, "format 2 is unknown"},
		"no format":       {`{"channels":{}}`, "format 0 is unknown"},
		"not JSON":        {`{`, "decode checkpoint"},
		"missing blob":    {`{"v":1,"channels":{"a":{"v":1,"b":"gone"}}}`, "blob gone is missing"},
		"missing segment": {`{"v":1,"channels":{"a":{"v":1,"l":{"s":"gone","l":1}}}}`, `no segment "gone"`},
	} {
		rec.State = []byte(tc.state)
		_, err := DecodeCheckpoint(rec, store.readBlobs, store.segment, nil)
		require.ErrorContains(t, err, tc.want, name)
	}
}
