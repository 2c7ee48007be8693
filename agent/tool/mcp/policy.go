package mcp

import "github.com/parley-dev/parley/agent/tool"

// NeedsReview reports whether a person should decide on calls of a tool, as far as
// its annotations say: a tool that isn't read-only does, unless it says of itself that
// it destroys nothing.
func NeedsReview(t tool.Tool) bool {
	a := tool.AnnotationsOf(t)
	return !a.ReadOnly && (a.Destructive == nil || *a.Destructive)
}

// ToReview are the names, as the model sees them, of the tools that need a review
// (NeedsReview).
func ToReview(tools ...tool.Tool) []string {
	var names []string
	for _, t := range tools {
		if NeedsReview(t) {
			names = append(names, t.Definition().Name)
		}
	}
	return names
}
