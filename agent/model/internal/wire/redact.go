package wire

import (
	"regexp"
	"strings"
	"sync"
)

// redactor hides secrets in texts that come from a provider, which may quote what it got.
type redactor struct{ known *strings.Replacer }

// shortest is the length from which a header's value counts as a secret: shorter
// ones are words like "true".
const shortest = 6

func newRedactor(secrets []string) *redactor {
	var pairs []string
	for _, s := range secrets {
		if len(s) >= shortest {
			pairs = append(pairs, s, "[hidden]")
		}
	}
	return &redactor{strings.NewReplacer(pairs...)}
}

// keyLike finds what looks like a key, also a part of one: providers quote
// "sk-abcd********wxyz".
var keyLike = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:sk|pk|rk)-[A-Za-z0-9_*.-]{6,}|\bAIza[A-Za-z0-9_-]{20,}|\bBearer\s+\S+|[A-Za-z0-9_-]*\*{4,}[A-Za-z0-9_-]*`)
})

func (r *redactor) in(text string) string {
	return keyLike().ReplaceAllLiteralString(r.known.Replace(text), "[hidden]")
}
