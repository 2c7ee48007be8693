package keys_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/server/auth/keys"
)

// scanners is the pattern that the documentation gives to secret scanners.
var scanners = regexp.MustCompile(`^pk_[a-z0-9]{12}_[A-Za-z0-9]{49}$`)

func TestKeysAreReadAsTheyWereMade(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 200 {
		made, text := keys.New()
		require.Regexp(t, scanners, text)
		require.False(t, seen[text])
		seen[text] = true
		read, err := keys.Parse(text)
		require.NoError(t, err)
		require.Equal(t, made, read)
		require.True(t, read.Matches(made.Hash()))
		require.Len(t, made.Hash(), 64)
		require.NotContains(t, text, made.Hash())
	}
}

func TestAKeyOpensNothingElse(t *testing.T) {
	t.Parallel()
	a, _ := keys.New()
	b, _ := keys.New()
	require.False(t, a.Matches(b.Hash()))
	require.False(t, a.Matches(""))
	require.False(t, keys.Presented{}.Matches(keys.Presented{}.Hash()), "no secret matches nothing")
}

// A mistyped or cut key is told from a right one without a look into the store.
func TestAnyChangedLetterIsNoticed(t *testing.T) {
	t.Parallel()
	_, text := keys.New()
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		letter := rapid.SampledFrom([]byte("0aZ_9 \x00é-")).Draw(t, "letter")
		changed := []byte(text)
		if changed[at] == letter {
			return
		}
		changed[at] = letter
		_, err := keys.Parse(string(changed))
		require.ErrorIs(t, err, keys.ErrFormat, "%s", changed)
	})
	for _, wrong := range []string{"", "pk_", text[:len(text)-1], text + "0", " " + text, text + "\n", strings.ToUpper(text), "pk__" + text[4:], text[:15] + "-" + text[16:]} {
		_, err := keys.Parse(wrong)
		require.ErrorIs(t, err, keys.ErrFormat, wrong)
	}
}

func TestPrintingAKeyHidesItsSecret(t *testing.T) {
	t.Parallel()
	p, text := keys.New()
	secret := text[len("pk_")+12+1:]
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		require.NotContains(t, fmt.Sprintf(format, p), secret, format)
	}
}

func FuzzParse(f *testing.F) {
	_, text := keys.New()
	for _, seed := range []string{text, "", "pk_", text[:20], text + text, "pk_000000000000_" + strings.Repeat("0", 49), "Bearer " + text} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := keys.Parse(text)
		if err != nil {
			require.ErrorIs(t, err, keys.ErrFormat)
			require.Equal(t, keys.Presented{}, p)
			return
		}
		require.Regexp(t, scanners, text)
		require.True(t, keys.Looks(text))
		require.True(t, p.Matches(p.Hash()))
	})
}
