package storetest

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/thread"
)

// searchModel compares searches with a plain list of threads, whatever was
// created, patched and deleted before.
func searchModel(e *env) {
	base := now()
	var all []thread.Thread // oldest first
	keys, values := []string{"a", "b", "c"}, []string{"1", `"x"`, `"y"`, `{"z":1}`, "null", "[1,2]"}
	rapid.Check(e.T, func(t *rapid.T) {
		metadata := func(label string) thread.Metadata {
			m := thread.Metadata{}
			for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, 2, rapid.ID[string]).Draw(t, label) {
				m[k] = raw("%s", rapid.SampledFrom(values).Draw(t, k))
			}
			return m
		}
		pick := func() int { return rapid.IntRange(0, len(all)-1).Draw(t, "which") }
		t.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) {
				th := thread.Thread{ID: newID(), CreatedAt: base.Add(time.Duration(len(all)) * time.Millisecond), Metadata: metadata("new")}
				if len(all) > 0 {
					th.CreatedAt = all[len(all)-1].CreatedAt.Add(time.Millisecond)
				}
				require.NoError(t, e.CreateThread(e.ctx, th))
				all = append(all, th)
			},
			"patch": func(t *rapid.T) {
				if len(all) == 0 {
					t.Skip()
				}
				i, m := pick(), metadata("patch")
				got, err := e.PatchThread(e.ctx, all[i].ID, thread.ThreadPatch{Metadata: m})
				require.NoError(t, err)
				merged := with(all[i].Metadata, "a", nil)
				delete(merged, "a")
				for k, v := range all[i].Metadata {
					merged[k] = v
				}
				for k, v := range m {
					merged[k] = v
				}
				require.Equal(t, merged, got.Metadata)
				all[i].Metadata = merged
			},
			"delete": func(t *rapid.T) {
				if len(all) == 0 {
					t.Skip()
				}
				i := pick()
				require.NoError(t, e.DeleteThread(e.ctx, all[i].ID))
				all = slices.Delete(all, i, i+1)
			},
			"search": func(t *rapid.T) {
				q := thread.ThreadQuery{
					Metadata: metadata("filter"), SortAsc: rapid.Bool().Draw(t, "asc"),
					Limit: rapid.IntRange(0, 5).Draw(t, "limit"), Offset: rapid.IntRange(0, 6).Draw(t, "offset"),
				}
				var want []string
				for _, th := range all {
					if th.Metadata.Contains(q.Metadata) {
						want = append(want, th.ID)
					}
				}
				total := len(want)
				if !q.SortAsc {
					slices.Reverse(want)
				}
				want = want[min(q.Offset, total):]
				if q.Limit > 0 {
					want = want[:min(q.Limit, len(want))]
				}
				list, n, err := e.SearchThreads(e.ctx, q)
				require.NoError(t, err)
				require.Equal(t, total, n)
				require.Equal(t, append([]string{}, want...), append([]string{}, threadIDs(list)...), "%s asc %v limit %d offset %d of %d", q.Metadata, q.SortAsc, q.Limit, q.Offset, total)
			},
		})
	})
}
