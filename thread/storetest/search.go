package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
)

// found searches and returns the ids, after checking the total.
func (e *env) found(q thread.ThreadQuery) []string {
	e.Helper()
	list, total, err := e.SearchThreads(e.ctx, q)
	require.NoError(e, err)
	if q.Limit <= 0 && q.Offset == 0 {
		require.Equal(e, len(list), total)
	}
	n, count := 0, 0
	c := q
	c.CountOnly = true
	counted, count, err := e.SearchThreads(e.ctx, c)
	n = len(counted)
	require.NoError(e, err)
	require.Zero(e, n)
	require.Equal(e, total, count)
	return threadIDs(list)
}

// tagged stores n threads, a second apart, and returns them oldest first with the tag that marks them.
func (e *env) tagged(n int, change ...func(int, *thread.Thread)) (thread.Metadata, []string) {
	e.Helper()
	tag := thread.Metadata{"tag": raw("%q", newID())}
	base := now().Add(-time.Hour)
	var ids []string
	for i := range n {
		t := e.newThread(func(t *thread.Thread) {
			t.CreatedAt = base.Add(time.Duration(i) * time.Second)
			t.Metadata = thread.Metadata{"tag": tag["tag"], "n": raw("%d", i)}
			for _, f := range change {
				f(i, t)
			}
		})
		ids = append(ids, t.ID)
	}
	return tag, ids
}

func reversed(ids []string) []string {
	ids = slices.Clone(ids)
	slices.Reverse(ids)
	return ids
}

func with(m thread.Metadata, key string, value json.RawMessage) thread.Metadata {
	out := thread.Metadata{key: value}
	for k, v := range m {
		out[k] = v
	}
	return out
}

