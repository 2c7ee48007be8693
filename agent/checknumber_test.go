package agent

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A number of a few characters could take all memory, and one of many all time; neither ends the process.
func TestNumbersThatCannotBeReckonedWithAreRefused(t *testing.T) {
	t.Parallel()
	c, err := NewChecker(raw(`{"properties":{"n":{"type":"number","minimum":0,"multipleOf":0.5},"i":{"type":"integer"},"e":{"enum":[1,2]},"u":{"uniqueItems":true}}}`))
	require.NoError(t, err)
	for value, want := range map[string][]Issue{
		`{"n":1e1001}`:                            {{Path: "/n", Message: "a number with the exponent 1001; 1000 is the largest that is taken"}},
		`{"n":-1E-99999999}`:                      {{Path: "/n", Message: "a number with the exponent -99999999; 1000 is the largest that is taken"}},
		`{"n":1e+99999999999999999999}`:           {{Path: "/n", Message: "a number with the exponent +99999999999999999999; 1000 is the largest that is taken"}},
		`{"i":` + strings.Repeat("9", 1001) + `}`: {{Path: "/i", Message: "a number of 1001 characters; at most 1000 are taken"}},
		`{"x":[{"a/b":1e9999}],"u":[1,1e9999]}`: {
			{Path: "/u/1", Message: "a number with the exponent 9999; 1000 is the largest that is taken"},
			{Path: "/x/0/a~1b", Message: "a number with the exponent 9999; 1000 is the largest that is taken"},
		},
		`{"e":1e9999}`:                           {{Path: "/e", Message: "a number with the exponent 9999; 1000 is the largest that is taken"}},
		`{"n":1.5e300,"i":10e2}`:                 nil,
		`{"i":` + strings.Repeat("9", 900) + `}`: nil,
		`{"x":"1e99999"}`:                        nil,
	} {
		require.Equal(t, want, c.Issues(raw(value)), value)
	}
	require.NotEmpty(t, c.Issues(raw(`{"n":-1}`)), "others are checked as ever")
	big := `{"x":[` + strings.TrimSuffix(strings.Repeat("1e999999,", 10000), ",") + `]}`
	require.Len(t, c.Issues(raw(big)), 10000)
}
