package mcp

import (
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/tool"
)

// NeedsReview reports whether a person should decide on calls of a tool, as far as
// its annotations say: a tool that isn't read-only does, unless it says of itself that
// it destroys nothing.
func NeedsReview(t tool.Tool) bool {
	a := tool.AnnotationsOf(t)
	return !a.ReadOnly && (a.Destructive == nil || *a.Destructive)
}

// DefaultPolicy reviews the tools that need it (NeedsReview), with all decisions.
// What a server says of its tools is a default, no protection: IgnoreAnnotations has
// all tools of a server reviewed, and rules of the agent's own come on top.
func DefaultPolicy(tools ...tool.Tool) hitl.Policy {
	policy := hitl.Policy{}
	for _, t := range tools {
		if NeedsReview(t) {
			policy[t.Definition().Name] = hitl.Rule{Decisions: hitl.All()}
		}
	}
	return policy
}
