package server_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// demandRows are the rows of spec/demand.md that this build answers for in Go; what
// needs a browser is listed in hooktest. Each is cited (// D-nn) by a test that
// asserts it; see TestEveryDemandRowHasItsTest.
var demandRows = []string{
	// 2A: streams that hang, drop or duplicate
	"D-01", "D-02", "D-03", "D-04", "D-05", "D-06", "D-07", "D-08", "D-09", "D-10",
	"D-11", "D-12", "D-13", "D-14", "D-15", "D-16", "D-17",
	// 2B: interrupts lost, stale or shown twice
	"D-20", "D-21", "D-22", "D-23", "D-24", "D-25", "D-26", "D-28", "D-29", "D-30",
	// 2C: resume
	"D-31", "D-32", "D-33", "D-34", "D-35", "D-36", "D-37", "D-38", "D-39", "D-40", "D-41", "D-42", "D-43", "D-44", "D-45", "D-46", "D-47",
	// 2D: nested graphs and branches
	"D-50", "D-51", "D-52", "D-53",
	// 2E: cancel and stop
	"D-55", "D-56", "D-57", "D-58", "D-59",
	// 2F: proxies, heartbeats, HTTP
	"D-61", "D-62", "D-63", "D-64", "D-65", "D-66", "D-67",
	// 2G: auth and CORS
	"D-70", "D-71", "D-72", "D-73", "D-74", "D-75",
	// 2H: stores
	"D-80", "D-81", "D-82", "D-83", "D-84", "D-85", "D-86", "D-87", "D-88", "D-89", "D-90", "D-91",
	// 2I: reviews
	"D-95", "D-96", "D-97", "D-98", "D-99", "D-100", "D-101", "D-102", "D-103", "D-104", "D-105", "D-106", "D-107", "D-108", "D-109",
}

// A row loses its test silently when the test is renamed, moved or removed: this
// finds it out. A citation counts when it stands above or in a test function.
func TestEveryDemandRowHasItsTest(t *testing.T) {
	t.Parallel()
	cited := map[string][]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || d.Name() != ".." && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		return citations(path, cited)
	})
	require.NoError(t, err)
	for _, row := range demandRows {
		require.NotEmpty(t, cited[row], "no test cites %s", row)
	}
	for row, tests := range cited {
		require.True(t, isRow(row), "%v cite %s, which there is none of", tests, row)
	}
	require.True(t, slices.IsSortedFunc(demandRows, func(a, b string) int { return number(a) - number(b) }))
}

func number(row string) int {
	n, err := strconv.Atoi(row[2:])
	if err != nil { // the pattern holds digits alone
		panic(err)
	}
	return n
}

// isRow reports whether spec/demand.md has a row of that id.
func isRow(row string) bool {
	n := number(row)
	for _, span := range [][2]int{{1, 17}, {20, 47}, {50, 53}, {55, 67}, {70, 75}, {80, 91}, {95, 109}} {
		if n >= span[0] && n <= span[1] {
			return true
		}
	}
	return false
}

var citation = regexp.MustCompile(`\bD-[0-9]{2,3}\b`)

// citations adds the rows that the tests of a file cite.
func citations(path string, cited map[string][]string) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") && !strings.HasPrefix(f.Name.Name, "Fuzz") {
			continue
		}
		from, to := f.Pos(), f.End()
		if f.Doc != nil {
			from = f.Doc.Pos()
		}
		for _, group := range file.Comments {
			if group.Pos() < from || group.Pos() >= to {
				continue
			}
			for _, row := range citation.FindAllString(group.Text(), -1) {
				cited[row] = append(cited[row], path+" "+f.Name.Name)
			}
		}
	}
	return nil
}
