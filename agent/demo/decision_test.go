package demo

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

var answers = []struct {
	answer  string
	valid   bool
	means   decision
	refusal string
}{
	{`{"decisions":[{"type":"approve"}]}`, true, decision{Type: "approve"}, ""},
	{`{"approved":true}`, true, decision{Type: "approve"}, ""},
	{`{"approved":false}`, true, decision{Type: "reject"}, "the reviewer rejected it"},
	{`{"approved":false,"message":"too dear"}`, true, decision{Type: "reject", Message: "too dear"}, "the reviewer rejected it: too dear"},
	{`{"decisions":[{"type":"reject"}]}`, true, decision{Type: "reject"}, "the reviewer rejected it"},
	{`{"decisions":[{"type":"reject","message":"no"}]}`, true, decision{Type: "reject", Message: "no"}, "the reviewer rejected it: no"},
	{`{"decisions":[{"type":"edit","edited_action":{"name":"carry_out","args":{"request":"half"}}}]}`, true, decision{Type: "edit", Request: "half"}, ""},
	{`{"decisions":[{"type":"edit","editedAction":{"args":{"request":"half"}}}]}`, true, decision{Type: "edit", Request: "half"}, ""},
	{`{"decisions":[{"type":"edit","edited_action":{"name":"delete_all","args":{"request":"half"}}}]}`, false, decision{}, ""},
	{`{"decisions":[{"type":"edit"}]}`, false, decision{}, ""},
	{`{"decisions":[]}`, false, decision{}, ""},
	{`{"decisions":[{"type":"approve"},{"type":"approve"}]}`, false, decision{}, ""},
	{`{"decisions":[{"type":"respond","message":"hi"}]}`, false, decision{}, ""},
	{`{"decisions":[{"type":"reject","message":7}]}`, false, decision{}, ""},
	{`{"approved":"yes"}`, false, decision{}, ""},
	{`{}`, false, decision{}, ""},
	{`"yes"`, false, decision{}, ""},
	{`true`, false, decision{}, ""},
}

func TestAnswersAreRefusedByTheSchemaOrUnderstood(t *testing.T) { // D-35
	t.Parallel()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(answerSchema)))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("answer.json", doc))
	schema, err := c.Compile("answer.json")
	require.NoError(t, err)
	for _, a := range answers {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(a.answer))
		require.NoError(t, err)
		if !a.valid {
			require.Error(t, schema.Validate(value), a.answer)
			continue
		}
		require.NoError(t, schema.Validate(value), a.answer)
		var d decision
		require.NoError(t, json.Unmarshal([]byte(a.answer), &d), a.answer)
		require.Equal(t, a.means, d, a.answer)
		require.Equal(t, a.means.Type != "reject", d.approved(), a.answer)
		if a.refusal != "" {
			require.Equal(t, a.refusal, d.refusal(), a.answer)
		}
	}
}

func TestADecisionSurvivesTheState(t *testing.T) {
	t.Parallel()
	for _, a := range answers {
		if !a.valid {
			continue
		}
		stored, err := json.Marshal(a.means)
		require.NoError(t, err)
		var d decision
		require.NoError(t, json.Unmarshal(stored, &d))
		require.Equal(t, a.means, d)
	}
	var none *decision
	require.False(t, none.approved())
	require.Equal(t, "asked", none.request("asked"))
}

func TestTheQuestionSaysWhatIsToBeDone(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(askAbout("Refund order 7"))
	require.NoError(t, err)
	require.JSONEq(t, `{
		"action_requests": [{
			"name": "carry_out",
			"args": {"request": "Refund order 7"},
			"description": "The agent wants to do this for the user:\n\nRefund order 7\n\nApprove it, edit it, or reject it."
		}],
		"review_configs": [{"action_name": "carry_out", "allowed_decisions": ["approve", "edit", "reject"]}]
	}`, string(raw))
}
