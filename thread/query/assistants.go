package query

import (
	"strings"

	"github.com/parley-dev/parley/thread"
)

// AssistantMatches reports whether an assistant is one that a search looks for.
func AssistantMatches(q thread.AssistantQuery, a thread.Assistant) bool {
	if q.GraphID != "" && q.GraphID != a.GraphID {
		return false
	}
	if q.Name != "" && !strings.Contains(strings.ToLower(a.Name), strings.ToLower(q.Name)) {
		return false
	}
	return a.Metadata.Contains(q.Metadata) && q.Filter.Matches(a.Metadata)
}

// SortAssistants sorts stably by a column of searches; created_at is the default.
func SortAssistants(list []thread.Assistant, by string, asc bool) {
	compare := func(a, b thread.Assistant) int { return a.CreatedAt.Compare(b.CreatedAt) }
	switch by {
	case "assistant_id":
		compare = func(a, b thread.Assistant) int { return strings.Compare(a.ID, b.ID) }
	case "graph_id":
		compare = func(a, b thread.Assistant) int { return strings.Compare(a.GraphID, b.GraphID) }
	case "name":
		compare = func(a, b thread.Assistant) int { return strings.Compare(a.Name, b.Name) }
	case "updated_at":
		compare = func(a, b thread.Assistant) int { return a.UpdatedAt.Compare(b.UpdatedAt) }
	}
	sortBy(list, compare, asc)
}
