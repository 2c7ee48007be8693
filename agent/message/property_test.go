package message

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// model is the reducer of spec/runtime.md 4.1 written down as simply as it can be.
type modelMessage struct{ typ, id, text string }

func modelReduce(old, update []modelMessage) ([]modelMessage, bool) {
	for i := len(update) - 1; i >= 0; i-- {
		if update[i].typ == Remove && update[i].id == RemoveAll {
			return update[i+1:], true
		}
	}
	merged := append([]modelMessage{}, old...)
	place := map[string]int{}
	for i, m := range merged {
		place[m.id] = i
	}
	removed := map[string]bool{}
	for _, m := range update {
		i, known := place[m.id]
		switch {
		case !known && m.typ == Remove:
			return nil, false
		case !known:
			place[m.id] = len(merged)
			merged = append(merged, m)
		case m.typ == Remove:
			removed[m.id] = true
		default:
			delete(removed, m.id)
			merged[i] = m
		}
	}
	out := []modelMessage{}
	for _, m := range merged {
		if !removed[m.id] {
			out = append(out, m)
		}
	}
	return out, true
}

func wire(update []modelMessage) json.RawMessage {
	messages := make([]Message, len(update))
	for i, m := range update {
		messages[i] = Message{Type: m.typ, ID: m.id, Content: TextContent(m.text)}
	}
	b, err := json.Marshal(messages)
	if err != nil {
		panic(err)
	}
	return b
}

func unwire(l List) []modelMessage {
	out := []modelMessage{}
	for _, m := range l.All() {
		out = append(out, modelMessage{m.Type, m.ID, m.Text()})
	}
	return out
}

func drawUpdate(t *rapid.T, pool int) []modelMessage {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) modelMessage {
		id := fmt.Sprintf("m%d", rapid.IntRange(0, pool).Draw(t, "id"))
		switch rapid.IntRange(0, 19).Draw(t, "kind") {
		case 0:
			return modelMessage{Remove, RemoveAll, ""}
		case 1, 2, 3, 4:
			return modelMessage{Remove, id, ""}
		}
		return modelMessage{rapid.SampledFrom([]string{Human, AI}).Draw(t, "type"), id, rapid.SampledFrom([]string{"x", "y"}).Draw(t, "text")}
	}), 0, 6).Draw(t, "update")
}

// Any history of updates and forks leaves each list as the model says, in
// memory and read back from a store that was given only what was new.
func TestListsAndStoresFollowTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type version struct {
			list   List
			want   []modelMessage
			stored bool
		}
		store := newStore()
		versions := []version{{stored: true, want: []modelMessage{}}}
		noID := func() string { t.Fatal("no id was asked for"); return "" }
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			from := versions[len(versions)-1]
			if rapid.IntRange(0, 3).Draw(t, "fork") == 0 {
				from = versions[rapid.IntRange(0, len(versions)-1).Draw(t, "from")]
			}
			base := from.list
			switch rapid.IntRange(0, 3).Draw(t, "how") {
			case 0:
				base = base.Fork()
			case 1: // as another process would read it
				if from.stored {
					ref := base.Ref()
					loaded, err := Load(ref, ref.Len < len(store.segments[ref.Segment].Entries), store.get)
					require.NoError(t, err)
					base = loaded
				}
			}
			update := drawUpdate(t, 12)
			want, ok := modelReduce(from.want, update)
			got, err := Reduce(base, wire(update), noID)
			if !ok {
				var unknown *UnknownIDError
				require.ErrorAs(t, err, &unknown)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, want, unwire(got))
			require.Equal(t, len(want), got.Len())
			require.LessOrEqual(t, got.depth(), maxDepth)
			v := version{list: got, want: want}
			if from.stored && rapid.Bool().Draw(t, "store") {
				appends := got.Since(from.list.Ref())
				if rapid.Bool().Draw(t, "whole list known") {
					appends = got.SinceList(from.list)
				}
				if fits(store, appends) { // else another writer was first: its commit is refused
					store.put(t, appends)
					v.stored = true
				}
			}
			versions = append(versions, v)
		}
		for _, v := range versions {
			require.Equal(t, v.want, unwire(v.list))
			if v.stored {
				loaded, err := Load(v.list.Ref(), false, store.get)
				require.NoError(t, err)
				require.Equal(t, string(v.list.AppendJSON(nil)), string(loaded.AppendJSON(nil)))
			}
		}
	})
}

