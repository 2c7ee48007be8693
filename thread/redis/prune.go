package redis

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	identifier   = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
	functionHead = regexp.MustCompile(`^local function ([A-Za-z_][A-Za-z0-9_]*)`)
)

// chunk is a function of a script, or (name "") what lies between two.
type chunk struct {
	name  string
	lines []string
}

// prune leaves out the functions that a script doesn't need: each time it runs, Lua makes
// all that there are, which takes longer than many a transition. Functions begin and end at
// the start of a line; one that doesn't end is an error, or it would take others with it.
func prune(source string) (string, error) {
	var chunks []*chunk
	open := &chunk{}
	for line := range strings.Lines(source) {
		head := functionHead.FindStringSubmatch(line)
		if head != nil {
			if open.name != "" {
				return "", fmt.Errorf("function %s has no end at the start of a line", open.name)
			}
			chunks = append(chunks, open)
			open = &chunk{name: head[1]}
		}
		open.lines = append(open.lines, line)
		one := head != nil && strings.HasSuffix(strings.TrimSpace(line), " end")
		if open.name != "" && (one || strings.TrimRight(line, "\n") == "end") {
			chunks = append(chunks, open)
			open = &chunk{}
		}
	}
	if open.name != "" {
		return "", fmt.Errorf("function %s has no end at the start of a line", open.name)
	}
	chunks = append(chunks, open)
	used := map[string]bool{}
	kept := map[*chunk]bool{}
	for again := true; again; {
		again = false
		for _, c := range chunks {
			if kept[c] || c.name != "" && !used[c.name] {
				continue
			}
			kept[c], again = true, true
			for _, line := range c.lines {
				for _, name := range identifier.FindAllString(line, -1) {
					used[name] = true
				}
			}
		}
	}
	var b strings.Builder
	for _, c := range chunks {
		if !kept[c] {
			continue
		}
		for _, line := range c.lines {
			b.WriteString(line)
		}
	}
	return b.String(), nil
}