var searchCases = []testCase{
	{"newest first, by pages, with the total", func(e *env) {
		tag, ids := e.tagged(12)
		for _, asc := range []bool{false, true} {
			want := reversed(ids)
			if asc {
				want = ids
			}
			for offset := range 13 {
				list, total, err := e.SearchThreads(e.ctx, thread.ThreadQuery{Metadata: tag, Limit: 5, Offset: offset, SortAsc: asc})
				require.NoError(e, err)
				require.Equal(e, 12, total)
				require.Equal(e, append([]string(nil), want[offset:min(offset+5, 12)]...), threadIDs(list), "offset %d", offset)
			}
		}
	}},
	{"totals follow what is created, patched and deleted", func(e *env) {
		tag, ids := e.tagged(3)
		require.Len(e, e.found(thread.ThreadQuery{Metadata: tag}), 3)
		require.NoError(e, e.DeleteThread(e.ctx, ids[0]))
		require.Equal(e, []string{ids[2], ids[1]}, e.found(thread.ThreadQuery{Metadata: tag}))
		_, err := e.PatchThread(e.ctx, ids[1], thread.ThreadPatch{Metadata: thread.Metadata{"tag": raw(`"other"`)}})
		require.NoError(e, err)
		require.Equal(e, []string{ids[2]}, e.found(thread.ThreadQuery{Metadata: tag}))
		_, err = e.PatchThread(e.ctx, ids[1], thread.ThreadPatch{Metadata: tag})
		require.NoError(e, err)
		require.Equal(e, []string{ids[2], ids[1]}, e.found(thread.ThreadQuery{Metadata: tag}))
	}},
	{"several keys must all match", func(e *env) {
		tag, ids := e.tagged(10)
		require.Equal(e, []string{ids[4]}, e.found(thread.ThreadQuery{Metadata: with(tag, "n", raw("4"))}))
		require.Empty(e, e.found(thread.ThreadQuery{Metadata: with(tag, "n", raw("11"))}))
		require.Empty(e, e.found(thread.ThreadQuery{Metadata: with(tag, "n", raw(`"4"`))}))
		require.Empty(e, e.found(thread.ThreadQuery{Metadata: with(tag, "missing", raw("1"))}))
	}},
	{"a hundred keys must all match", func(e *env) {
		many := thread.Metadata{}
		for i := range 99 {
			many[fmt.Sprint("k", i)] = raw("%d", i)
		}
		tag, ids := e.tagged(20, func(i int, t *thread.Thread) {
			for k, v := range many {
				t.Metadata[k] = v
			}
			if i%2 == 1 {
				t.Metadata[fmt.Sprint("k", 5*i)] = raw(`"other"`)
			}
		})
		var even []string
		for i := 0; i < len(ids); i += 2 {
			even = append(even, ids[i])
		}
		all := with(many, "tag", tag["tag"])
		require.Equal(e, reversed(even), e.found(thread.ThreadQuery{Metadata: all}))
		page, total, err := e.SearchThreads(e.ctx, thread.ThreadQuery{Metadata: all, Limit: 3, Offset: 2})
		require.NoError(e, err)
		require.Equal(e, len(even), total)
		require.Len(e, page, 3)
		require.Equal(e, reversed(even)[2], page[0].ID)
	}},
	{"containment: objects recurse, arrays by index, null never", func(e *env) {
		tag, ids := e.tagged(1, func(_ int, t *thread.Thread) {
			t.Metadata["o"] = raw(`{"a":{"b":1,"c":2},"l":[1,{"x":"y","z":0}]}`)
			t.Metadata["nil"] = raw("null")
			t.Metadata["s"] = raw(`"ü\n"`)
		})
		for filter, match := range map[string]bool{
			`{"o":{"a":{"b":1}}}`:                true,
			`{"o":{"a":{"b":2}}}`:                false,
			`{"o":{"l":[1]}}`:                    true,
			`{"o":{"l":[1,{"x":"y"}]}}`:          true,
			`{"o":{"l":[2]}}`:                    false,
			`{"o":{}}`:                           true,
			`{"nil":null}`:                       false,
			`{"s":"\u00fc\n"}`:                   true,
			`{"s":"u"}`:                          false,
			`{}`:                                 true,
			`{"o":{"a":{"b":1}},"s":"\u00fc\n"}`: true,
		} {
			var m thread.Metadata
			require.NoError(e, json.Unmarshal([]byte(filter), &m))
			m["tag"] = tag["tag"]
			want := []string(nil)
			if match {
				want = ids
			}
			require.Equal(e, want, e.found(thread.ThreadQuery{Metadata: m}), filter)
		}
	}},
	{"auth filters: equality, $eq, $contains", func(e *env) {
		tag, ids := e.tagged(2, func(i int, t *thread.Thread) {
			t.Metadata["owner"] = raw("%q", []string{"ann", "bob"}[i])
			if i == 0 {
				t.Metadata["teams"] = raw(`["red","blue"]`)
			}
		})
		for filter, want := range map[string][]string{
			`{"owner":"ann"}`:                           {ids[0]},
			`{"owner":{"$eq":"bob"}}`:                   {ids[1]},
			`{"teams":{"$contains":"red"}}`:             {ids[0]},
			`{"teams":{"$contains":["red","blue"]}}`:    {ids[0]},
			`{"teams":{"$contains":["red","green"]}}`:   nil,
			`{"owner":{"$contains":"ann"}}`:             nil,
			`{"absent":"x"}`:                            nil,
			`{"owner":"ann","teams":{"$contains":"x"}}`: nil,

			`{"teams":{"$eq":["red","blue"],"$contains":"red"}}`: {ids[0]},
			`{"teams":{"$eq":["red","blue"],"$contains":"x"}}`:   nil,
			`{"owner":{"$ne":"bob"}}`:                            {ids[0]},
			`{"owner":{"$eq":"ann","$ne":"bob"}}`:                {ids[0]},
			`{"owner":{"$eq":"ann","$unknown":"bob"}}`:           nil,
		} {
			var f thread.Filter
			require.NoError(e, json.Unmarshal([]byte(filter), &f))
			require.Equal(e, want, e.found(thread.ThreadQuery{Metadata: tag, Filter: f}), filter)
		}
	}},
	{"by ids", func(e *env) {
		tag, ids := e.tagged(3)
		require.Equal(e, []string{ids[2], ids[0]}, e.found(thread.ThreadQuery{IDs: []string{ids[0], ids[2], newID(), ids[0]}}))
		require.Equal(e, []string{ids[0]}, e.found(thread.ThreadQuery{IDs: ids, Metadata: with(tag, "n", raw("0"))}))
	}},
	{"by status", func(e *env) {
		tag, ids := e.tagged(5)
		e.claim(e.admit(ids[1]).Run.ID).suspend(1)
		e.claim(e.admit(ids[2]).Run.ID).finish(func(f *thread.Finish) { f.Status, f.Error = thread.RunError, raw(`{"error":"E"}`) })
		e.admit(ids[3])
		e.claim(e.admit(ids[4]).Run.ID).finish()
		for status, want := range map[thread.Status][]string{
			thread.Idle: {ids[4], ids[0]}, thread.Interrupted: {ids[1]}, thread.Failed: {ids[2]}, thread.Busy: {ids[3]},
		} {
			require.Equal(e, want, e.found(thread.ThreadQuery{Metadata: tag, Status: status}), status)
		}
	}},
	{"sorted by every column", func(e *env) {
		tag, ids := e.tagged(4)
		for i, j := range []int{2, 0, 3, 1} { // patched in that order
			_, err := e.PatchThread(e.ctx, ids[j], thread.ThreadPatch{At: now().Add(time.Duration(i) * time.Second)})
			require.NoError(e, err)
		}
		byUpdate := []string{ids[2], ids[0], ids[3], ids[1]}
		byID := sorted(ids)
		for sortBy, want := range map[string][]string{"updated_at": byUpdate, "thread_id": byID, "created_at": ids, "": ids} {
			require.Equal(e, want, e.found(thread.ThreadQuery{Metadata: tag, SortBy: sortBy, SortAsc: true}), sortBy)
			require.Equal(e, reversed(want), e.found(thread.ThreadQuery{Metadata: tag, SortBy: sortBy}), sortBy)
			require.Equal(e, want[1:3], threadIDs(first(e.SearchThreads(e.ctx, thread.ThreadQuery{
				Metadata: tag, SortBy: sortBy, SortAsc: true, Limit: 2, Offset: 1}))), sortBy)
		}
		e.claim(e.admit(ids[2]).Run.ID).save()
		require.Equal(e, ids[2], e.found(thread.ThreadQuery{Metadata: tag, SortBy: "state_updated_at"})[0])
		require.Equal(e, ids[2], e.found(thread.ThreadQuery{Metadata: tag, SortBy: "status"})[0])
	}},
	{"an update after many shows in every order", func(e *env) {
		tag, ids := e.tagged(20)
		e.claim(e.admit(ids[7]).Run.ID).finish()
		list, total, err := e.SearchThreads(e.ctx, thread.ThreadQuery{Metadata: tag, SortBy: "updated_at", Limit: 1})
		require.NoError(e, err)
		require.Equal(e, 20, total)
		require.Equal(e, []string{ids[7]}, threadIDs(list))
	}},
	{"searches agree with a plain list", searchModel},
	{"temporary threads are hidden", func(e *env) {
		tag, ids := e.tagged(2, func(i int, t *thread.Thread) { t.Temporary = i == 0 })
		require.Equal(e, ids[1:], e.found(thread.ThreadQuery{Metadata: tag}))
		require.Equal(e, ids[1:], e.found(thread.ThreadQuery{IDs: ids}))
		require.True(e, e.getThread(ids[0]).Temporary)
	}},
	{"without a filter all are found", func(e *env) {
		_, ids := e.tagged(3)
		for _, id := range ids {
			require.Contains(e, e.found(thread.ThreadQuery{}), id, fmt.Sprint(ids))
		}
	}},
}

func first[A, B any](a A, _ B, err error) A {
	if err != nil {
		panic(err)
	}
	return a
}