// fits reports whether a store that fences writers would take the appends: two
// lists that were loaded apart may both extend a segment, but only one is stored.
func fits(s *memoryStore, appends []SegmentAppend) bool {
	for _, a := range appends {
		for i, e := range a.Entries {
			if known := s.segments[a.Segment].Entries; a.From+i < len(known) && string(known[a.From+i]) != string(e) {
				return false
			}
		}
	}
	return true
}

// Applied in two steps, normalized before, an update does the same as at once.
func TestNormalizeThenReduceIsReduce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		old := New(numbered(0, rapid.IntRange(0, 4).Draw(t, "old"))...)
		update := rapid.SampledFrom([]string{
			`"hi"`, `["a","b"]`, `[["user","x"],{"role":"ai","content":"y"}]`,
			`{"type":"human","content":"n","id":"m1"}`, `[{"type":"remove","id":"__remove_all__"},"z"]`,
			`{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":{"content":"k"}}`,
		}).Draw(t, "update")
		direct, err := Reduce(old, json.RawMessage(update), counter())
		require.NoError(t, err)
		normal, err := Normalize(json.RawMessage(update), counter())
		require.NoError(t, err)
		again, err := Normalize(normal, nil)
		require.NoError(t, err)
		require.Equal(t, string(normal), string(again))
		two, err := Reduce(old, normal, func() string { t.Fatal("ids are there"); return "" })
		require.NoError(t, err)
		require.Equal(t, string(direct.AppendJSON(nil)), string(two.AppendJSON(nil)))
	})
}

func FuzzReduce(f *testing.F) {
	for _, s := range []string{
		`"hi"`, `["user","hi"]`, `[["user","hi"]]`, `[{"type":"remove","id":"a"}]`,
		`{"role":"assistant","content":[{"type":"text","text":"x"}],"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\"a\":1}"}}]}`,
		`{"type":"tool","tool_call_id":"c","content":"r","id":"t","artifact":{"a":1},"status":"error"}`,
		`{"lc":1,"type":"constructor","id":["HumanMessage"],"kwargs":{"content":"k","id":null}}`,
		`{"type":"ai","id":"b","content":"","additional_kwargs":{},"response_metadata":{},"tool_calls":[],"invalid_tool_calls":[],"x":1}`,
		"{\"type\":\"human\",\"content\":\"\xff\\ud800\",\"id\":\"\\u0061\"}", `{"type":"human","type":"ai","content":1}`, `[[]]`, `{`,
	} {
		f.Add([]byte(s), []byte(`{"role":"user","id":"a","content":"A"}`))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		old, err := Reduce(List{}, first, counter())
		if err != nil {
			old = New(numbered(0, 2)...)
		}
		got, err := Reduce(old, second, counter())
		if err != nil {
			return
		}
		b := got.AppendJSON(nil)
		require.True(t, json.Valid(b))
		var back []Message
		require.NoError(t, json.Unmarshal(b, &back))
		require.Len(t, back, got.Len())
		for i, m := range got.All() {
			require.NotEmpty(t, m.ID)
			require.Equal(t, back[i], m)
			p, ok := got.Find(m.ID)
			require.True(t, ok)
			require.Equal(t, m.ID, got.At(p).ID)
		}
		again, err := Reduce(got, json.RawMessage(`[]`), nil)
		require.NoError(t, err)
		require.Equal(t, string(b), string(again.AppendJSON(nil)))
	})
}
