package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/parley-dev/parley/"

// layers are the borders of the architecture: each may import those before it.
var layers = []string{"agent", "thread", "stream", "server", "cmd"}

// adapters are the parts of the runtime's layer that speak with the outside: models and tools.
var adapters = []string{"agent/model", "agent/tool/mcp", "agent/tool/request"}

// isAdapter reports whether a package is one of adapters, or lies in it.
func isAdapter(path string) bool {
	for _, a := range adapters {
		if path == module+a || strings.HasPrefix(path, module+a+"/") {
			return true
		}
	}
	return false
}

// TestImportsPointOneWay: agent ← thread ← stream ← server ← cmd.
func TestImportsPointOneWay(t *testing.T) {
	t.Parallel()
	list := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	list.Dir = filepath.Join("..", "..")
	out, err := list.Output()
	require.NoError(t, err)
	rank := func(path string) int {
		top, _, _ := strings.Cut(strings.TrimPrefix(path, module), "/")
		for i, l := range layers {
			if top == l && strings.HasPrefix(path, module) {
				return i
			}
		}
		return -1
	}
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p struct {
			ImportPath string
			Imports    []string
		}
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		layer := rank(p.ImportPath)
		for _, imported := range p.Imports {
			if layer >= 0 {
				require.LessOrEqual(t, rank(imported), layer, "%s imports %s", p.ImportPath, imported)
			}
			if layer == 0 && !isAdapter(p.ImportPath) {
				require.NotContains(t, []string{"net/http", "database/sql"}, imported,
					"%s: the runtime knows no HTTP and no storage", p.ImportPath)
			}
		}
	}
}

// TestFilesHaveOneSubject: no file over 600 lines, no name that says nothing.
func TestFilesHaveOneSubject(t *testing.T) {
	t.Parallel()
	vague := regexp.MustCompile(`(?i)(^|/)(utils?|helpers?|common|misc|base|manager)(/|\.go$)`)
	root := filepath.Join("..", "..")
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, root))
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == ".venv" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		require.False(t, vague.MatchString(name), name)
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		lines := 0
		for s := bufio.NewScanner(f); s.Scan(); {
			lines++
		}
		require.LessOrEqual(t, lines, 600, name)
		return nil
	}))
}
