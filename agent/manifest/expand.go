package manifest

import (
	"regexp"
	"strings"
)

// reference is ${NAME}, ${NAME:-default} or $$.
var reference = regexp.MustCompile(`\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}|\$\{[^}]*\}?`)

// expand fills in the environment variables of a text. problems says what is
// wrong with its references: a variable that isn't set, braces without a name.
func expand(text string, lookup func(string) (string, bool)) (full string, problems []string) {
	full = reference.ReplaceAllStringFunc(text, func(ref string) string {
		if ref == "$$" {
			return "$"
		}
		m := reference.FindStringSubmatch(ref)
		name := m[1]
		if name == "" {
			problems = append(problems, ref+" is no variable; write ${NAME}, ${NAME:-default}, or $$ for a $")
			return ref
		}
		if v, ok := lookup(name); ok && (v != "" || m[2] == "") {
			return v
		}
		if m[2] != "" {
			return m[3]
		}
		problems = append(problems, "the environment variable "+name+" isn't set; set it, or write ${"+name+":-default}")
		return ref
	})
	return full, problems
}

// hasVariable reports whether a text refers to the environment.
func hasVariable(text string) bool {
	return strings.Contains(text, "${")
}
