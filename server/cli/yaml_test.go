package cli

import (
	"encoding/json"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSuspensionsAreShownAsYAML(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"claim_id":"CLM-4821","task_description":"Approve refund of $240 for order #98765"}`: "claim_id: CLM-4821\ntask_description: \"Approve refund of $240 for order #98765\"\n",
		`{"b":{"w":1,"x":[1,{"k":"v","l":[]}]},"a":null}`:                                      "b:\n  w: 1\n  x:\n    - 1\n    - k: v\n      l: []\na: null\n",
		`{"amount":100000000000000000000.10,"m":1e400}`:                                        "amount: 100000000000000000000.10\nm: 1e400\n",
		`{"t":"one\ntwo","u":"one\n","v":"yes","w":"1","x":" a"}`:                              "t: |-\n  one\n  two\nu: |\n  one\nv: \"yes\"\nw: \"1\"\nx: \" a\"\n",
		`{}`: "", `null`: "", ``: "", `[1,[2,3]]`: "- 1\n- - 2\n  - 3\n", `"text"`: "text\n",
		`{"x":"a\u001b[2Jb\u202ec"}`: "x: \"a\\u001b[2Jb\\u202ec\"\n",
	} {
		got, err := asYAML(json.RawMessage(in))
		require.NoError(t, err)
		require.Equal(t, want, got, in)
	}
}

// TestWhatIsShownIsWhatRuns: a YAML reader finds in what is shown what the JSON says (D-101, D-105).
func TestWhatIsShownIsWhatRuns(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching(`[ a-zA-Z0-9:#\-\n"'{}\[\]&*!|>%@,?~]{0,12}`)
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		scalars := []*rapid.Generator[any]{text.AsAny(), rapid.IntRange(-1000, 1000).AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil)}
		if depth > 0 {
			scalars = append(scalars, rapid.MapOfN(text, value(depth-1), 0, 3).AsAny(), rapid.SliceOfN(value(depth-1), 0, 3).AsAny())
		}
		return rapid.OneOf(scalars...)
	}
	rapid.Check(t, func(t *rapid.T) {
		b, err := json.Marshal(rapid.MapOfN(text, value(3), 1, 4).Draw(t, "value"))
		require.NoError(t, err)
		shown, err := asYAML(b)
		require.NoError(t, err)
		var back any
		require.NoError(t, yaml.Unmarshal([]byte(shown), &back), shown)
		again, err := json.Marshal(back)
		require.NoError(t, err)
		require.JSONEq(t, string(b), string(again), shown)
	})
}
