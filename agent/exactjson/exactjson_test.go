package exactjson_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/exactjson"
)

type inner struct {
	Amount float64 `json:"amount"`
}

type Promoted struct {
	Note string `json:"note"`
}

type sample struct {
	Promoted
	Kind   string                     `json:"kind"`
	Plain  string                     // by its own name
	Hidden string                     `json:"-"`
	One    *inner                     `json:"one"`
	Many   []inner                    `json:"many"`
	Named  map[string]inner           `json:"named"`
	Raw    json.RawMessage            `json:"raw"`
	Parts  map[string]json.RawMessage `json:"parts"`
	Any    any                        `json:"any"`
}

func TestOnlyExactNamesAreDecodedAndOfRepeatedOnesTheLast(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   string
		want sample
	}{
		"exact names":           {`{"kind":"a","Plain":"p","one":{"amount":1}}`, sample{Kind: "a", Plain: "p", One: &inner{1}}},
		"another casing":        {`{"kind":"a","Kind":"b","KIND":5,"plain":"x"}`, sample{Kind: "a"}},
		"a letter that folds":   {`{"\u212aind":"b","kind":"a"}`, sample{Kind: "a"}},
		"within others":         {`{"one":{"amount":1,"Amount":9},"many":[{"Amount":2}],"named":{"x":{"AMOUNT":3}}}`, sample{One: &inner{1}, Many: []inner{{}}, Named: map[string]inner{"x": {}}}},
		"repeated objects":      {`{"parts":{"a":1},"parts":{"b":2}}`, sample{Parts: map[string]json.RawMessage{"b": json.RawMessage("2")}}},
		"repeated, then null":   {`{"kind":"a","kind":null}`, sample{}},
		"repeated lists":        {`{"many":[{"amount":1}],"many":[{}]}`, sample{Many: []inner{{}}}},
		"embedded":              {`{"note":"n","Note":"m"}`, sample{Promoted: Promoted{"n"}}},
		"hidden":                {`{"Hidden":"h","-":"h"}`, sample{}},
		"JSON stays as it is":   {`{"raw":{"A": 1,"A":2}}`, sample{Raw: json.RawMessage(`{"A": 1,"A":2}`)}},
		"any value, and null":   {`{"any":{"A":1,"a":2},"one":null}`, sample{Any: map[string]any{"A": 1.0, "a": 2.0}}},
		"a key that is escaped": {`{"\u006bind":"a"}`, sample{Kind: "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got sample
			require.NoError(t, exactjson.Unmarshal([]byte(c.in), &got))
			require.Equal(t, c.want, got)
		})
	}
}

func TestErrorsAreThoseOfEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, in := range []string{``, `{`, `[]`, `{"kind":5}`, `{"many":{}}`, `{"one":[1]}`, `{"kind":"a"} x`} {
		var got, want sample
		err := json.Unmarshal([]byte(in), &want)
		require.Error(t, err, in)
		require.EqualError(t, exactjson.Unmarshal([]byte(in), &got), err.Error(), in)
	}
}
