package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Bounds of the numbers that Checker looks at. It reckons with them exactly, which takes time and memory that grow faster
// than their digits, and without end with an exponent: 1e999999 is short.
const (
	longestNumber   = 1000 // in characters
	largestExponent = 1000
)

// unreckonable lists the numbers in a decoded value that are beyond the bounds.
func unreckonable(v any) []Issue {
	var issues []Issue
	var walk func(v any, at []string)
	walk = func(v any, at []string) {
		switch v := v.(type) {
		case json.Number:
			if text := beyond(v.String()); text != "" {
				issues = append(issues, Issue{Path: jsonPointer(at), Message: text})
			}
		case []any:
			for i, e := range v {
				walk(e, append(at, strconv.Itoa(i)))
			}
		case map[string]any:
			keys := make([]string, 0, len(v))
			for k := range v {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			for _, k := range keys {
				walk(v[k], append(at, k))
			}
		}
	}
	walk(v, nil)
	return issues
}

// beyond says what is wrong with a number; "" for nothing.
func beyond(number string) string {
	if len(number) > longestNumber {
		return fmt.Sprintf("a number of %d characters; at most %d are taken", len(number), longestNumber)
	}
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		if e, err := strconv.Atoi(number[i+1:]); err != nil || e > largestExponent || e < -largestExponent {
			return fmt.Sprintf("a number with the exponent %s; %d is the largest that is taken", number[i+1:], largestExponent)
		}
	}
	return ""
}
