package thread

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func metadata(t *testing.T, doc string) Metadata {
	t.Helper()
	var m Metadata
	require.NoError(t, json.Unmarshal([]byte(doc), &m))
	return m
}

func TestMetadataContainment(t *testing.T) {
	t.Parallel()
	have := `{"a":1,"o":{"x":"y","n":{"z":true}},"l":[1,{"k":2},3],"null":null}`
	for want, ok := range map[string]bool{
		`{}`:                         true,
		`{"a":1}`:                    true,
		`{"a":2}`:                    false,
		`{"b":1}`:                    false,
		`{"o":{"x":"y"}}`:            true,
		`{"o":{"n":{"z":true}}}`:     true,
		`{"o":{"n":{"z":false}}}`:    false,
		`{"o":"y"}`:                  false,
		`{"l":[1]}`:                  true,
		`{"l":[1,{"k":2}]}`:          true,
		`{"l":[2]}`:                  false,
		`{"l":[1,{"k":2},3,4]}`:      false,
		`{"null":null}`:              false,
		`{"a":null}`:                 false,
		`{"o":{"x":"y","more":"!"}}`: false,
	} {
		require.Equal(t, ok, metadata(t, have).Contains(metadata(t, want)), want)
	}
}

func TestAuthFilter(t *testing.T) {
	t.Parallel()
	have := metadata(t, `{"owner":"jo","tags":["a","b"],"n":1,"o":{"x":1},"e":{}}`)
	for filter, ok := range map[string]bool{
		`{}`:                               true,
		`{"owner":"jo"}`:                   true,
		`{"owner":"al"}`:                   false,
		`{"other":"jo"}`:                   false,
		`{"owner":{"$eq":"jo"}}`:           true,
		`{"owner":{"$eq":"al"}}`:           false,
		`{"tags":{"$contains":"a"}}`:       true,
		`{"tags":{"$contains":["a","b"]}}`: true,
		`{"tags":{"$contains":["a","c"]}}`: false,
		`{"owner":{"$contains":"jo"}}`:     false,
		`{"owner":"jo","n":2}`:             false,
		`{"o":{"x":1}}`:                    true,
		`{"o":{"x":2}}`:                    false,
		`{"e":{}}`:                         true,
		`{"o":{}}`:                         false,

		`{"tags":{"$eq":["a","b"],"$contains":"a"}}`: true,
		`{"tags":{"$eq":["a","b"],"$contains":"c"}}`: false,
		`{"tags":{"$eq":["a"],"$contains":"a"}}`:     false,
		`{"owner":{"$ne":"al"}}`:                     true,
		`{"owner":{"$eq":"jo","$ne":"al"}}`:          true,
		`{"owner":{"$eq":"jo","$ne":"jo"}}`:          false,
		`{"owner":{"$eq":"jo","or":"al"}}`:           false,
	} {
		var f Filter
		require.NoError(t, json.Unmarshal([]byte(filter), &f))
		require.Equal(t, ok, f.Matches(have), filter)
	}
}

func TestCanonicalFormIgnoresOrderAndSpaceButNotValues(t *testing.T) {
	t.Parallel()
	require.Equal(t, canonical([]byte(`{"b":[1,2],"a":"<&>"}`)), canonical([]byte("{ \"a\":\"\\u003c&>\",\n\"b\":[1, 2] }")))
	require.NotEqual(t, canonical([]byte(`[1,2]`)), canonical([]byte(`[2,1]`)))
	require.Equal(t, canonical(nil), canonical([]byte(`null`)))
}
