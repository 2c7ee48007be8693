package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every Go snippet of the guides is a quotation of code that the tests compile and run.
func TestSnippetsOfTheGuidesAreCompiledCode(t *testing.T) {
	t.Parallel()
	for guide, examples := range map[string]string{
		"agents.md":            "../agent/react/example*_test.go",
		"writing-agents.md":    "../agent/example_*_test.go",
		"api.md":               "../server/example_*_test.go",
		"mcp.md":               "../server/mcptest/example_*_test.go",
		"models.md":            "../agent/model/providers/example_*_test.go",
		"human-in-the-loop.md": "../agent/hitl/*_test.go",
	} {
		files, err := filepath.Glob(examples)
		require.NoError(t, err)
		var code strings.Builder
		for _, f := range files {
			b, err := os.ReadFile(f)
			require.NoError(t, err)
			code.Write(b)
		}
		text, err := os.ReadFile(guide)
		require.NoError(t, err)
		blocks := strings.Split(string(text), "```go\n")[1:]
		require.NotEmpty(t, blocks, guide)
		for _, block := range blocks {
			snippet, _, closed := strings.Cut(block, "\n```\n")
			require.True(t, closed, "%s: a block without end: %s", guide, block)
			for _, declaration := range strings.Split(snippet, "\n\n") {
				require.Contains(t, code.String(), declaration, guide)
			}
		}
	}
}

// Links between the documents lead somewhere.
func TestLinksOfTheDocumentsExist(t *testing.T) {
	t.Parallel()
	documents, err := filepath.Glob("*.md")
	require.NoError(t, err)
	code := regexp.MustCompile("(?s)```.*?```|`[^`]*`")
	link := regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)
	for _, d := range append(documents, "../README.md", "../CONTRIBUTING.md") {
		text, err := os.ReadFile(d)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			if !strings.Contains(m[1], "://") {
				_, err := os.Stat(filepath.Join(filepath.Dir(d), m[1]))
				require.NoError(t, err, d)
			}
		}
	}
}
