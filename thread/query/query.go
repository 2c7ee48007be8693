// Package query is the part of searches that every store does in memory: what
// matches, in which order, and which page of it.
package query

import "sort"

// Page cuts a list; a limit of 0 or less gives all behind offset.
func Page[T any](list []T, limit, offset int) []T {
	list = list[min(max(offset, 0), len(list)):]
	if limit > 0 && limit < len(list) {
		list = list[:limit]
	}
	return list
}

// sortBy sorts stably, rising or falling.
func sortBy[T any](list []T, compare func(a, b T) int, asc bool) {
	sort.SliceStable(list, func(i, j int) bool {
		c := compare(list[i], list[j])
		if asc {
			return c < 0
		}
		return c > 0
	})
}
