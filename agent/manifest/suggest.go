package manifest

import (
	"fmt"
	"slices"
	"strings"
)

// shownNames bounds how many names a message lists.
const shownNames = 20

// suggestion is what to say of a name that isn't known: the likely one, and those there are.
func suggestion(name string, known []string) string {
	known = slices.Clone(known)
	slices.Sort(known)
	text := ""
	if near := nearest(name, known); near != "" {
		text = fmt.Sprintf("; did you mean %q?", near)
	} else if len(known) > 0 {
		text = "."
	}
	switch {
	case len(known) == 0:
		return "; there is none"
	case len(known) > shownNames:
		return text + " Known: " + strings.Join(known[:shownNames], ", ") + ", …"
	}
	return text + " Known: " + strings.Join(known, ", ")
}

// nearest is the name that was probably meant; "" if none is near.
func nearest(name string, known []string) string {
	best, least := "", (len(name)+1)/3+1
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance counts the letters to add, drop, change or swap with their neighbour.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(row[j-1]+1, last[j]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}
