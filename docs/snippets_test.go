package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every Go snippet of the guide is a quotation of code that the tests compile and run.
func TestSnippetsOfTheGuideAreCompiledCode(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../agent/example_*_test.go")
	require.NoError(t, err)
	var code strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		code.Write(b)
	}
	guide, err := os.ReadFile("writing-agents.md")
	require.NoError(t, err)
	blocks := strings.Split(string(guide), "```go\n")[1:]
	require.Greater(t, len(blocks), 5)
	for _, block := range blocks {
		snippet, _, closed := strings.Cut(block, "\n```\n")
		require.True(t, closed, "a block without end: %s", block)
		for _, declaration := range strings.Split(snippet, "\n\n") {
			require.Contains(t, code.String(), declaration)
		}
	}
}
