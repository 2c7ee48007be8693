package mcptest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/manifest"
)

// The guide's YAML is a file that Parley takes.
func TestTheGuidesYAMLIsSound(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/mcp.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(guide), "```yaml\n")
	require.True(t, found)
	text, _, _ := strings.Cut(rest, "```")
	file := filepath.Join(t.TempDir(), "agents.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	_, err = manifest.Read(file, manifest.Options{Lookup: func(name string) (string, bool) { return "x", name == "WIKI_TOKEN" }})
	require.NoError(t, err)
}
