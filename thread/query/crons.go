package query

import (
	"strings"

	"github.com/parley-dev/parley/thread"
)

// CronMatches reports whether a cron is one that a search looks for.
func CronMatches(q thread.CronQuery, c thread.Cron) bool {
	switch {
	case q.AssistantID != "" && q.AssistantID != c.AssistantID,
		q.ThreadID != "" && q.ThreadID != c.ThreadID,
		q.Enabled != nil && *q.Enabled != c.Enabled,
		!q.DueBefore.IsZero() && (c.NextRun.IsZero() || c.NextRun.After(q.DueBefore)):
		return false
	}
	return c.Metadata.Contains(q.Metadata)
}

// SortCrons sorts stably by a column of searches; created_at is the default.
func SortCrons(list []thread.Cron, by string, asc bool) {
	compare := func(a, b thread.Cron) int { return a.CreatedAt.Compare(b.CreatedAt) }
	switch by {
	case "cron_id":
		compare = func(a, b thread.Cron) int { return strings.Compare(a.ID, b.ID) }
	case "assistant_id":
		compare = func(a, b thread.Cron) int { return strings.Compare(a.AssistantID, b.AssistantID) }
	case "thread_id":
		compare = func(a, b thread.Cron) int { return strings.Compare(a.ThreadID, b.ThreadID) }
	case "next_run_date":
		compare = func(a, b thread.Cron) int { return a.NextRun.Compare(b.NextRun) }
	case "end_time":
		compare = func(a, b thread.Cron) int { return a.EndTime.Compare(b.EndTime) }
	case "updated_at":
		compare = func(a, b thread.Cron) int { return a.UpdatedAt.Compare(b.UpdatedAt) }
	}
	sortBy(list, compare, asc)
}
