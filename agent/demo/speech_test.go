package demo

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWordsJoinToTheirText(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"one ", "two  ", "three"}, words("one two  three"))
	require.Equal(t, []string{" ", "a\n", "b "}, words(" a\nb "))
	require.Empty(t, words(""))
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		parts := words(text)
		require.Equal(t, text, strings.Join(parts, ""))
		for _, p := range parts[:max(len(parts)-1, 0)] {
			require.NotEmpty(t, p)
			require.True(t, strings.IndexFunc(p, unicode.IsSpace) >= 0, "cut inside a word: %q", p)
		}
	})
}

func TestSentencesHaveACapitalAndOneFullStop(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Über alles.", sentence("über alles"))
	require.Equal(t, "No.", sentence("no."))
}
