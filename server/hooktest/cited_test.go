package hooktest_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shownHere are the rows of spec/demand.md 2A-2F that a browser or an SDK shows.
// The others are Go tests' (server/demand_test.go).
var shownHere = []string{
	// 2A: streams that hang, drop or duplicate
	"D-01", "D-02", "D-08", "D-11", "D-12", "D-14", "D-16", "D-17",
	// 2B: interrupts lost, stale or shown twice
	"D-20", "D-21", "D-22", "D-23", "D-24", "D-25", "D-26", "D-27", "D-30",
	// 2C: resume
	"D-31", "D-32", "D-33", "D-35", "D-41", "D-42", "D-43", "D-44", "D-46", "D-47",
	// 2D: nested graphs and branches
	"D-50", "D-51", "D-53",
	// 2E, 2F: stop, connections
	"D-55", "D-56", "D-57", "D-66",
}

// musts is the number of rules in spec/streaming-protocol.md 6.
const musts = 58

var (
	// citedAbove is the comment above a test of a .mjs file.
	citedAbove = regexp.MustCompile(`(?m)((?:^ *//.*\n)+) *(?:for \(.*\n *)?test\(`)
	comment    = regexp.MustCompile(`(?m)//.*$`)
	rule       = regexp.MustCompile(`\b[DM]-[0-9]{1,3}\b`)
)

// A rule loses its test silently when the test is renamed or removed: this finds it out.
func TestEveryRuleHasItsTest(t *testing.T) {
	t.Parallel()
	inPages, inGo := map[string]bool{}, map[string]bool{}
	add := func(to map[string]bool, text string) {
		for _, r := range rule.FindAllString(text, -1) {
			to[r] = true
		}
	}
	pages, err := filepath.Glob("test/*.test.mjs")
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, above := range citedAbove.FindAllStringSubmatch(string(text), -1) {
			add(inPages, above[1])
		}
	}
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".."):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go") || d.Name() == "cited_test.go":
			return nil
		}
		text, err := os.ReadFile(path)
		for _, c := range comment.FindAllString(string(text), -1) {
			add(inGo, c)
		}
		return err
	}))
	for n := 1; n <= musts; n++ {
		name := fmt.Sprintf("M-%d", n)
		require.True(t, inPages[name] || inGo[name], "no test cites %s", name)
	}
	for _, row := range shownHere {
		require.True(t, inPages[row], "no test of a page or an SDK cites %s", row)
	}
}
