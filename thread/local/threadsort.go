package local

import (
	"sort"
	"strings"

	"github.com/parley-dev/parley/thread"
)

// sortThreads sorts as the search does in SQL.
func sortThreads(list []thread.Thread, by string, asc bool) {
	compare := func(a, b thread.Thread) int { return a.CreatedAt.Compare(b.CreatedAt) }
	switch by {
	case "thread_id":
		compare = func(a, b thread.Thread) int { return strings.Compare(a.ID, b.ID) }
	case "status":
		compare = func(a, b thread.Thread) int { return int(statusCode(a.Status) - statusCode(b.Status)) }
	case "updated_at":
		compare = func(a, b thread.Thread) int { return a.UpdatedAt.Compare(b.UpdatedAt) }
	case "state_updated_at":
		compare = func(a, b thread.Thread) int { return a.StateUpdatedAt.Compare(b.StateUpdatedAt) }
	}
	sort.SliceStable(list, func(i, j int) bool {
		c := compare(list[i], list[j])
		if asc {
			return c < 0
		}
		return c > 0
	})
}
