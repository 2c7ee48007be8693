package agent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is wrong with an answer is said of the alternative that was meant (D-35).
func TestFaultsOfAUnionAreThoseOfTheBranchThatWasMeant(t *testing.T) {
	t.Parallel()
	const decisions = `{"oneOf":[
		{"type":"object","required":["type"],"properties":{"type":{"const":"approve"}},"additionalProperties":false},
		{"type":"object","required":["type","edited_action"],"properties":{"type":{"const":"edit"},"edited_action":{
			"type":"object","required":["name","args"],"properties":{"name":{"const":"pay"},"args":{"type":"object","properties":{"amount":{"type":"integer"}}}}}},"additionalProperties":false},
		{"type":"object","required":["type"],"properties":{"type":{"const":"reject"},"message":{"type":"string"}},"additionalProperties":false}]}`
	for name, tc := range map[string]struct {
		schema, value string
		want          []string
	}{
		"fits":                     {decisions, `{"type":"approve"}`, nil},
		"of the branch":            {decisions, `{"type":"edit","edited_action":{"name":"pay","args":{"amount":"7"}}}`, []string{"/edited_action/args/amount got string, want integer"}},
		"missing":                  {decisions, `{"type":"edit"}`, []string{" missing property 'edited_action'"}},
		"more than allowed":        {decisions, `{"type":"approve","message":"x"}`, []string{" additional properties 'message' not allowed"}},
		"wrong type":               {decisions, `{"type":"reject","message":7}`, []string{"/message got number, want string"}},
		"no such branch":           {decisions, `{"type":"maybe"}`, []string{"/type value must be one of 'approve', 'edit', 'reject'"}},
		"no discriminator":         {decisions, `{"message":"x"}`, []string{" missing property 'type'"}},
		"no object":                {decisions, `"approve"`, []string{" got string, want object"}},
		"by type":                  {`{"anyOf":[{"type":"null"},{"type":"object","required":["a"]}]}`, `{}`, []string{" missing property 'a'"}},
		"nested":                   {`{"type":"array","items":` + decisions + `}`, `[{"type":"approve"},{"type":"reject","message":1}]`, []string{"/1/message got number, want string"}},
		"one branch":               {`{"oneOf":[{"type":"object","required":["type"],"properties":{"type":{"const":"approve"}}}]}`, `{"type":"edit"}`, []string{"/type value must be 'approve'"}},
		"constants that are lists": {`{"anyOf":[{"properties":{"k":{"enum":["a","b"]}}},{"properties":{"k":{"const":"c"}}}]}`, `{"k":"z"}`, []string{"/k value must be one of 'a', 'b', 'c'"}},
		"nothing to tell by":       {`{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, []string{" missing property 'a'", " missing property 'b'"}},
		"several fit":              {`{"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":1,"b":1}`, []string{" 'oneOf' failed, subschemas 0, 1 matched"}},
		"if and then":              {`{"if":{"properties":{"type":{"const":"edit"}}},"then":{"required":["args"]}}`, `{"type":"edit"}`, []string{" missing property 'args'"}},
		"by the keys": {`{"oneOf":[{"required":["a"],"properties":{"k":{"const":1},"a":{"type":"string"}}},{"required":["b"],"properties":{"k":{"const":1},"b":{"type":"string"}}}]}`,
			`{"k":1,"b":2}`, []string{"/b got number, want string"}},
		"two discriminators": {`{"anyOf":[{"properties":{"a":{"const":1}}},{"properties":{"b":{"const":2}}}]}`, `{"a":0,"b":0}`, []string{"/a value must be 1", "/b value must be 2"}},
	} {
		c, err := NewChecker(raw(tc.schema))
		require.NoError(t, err, name)
		var got []string
		for _, issue := range c.Issues(raw(tc.value)) {
			got = append(got, issue.Path+" "+issue.Message)
		}
		require.Equal(t, tc.want, got, name)
	}
}
