package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
)

// newAssistant stores an assistant.
func (e *env) newAssistant(change ...func(*thread.Assistant)) thread.Assistant {
	e.Helper()
	a := thread.Assistant{ID: newID(), GraphID: "g", Name: "Untitled", Version: 1, Config: raw("{}"), Context: raw("{}"),
		Metadata: thread.Metadata{}, CreatedAt: now(), UpdatedAt: now()}
	for _, f := range change {
		f(&a)
	}
	require.NoError(e, e.CreateAssistant(e.ctx, a))
	return a
}

func assistantIDs(list []thread.Assistant) (ids []string) {
	for _, a := range list {
		ids = append(ids, a.ID)
	}
	return ids
}

// sameAssistant compares all but the form of times.
func (e *env) sameAssistant(want, got thread.Assistant) {
	e.Helper()
	require.True(e, want.CreatedAt.Equal(got.CreatedAt))
	require.True(e, want.UpdatedAt.Equal(got.UpdatedAt))
	got.CreatedAt, got.UpdatedAt = want.CreatedAt, want.UpdatedAt
	require.Equal(e, want, got)
}

var assistantCases = []testCase{
	{"an assistant reads back as it was stored", func(e *env) {
		text := "what it is"
		a := e.newAssistant(func(a *thread.Assistant) {
			a.Description = &text
			a.Config = raw(`{"configurable":{"k":1}}`)
			a.Context = raw(`[1]`)
			a.Metadata = thread.Metadata{"m": raw("1")}
		})
		got, err := e.GetAssistant(e.ctx, a.ID)
		require.NoError(e, err)
		e.sameAssistant(a, got)
		require.ErrorIs(e, e.CreateAssistant(e.ctx, a), thread.ErrExists)
		_, err = e.GetAssistant(e.ctx, newID())
		require.ErrorIs(e, err, thread.ErrNotFound)
	}},
	{"each patch is a version, and an old one can be made current", func(e *env) {
		a := e.newAssistant()
		for i, name := range []string{"two", "three"} {
			got, err := e.PatchAssistant(e.ctx, a.ID, func(a *thread.Assistant) {
				a.Name, a.UpdatedAt = name, now().Add(time.Second)
				a.Metadata["n"] = raw("%d", i)
			})
			require.NoError(e, err)
			require.Equal(e, i+2, got.Version)
			require.Equal(e, name, got.Name)
			require.True(e, got.UpdatedAt.After(a.UpdatedAt))
		}
		versions := func(m thread.Metadata, limit, offset int) (list []int) {
			all, err := e.AssistantVersions(e.ctx, a.ID, m, limit, offset)
			require.NoError(e, err)
			for _, v := range all {
				list = append(list, v.Version)
			}
			return list
		}
		require.Equal(e, []int{3, 2, 1}, versions(nil, 0, 0))
		require.Equal(e, []int{2}, versions(nil, 1, 1))
		require.Equal(e, []int{2}, versions(thread.Metadata{"n": raw("0")}, 10, 0))
		got, err := e.SetAssistantVersion(e.ctx, a.ID, 1, now())
		require.NoError(e, err)
		require.Equal(e, "Untitled", got.Name)
		require.Equal(e, 1, got.Version)
		_, err = e.SetAssistantVersion(e.ctx, a.ID, 9, now())
		require.ErrorIs(e, err, thread.ErrNotFound)
		got, err = e.PatchAssistant(e.ctx, a.ID, func(a *thread.Assistant) { a.GraphID = "h" })
		require.NoError(e, err)
		require.Equal(e, 4, got.Version, "highest + 1")
		require.Equal(e, "Untitled", got.Name)
		_, err = e.PatchAssistant(e.ctx, newID(), func(*thread.Assistant) {})
		require.ErrorIs(e, err, thread.ErrNotFound)
		_, err = e.SetAssistantVersion(e.ctx, newID(), 1, now())
		require.ErrorIs(e, err, thread.ErrNotFound)
	}},
	{"a deleted assistant is gone with its versions", func(e *env) {
		a := e.newAssistant()
		require.NoError(e, e.DeleteAssistant(e.ctx, a.ID))
		require.ErrorIs(e, e.DeleteAssistant(e.ctx, a.ID), thread.ErrNotFound)
		list, err := e.AssistantVersions(e.ctx, a.ID, nil, 10, 0)
		require.NoError(e, err)
		require.Empty(e, list)
		require.NoError(e, e.CreateAssistant(e.ctx, a))
	}},
	{"search", func(e *env) {
		base := now()
		var ids []string
		for i, name := range []string{"Beta", "alpha", "Gamma"} {
			ids = append(ids, e.newAssistant(func(a *thread.Assistant) {
				a.Name = name
				a.GraphID = []string{"g", "h", "g"}[i]
				a.CreatedAt = base.Add(time.Duration(i) * time.Second)
				a.Metadata = thread.Metadata{"i": raw("%d", i), "owner": raw(`"ann"`)}
			}).ID)
		}
		_, err := e.PatchAssistant(e.ctx, ids[0], func(a *thread.Assistant) { a.UpdatedAt = base.Add(time.Hour) })
		require.NoError(e, err)
		for _, c := range []struct {
			q    thread.AssistantQuery
			want []string
		}{
			{thread.AssistantQuery{}, []string{ids[2], ids[1], ids[0]}},
			{thread.AssistantQuery{SortAsc: true}, ids},
			{thread.AssistantQuery{GraphID: "g"}, []string{ids[2], ids[0]}},
			{thread.AssistantQuery{Name: "ALPHA"}, []string{ids[1]}},
			{thread.AssistantQuery{Name: "a", SortBy: "name", SortAsc: true}, []string{ids[0], ids[2], ids[1]}},
			{thread.AssistantQuery{Metadata: thread.Metadata{"i": raw("1")}}, []string{ids[1]}},
			{thread.AssistantQuery{Filter: thread.Filter{"owner": raw(`"bob"`)}}, nil},
			{thread.AssistantQuery{SortBy: "updated_at"}, []string{ids[0]}},
			{thread.AssistantQuery{SortBy: "assistant_id"}, reversed(sorted(ids))},
			{thread.AssistantQuery{SortBy: "graph_id"}, []string{ids[1]}},
		} {
			list, total, err := e.SearchAssistants(e.ctx, c.q)
			require.NoError(e, err)
			require.Len(e, list, total)
			require.Equal(e, c.want, assistantIDs(list)[:len(c.want)], "%+v", c.q)
		}
		list, total, err := e.SearchAssistants(e.ctx, thread.AssistantQuery{Limit: 1, Offset: 1})
		require.NoError(e, err)
		require.Equal(e, 3, total)
		require.Equal(e, []string{ids[1]}, assistantIDs(list))
	}},
}
