package reviews

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The log refuses actions that it doesn't know; it must know all that package thread writes.
func TestTheAuditLogCanBeAskedForEveryAction(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "thread", "storeaudit.go"), nil, 0)
	require.NoError(t, err)
	var written []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Audit") || len(spec.Values) != 1 {
			return true
		}
		if value, ok := spec.Values[0].(*ast.BasicLit); ok && value.Kind == token.STRING {
			text, err := strconv.Unquote(value.Value)
			require.NoError(t, err)
			written = append(written, text)
		}
		return true
	})
	require.NotEmpty(t, written)
	require.ElementsMatch(t, written, auditActions)
}
