package server_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Imports go one way (decisions 16). D-100: so the log of events knows no dialect: an adapter for another one is a
// package of its own.
func TestImportsGoOneWay(t *testing.T) {
	t.Parallel()
	const module = "github.com/parley-dev/parley/"
	order := []string{"agent", "thread", "stream", "server", "cmd"}
	checked := 0
	for i, layer := range order {
		err := filepath.WalkDir(filepath.Join("..", layer), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules") {
				if err == nil {
					err = filepath.SkipDir
				}
				return err
			}
			if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			checked++
			for _, spec := range file.Imports {
				name, err := strconv.Unquote(spec.Path.Value)
				require.NoError(t, err)
				for _, right := range order[i+1:] {
					require.False(t, strings.HasPrefix(name+"/", module+right+"/"), "%s imports %s", path, name)
				}
			}
			return nil
		})
		require.NoError(t, err)
	}
	require.Greater(t, checked, 300)
}
