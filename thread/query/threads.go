package query

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/parley-dev/parley/thread"
)

// statusOrder is how statuses sort.
var statusOrder = []thread.Status{thread.Idle, thread.Busy, thread.Interrupted, thread.Failed}

// SortThreads sorts by a column of searches, created_at is the default; where that
// is equal by creation, then by id.
func SortThreads(list []thread.Thread, by string, asc bool) {
	compare := func(a, b thread.Thread) int { return a.CreatedAt.Compare(b.CreatedAt) }
	switch by {
	case "thread_id":
		compare = func(a, b thread.Thread) int { return strings.Compare(a.ID, b.ID) }
	case "status":
		compare = func(a, b thread.Thread) int {
			return slices.Index(statusOrder, a.Status) - slices.Index(statusOrder, b.Status)
		}
	case "updated_at":
		compare = func(a, b thread.Thread) int { return a.UpdatedAt.Compare(b.UpdatedAt) }
	case "state_updated_at":
		compare = func(a, b thread.Thread) int { return a.StateUpdatedAt.Compare(b.StateUpdatedAt) }
	}
	sortBy(list, func(a, b thread.Thread) int {
		return cmp.Or(compare(a, b), a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID))
	}, asc)
}

// FilterValue is the value that an auth filter wants to be equal; nil for other operators.
func FilterValue(v json.RawMessage) json.RawMessage {
	var ops map[string]json.RawMessage
	if json.Unmarshal(v, &ops) != nil {
		return v
	}
	if len(ops) == 1 {
		return ops["$eq"]
	}
	return nil
}
