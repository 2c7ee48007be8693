package redis

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	identifier   = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
	functionHead = regexp.MustCompile(`^local function ([A-Za-z_][A-Za-z0-9_]*)`)
)

// chunk is a function of a script, or (name "") what lies between two.
type chunk struct {
	name   string
	source string
	words  []string // its identifiers
}

// chunksOf takes a script apart. Functions begin and end at the start of a line; one that
// doesn't end is an error, or what stands behind it would share its fate.
func chunksOf(source string) (chunks []*chunk, err error) {
	open, begin, at := &chunk{}, 0, 0
	end := func() {
		open.source = source[begin:at]
		open.words = identifier.FindAllString(open.source, -1)
		slices.Sort(open.words)
		open.words = slices.Compact(open.words)
		chunks, open, begin = append(chunks, open), &chunk{}, at
	}
	for line := range strings.Lines(source) {
		head := functionHead.FindStringSubmatch(line)
		if head != nil {
			if open.name != "" {
				break
			}
			end()
			open.name = head[1]
		}
		at += len(line)
		one := head != nil && strings.HasSuffix(strings.TrimSpace(line), " end")
		if open.name != "" && (one || strings.TrimRight(line, "\n") == "end") {
			end()
		}
	}
	if open.name != "" {
		return nil, fmt.Errorf("function %s has no end at the start of a line", open.name)
	}
	end()
	return chunks, nil
}

// prune leaves out the functions that a script doesn't need: each time it runs, Lua makes
// all that there are, which takes longer than many a transition.
func prune(chunks []*chunk) string {
	used, kept := map[string]bool{}, map[*chunk]bool{}
	for again := true; again; {
		again = false
		for _, c := range chunks {
			if kept[c] || c.name != "" && !used[c.name] {
				continue
			}
			kept[c], again = true, true
			for _, word := range c.words {
				used[word] = true
			}
		}
	}
	return text(slices.DeleteFunc(slices.Clone(chunks), func(c *chunk) bool { return !kept[c] }))
}

func text(chunks []*chunk) string {
	var b strings.Builder
	for _, c := range chunks {
		b.WriteString(c.source)
	}
	return b.String()
}
