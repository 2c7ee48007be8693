package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/thread"
)

func (e *env) put(ns []string, key, value string) {
	e.Helper()
	require.NoError(e, e.PutItem(e.ctx, agent.Item{Namespace: ns, Key: key, Value: json.RawMessage(value), CreatedAt: now(), UpdatedAt: now()}, 0))
}

func (e *env) itemKeys(q thread.ItemQuery) []string {
	e.Helper()
	list, err := e.SearchItems(e.ctx, q)
	require.NoError(e, err)
	keys := []string{}
	for _, it := range list {
		keys = append(keys, it.Key)
	}
	return sorted(keys)
}

var itemCases = []testCase{
	{"put, get, overwrite, delete", func(e *env) {
		ns := []string{"users", "ann"}
		created := now().Add(-time.Hour)
		require.NoError(e, e.PutItem(e.ctx, agent.Item{Namespace: ns, Key: "k", Value: raw(`{"x":1}`), CreatedAt: created, UpdatedAt: created}, 0))
		got, ttl, err := e.GetItem(e.ctx, ns, "k")
		require.NoError(e, err)
		require.Zero(e, ttl)
		require.Equal(e, ns, got.Namespace)
		require.JSONEq(e, `{"x":1}`, string(got.Value))
		require.True(e, created.Equal(got.CreatedAt))
		e.put(ns, "k", `{"x":2}`)
		again, _, err := e.GetItem(e.ctx, ns, "k")
		require.NoError(e, err)
		require.JSONEq(e, `{"x":2}`, string(again.Value))
		require.True(e, created.Equal(again.CreatedAt), "an overwrite keeps the time of creation")
		require.True(e, again.UpdatedAt.After(got.UpdatedAt))
		require.NoError(e, e.DeleteItem(e.ctx, ns, "k"))
		require.NoError(e, e.DeleteItem(e.ctx, ns, "k"), "also when it is gone")
		_, _, err = e.GetItem(e.ctx, ns, "k")
		require.ErrorIs(e, err, thread.ErrNotFound)
	}},
	{"two writes at one time still grow updated_at", func(e *env) {
		at := now()
		var last time.Time
		for range 2 {
			require.NoError(e, e.PutItem(e.ctx, agent.Item{Namespace: []string{"n"}, Key: "k", Value: raw("{}"), UpdatedAt: at}, 0))
			got, _, err := e.GetItem(e.ctx, []string{"n"}, "k")
			require.NoError(e, err)
			require.True(e, got.UpdatedAt.After(last))
			last = got.UpdatedAt
		}
	}},
	{"an expired item is gone, one that is read lives on", func(e *env) {
		const ttl = time.Second
		for _, key := range []string{"unread", "got", "found"} {
			it := agent.Item{Namespace: []string{"n", key}, Key: key, Value: raw("{}"), UpdatedAt: now()}
			require.NoError(e, e.PutItem(e.ctx, it, ttl))
		}
		_, had, err := e.GetItem(e.ctx, []string{"n", "unread"}, "unread")
		require.NoError(e, err)
		require.Equal(e, ttl, had)
		require.Eventually(e, func() bool {
			require.NoError(e, e.RefreshItem(e.ctx, []string{"n", "got"}, "got"))
			_, err := e.SearchItems(e.ctx, thread.ItemQuery{Prefix: []string{"n", "found"}, Refresh: true})
			require.NoError(e, err)
			return len(e.itemKeys(thread.ItemQuery{Prefix: []string{"n", "unread"}})) == 0
		}, patience, lookEach)
		require.Equal(e, []string{"found", "got"}, e.itemKeys(thread.ItemQuery{}))
		names, err := e.ItemNamespaces(e.ctx, thread.NamespaceQuery{})
		require.NoError(e, err)
		require.NotContains(e, names, []string{"n", "unread"})
		require.NoError(e, e.RefreshItem(e.ctx, []string{"n", "unread"}, "unread"))
		require.Empty(e, e.itemKeys(thread.ItemQuery{Prefix: []string{"n", "unread"}}), "what has expired stays gone")
		_, err = e.ExpireLogs(e.ctx, now().Add(-time.Hour), 10)
		require.NoError(e, err)
		require.Empty(e, e.itemKeys(thread.ItemQuery{Prefix: []string{"n", "unread"}}))
	}},
	{"items of a workspace are found among its own only", func(e *env) {
		scopes := [][2]string{{"p", ""}, {"p", "w"}, {"p", "v"}, {"q", "w"}, {"", "w"}}
		for i, s := range scopes {
			e.put(thread.ScopedNamespace(s[0], s[1], []string{"n"}), fmt.Sprint(i), "{}")
		}
		for i, s := range scopes {
			own := thread.ScopedNamespace(s[0], s[1], nil)
			require.Equal(e, []string{fmt.Sprint(i)}, e.itemKeys(thread.ItemQuery{Prefix: own}))
			names, err := e.ItemNamespaces(e.ctx, thread.NamespaceQuery{Prefix: own})
			require.NoError(e, err)
			require.Equal(e, [][]string{thread.ScopedNamespace(s[0], s[1], []string{"n"})}, names)
		}
		require.Empty(e, e.itemKeys(thread.ItemQuery{Auth: thread.UnscopedItems()}))
	}},
	{"a TTL is set and taken away by the last write", func(e *env) {
		ttl := func() time.Duration {
			_, ttl, err := e.GetItem(e.ctx, []string{"n"}, "k")
			require.NoError(e, err)
			return ttl
		}
		it := agent.Item{Namespace: []string{"n"}, Key: "k", Value: raw("{}"), UpdatedAt: now()}
		require.NoError(e, e.PutItem(e.ctx, it, 0))
		require.Zero(e, ttl())
		require.NoError(e, e.RefreshItem(e.ctx, []string{"n"}, "k"))
		require.Zero(e, ttl(), "an item without TTL gets none")
		require.NoError(e, e.PutItem(e.ctx, it, time.Hour))
		require.Equal(e, time.Hour, ttl())
		require.NoError(e, e.PutItem(e.ctx, it, 0))
		require.Zero(e, ttl())
	}},
	{"search by prefix is by whole labels", func(e *env) {
		e.put([]string{"a"}, "1", "{}")
		e.put([]string{"a", "b"}, "2", "{}")
		e.put([]string{"a", "b", "c"}, "3", "{}")
		e.put([]string{"ab"}, "4", "{}")
		e.put([]string{"a b"}, "5", "{}")
		require.Equal(e, []string{"1", "2", "3"}, e.itemKeys(thread.ItemQuery{Prefix: []string{"a"}}))
		require.Equal(e, []string{"2", "3"}, e.itemKeys(thread.ItemQuery{Prefix: []string{"a", "b"}}))
		require.Len(e, e.itemKeys(thread.ItemQuery{}), 5)
		require.Len(e, e.itemKeys(thread.ItemQuery{Limit: 2}), 2)
		require.Len(e, e.itemKeys(thread.ItemQuery{Limit: 4, Offset: 3}), 2)
	}},
	{"filters", func(e *env) {
		e.put([]string{"n"}, "one", `{"n":1,"s":"x","o":{"a":1},"l":[1,2]}`)
		e.put([]string{"n"}, "two", `{"n":2,"s":"y"}`)
		e.put([]string{"n"}, "none", `{}`)
		for filter, want := range map[string][]string{
			`{"n":1}`:                  {"one"},
			`{"s":"x"}`:                {"one"},
			`{"o":{"a":1}}`:            {"one"},
			`{"o":{}}`:                 {},
			`{"l":[1,2]}`:              {"one"},
			`{"l":[1]}`:                {},
			`{"n":{"$eq":2}}`:          {"two"},
			`{"n":{"$ne":2}}`:          {"none", "one"},
			`{"n":{"$gt":1}}`:          {"two"},
			`{"n":{"$gte":1,"$lt":2}}`: {"one"},
			`{"n":{"$lte":2}}`:         {"one", "two"},
			`{"s":{"$in":["x","z"]}}`:  {"one"},
			`{"s":{"$nin":["x","z"]}}`: {"none", "two"},
			`{"n":2,"s":"x"}`:          {},
			`{"s":{"$gt":0}}`:          {},
		} {
			var f map[string]json.RawMessage
			require.NoError(e, json.Unmarshal([]byte(filter), &f))
			require.Equal(e, want, e.itemKeys(thread.ItemQuery{Filter: f}), filter)
		}
	}},
	{"auth filters see value, namespace and key", func(e *env) {
		e.put([]string{"ann", "x"}, "1", `{"owner":"ann"}`)
		e.put([]string{"bob"}, "2", `{"owner":"bob"}`)
		for filter, want := range map[string][]string{
			`{"owner":"ann"}`:                   {"1"},
			`{"namespace":{"$contains":"bob"}}`: {"2"},
			`{"key":"1"}`:                       {"1"},
			`{"key":"1","owner":"bob"}`:         {},
		} {
			var f thread.Filter
			require.NoError(e, json.Unmarshal([]byte(filter), &f))
			require.Equal(e, want, e.itemKeys(thread.ItemQuery{Auth: f}), filter)
		}
		names, err := e.ItemNamespaces(e.ctx, thread.NamespaceQuery{Auth: thread.Filter{"owner": raw(`"ann"`)}})
		require.NoError(e, err)
		require.Equal(e, [][]string{{"ann", "x"}}, names)
	}},
	{"namespaces: sorted, each once, cut and matched", func(e *env) {
		for _, ns := range [][]string{{"b"}, {"a", "x", "1"}, {"a", "x", "2"}, {"a", "y", "1"}, {"a"}, {"a-", "x"}} {
			e.put(ns, "k", "{}")
			e.put(ns, "l", "{}")
		}
		for _, c := range []struct {
			q    thread.NamespaceQuery
			want [][]string
		}{
			{thread.NamespaceQuery{}, [][]string{{"a"}, {"a", "x", "1"}, {"a", "x", "2"}, {"a", "y", "1"}, {"a-", "x"}, {"b"}}},
			{thread.NamespaceQuery{MaxDepth: 2}, [][]string{{"a"}, {"a", "x"}, {"a", "y"}, {"a-", "x"}, {"b"}}},
			{thread.NamespaceQuery{Prefix: []string{"a", "x"}}, [][]string{{"a", "x", "1"}, {"a", "x", "2"}}},
			{thread.NamespaceQuery{Prefix: []string{"*", "x"}}, [][]string{{"a", "x", "1"}, {"a", "x", "2"}, {"a-", "x"}}},
			{thread.NamespaceQuery{Suffix: []string{"*", "1"}}, [][]string{{"a", "x", "1"}, {"a", "y", "1"}}},
			{thread.NamespaceQuery{Limit: 2, Offset: 1}, [][]string{{"a", "x", "1"}, {"a", "x", "2"}}},
		} {
			got, err := e.ItemNamespaces(e.ctx, c.q)
			require.NoError(e, err)
			require.Equal(e, c.want, got, "%+v", c.q)
		}
	}},
}
