package server

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEachDialectHasItsName(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/threads/t/commands":                      "v2",
		"/threads/t/stream/events":                 "v2",
		"/threads/t/runs/stream":                   "classic",
		"/runs/wait":                               "classic",
		"/mcp":                                     "mcp",
		"/api/v1/projects/p/executions/e/resume":   "executions",
		"/api/v1/projects/p/workspaces/w/invoke":   "executions",
		"/api/v1/projects/p/reviews/r/decide":      "reviews",
		"/api/v1/projects/p/sessions/reviews/runs": "executions",
		"/api/v1/projects/p/sessions/keys/runs":    "executions",
		"/api/v1/projects/p/keys":                  "keys",
		"/api/v1/projects/p/keys/k":                "keys",
		"/api/v1/projects/p/audit":                 "audit",
		"/api/v1/projects":                         "executions",
	} {
		require.Equal(t, want, dialect(path), path)
	}
}
