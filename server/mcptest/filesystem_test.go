package mcptest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/tool"
	"github.com/parley-dev/parley/agent/tool/mcp"
)

func TestServerFilesystem(t *testing.T) {
	js := program(t, "server-filesystem/dist/index.js")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello"), 0o600))
	s := connect(t, mcp.ServerConfig{Name: "files", Command: "node", Args: []string{js, "."}, Dir: dir})

	m, _ := call(t, s, "files_read_text_file", `{"path":"`+filepath.Join(dir, "a.txt")+`"}`)
	require.Equal(t, []string{"success", "hello"}, []string{m.Status, m.Text()})

	m, _ = call(t, s, "files_write_file", `{"path":"`+filepath.Join(dir, "b.txt")+`","content":"new"}`)
	require.Equal(t, "success", m.Status)
	written, err := os.ReadFile(filepath.Join(dir, "b.txt"))
	require.NoError(t, err)
	require.Equal(t, "new", string(written))

	m, _ = call(t, s, "files_read_text_file", `{"path":"/etc/passwd"}`)
	require.Equal(t, "error", m.Status)
	require.Contains(t, m.Text(), "Access denied")

	review := mcp.DefaultPolicy(s.Tools()...)
	require.Contains(t, review, "files_write_file")
	require.Contains(t, review, "files_edit_file")
	require.NotContains(t, review, "files_read_text_file")
	require.NotContains(t, review, "files_list_directory")

	for _, found := range s.Tools() {
		if found.Definition().Name == "files_read_text_file" {
			require.True(t, tool.AnnotationsOf(found).ReadOnly)
		}
	}
}

func TestServerFilesystemWithoutItsFolderSaysWhy(t *testing.T) {
	js := program(t, "server-filesystem/dist/index.js")
	_, err := mcp.Connect(t.Context(), mcp.ServerConfig{Name: "files", Command: "node", Args: []string{js, "/no/such/folder"}})
	require.ErrorContains(t, err, `server "files" is down`)
	require.ErrorContains(t, err, "/no/such/folder")
}
