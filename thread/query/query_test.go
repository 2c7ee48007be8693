package query_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/query"
)

func TestPagesMakeUpTheList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.Int()).Draw(t, "list")
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		var got []int
		for offset := 0; ; offset += limit {
			page := query.Page(list, limit, offset)
			require.LessOrEqual(t, len(page), limit)
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
		}
		require.Equal(t, append([]int(nil), list...), append([]int(nil), got...))
		require.Equal(t, list, query.Page(list, 0, -1))
	})
}

func TestThreadsThatAreEqualInAColumnSortByCreation(t *testing.T) {
	t.Parallel()
	at := time.Now()
	list := []thread.Thread{
		{ID: "c", CreatedAt: at, Status: thread.Failed}, {ID: "a", CreatedAt: at.Add(1), Status: thread.Busy},
		{ID: "b", CreatedAt: at, Status: thread.Busy}, {ID: "d", CreatedAt: at, Status: thread.Busy},
	}
	ids := func() (ids string) {
		for _, t := range list {
			ids += t.ID
		}
		return ids
	}
	query.SortThreads(list, "status", true)
	require.Equal(t, "bdac", ids())
	query.SortThreads(list, "status", false)
	require.Equal(t, "cadb", ids())
	query.SortThreads(list, "thread_id", true)
	require.Equal(t, "abcd", ids())
}

func TestConfigurationsMergeByKey(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{`{}`, `{"a":1}`, `{"a":1}`},
		{`{"a":1}`, ``, `{"a":1}`},
		{`{"a":1}`, `null`, `{"a":1}`},
		{`{"a":1,"configurable":{"x":1,"y":1}}`, `{"b":"<","configurable":{"y":2}}`, `{"a":1,"b":"<","configurable":{"x":1,"y":2}}`},
		{`{"configurable":1}`, `{"configurable":{"y":2}}`, `{"configurable":{"y":2}}`},
	} {
		got, err := query.MergeConfig(json.RawMessage(c[0]), json.RawMessage(c[1]))
		require.NoError(t, err)
		require.Equal(t, c[2], string(got))
	}
	_, err := query.MergeConfig(json.RawMessage("{"), json.RawMessage(`{"a":1}`))
	require.Error(t, err)
}

func TestNamespaceMatches(t *testing.T) {
	t.Parallel()
	ns := []string{"a", "b", "c"}
	for _, c := range []struct {
		prefix, suffix []string
		want           bool
	}{
		{nil, nil, true},
		{[]string{"a"}, []string{"c"}, true},
		{[]string{"*", "b"}, nil, true},
		{[]string{"b"}, nil, false},
		{nil, []string{"*", "c"}, true},
		{[]string{"a", "b", "c", "d"}, nil, false},
	} {
		require.Equal(t, c.want, query.NamespaceMatches(ns, c.prefix, c.suffix), "%v", c)
	}
}
