package thread

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/agent"
)

// Questions are told apart by what they show, whoever asks: agents of other make, too.
func TestQuestionsAreTakenForWhatTheyShow(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		payload, schema string
		kind, reason    string
		allowed, tools  []string
		single          bool
	}{
		"LangChain's, one config for each tool": {
			payload: `{"action_requests":[{"name":"a","args":{}},{"name":"b","args":{}},{"name":"a","args":{"x":1}}],
				"review_configs":[{"action_name":"b","allowed_decisions":["approve","reject"]},{"action_name":"a","allowed_decisions":["reject","approve","edit"]}]}`,
			kind: KindToolCalls, allowed: []string{"reject", "approve"}, tools: []string{"a", "b"}, reason: "3 tool calls wait for approval: a, b, a",
		},
		"without configs nothing is allowed": {
			payload: `{"actionRequests":[{"name":"a","args":{}}],"reviewConfigs":[]}`,
			kind:    KindToolCalls, tools: []string{"a"}, reason: "A tool call waits for approval: a",
		},
		"an empty list of actions":    {payload: `{"actionRequests":[],"reviewConfigs":[]}`, kind: KindPlain},
		"an outcome that isn't known": {payload: `{"type":"unknown_outcome","step":"pay","idempotency_key":"k"}`, kind: KindUnknownOutcome, allowed: []string{"retry", "done", "fail"}, reason: "It is not known whether the step pay took place."},
		"one call": {
			payload: `{"type":"tool_approval","tool_call_id":"c","name":"a","args":{},"description":"Pays"}`,
			schema:  `{"oneOf":[{"properties":{"type":{"const":"approve"}}},{"properties":{"type":{"const":"edit"}}},{"properties":{"type":{"const":"edit"}}}]}`,
			kind:    KindToolCalls, allowed: []string{"approve", "edit"}, tools: []string{"a"}, single: true, reason: "Pays",
		},
		"one call with one way out": {
			payload: `{"type":"tool_approval","tool_call_id":"c","name":"a","args":{}}`, schema: `{"properties":{"type":{"const":"approve"}}}`,
			kind: KindToolCalls, allowed: []string{"approve"}, tools: []string{"a"}, single: true, reason: "A tool call waits for approval: a",
		},
		"a review":           {payload: `{"reason":"r"}`, schema: `{"$comment":"agent.Review"}`, kind: KindReview, reason: "r"},
		"an object":          {payload: `{"reason":"r","allowed_decisions":"all"}`, kind: KindPlain, reason: "r"},
		"a text":             {payload: `"Sure?"`, kind: KindPlain},
		"nothing":            {kind: KindPlain},
		"null":               {payload: `null`, kind: KindPlain},
		"a form in disguise": {payload: `{"formType":"f","fields":7}`, kind: KindPlain},
	} {
		s := read(json.RawMessage(tc.payload), json.RawMessage(tc.schema))
		require.Equal(t, tc.kind, s.kind, name)
		require.Equal(t, tc.reason, s.reason, name)
		require.ElementsMatch(t, tc.allowed, s.allowed, name)
		require.Equal(t, tc.tools, s.tools(), name)
		require.Equal(t, tc.single, s.single, name)
	}
}

// Whatever form an answer has, the audit log says what was decided.
func TestEveryAnswerAmountsToADecision(t *testing.T) {
	t.Parallel()
	const (
		calls = `{"action_requests":[{"name":"a","args":{}}],"review_configs":[{"action_name":"a","allowed_decisions":["approve","edit","reject"]}]}`
		call  = `{"type":"tool_approval","tool_call_id":"c","name":"a","args":{}}`
		form  = `{"formType":"f","fields":[{"name":"x"}]}`
		free  = `"What shall I do?"`
		words = `{"allowed_decisions":["Yes","No"]}`
	)
	for _, tc := range []struct{ payload, answer, decision, notes string }{
		{calls, `{"decisions":[{"type":"edit"}]}`, "edit", ""},
		{calls, `{"decisions":[{"type":"approve"},{"type":"reject","message":"no"}]}`, "approve,reject", "no"},
		{calls, `{"approved":true}`, "approve", ""},
		{calls, `{"approved":false,"message":"too much"}`, "reject", "too much"},
		{calls, `{"approved":true,"decisions":[{"type":"reject"}]}`, "reject", ""},
		{calls, `{"verdict":"fine"}`, "respond", ""},
		{calls, `true`, "approve", ""},
		{call, `{"type":"approve"}`, "approve", ""},
		{call, `{"approved":false}`, "reject", ""},
		{form, `{"approved":true,"values":{}}`, "approve", ""},
		{form, `{"approved":false,"message":"m"}`, "reject", "m"},
		{form, `{"values":{"x":1}}`, "submit", ""},
		{form, `{"x":1}`, "submit", ""},
		{free, `"Wait"`, "respond", ""},
		{free, `7`, "respond", ""},
		{free, `null`, "respond", ""},
		{free, `["a"]`, "respond", ""},
		{free, `{"text":"Wait"}`, "respond", ""},
		{free, `{"approved":true}`, "approve", ""},
		{free, `false`, "reject", ""},
		{free, `{"decision":" Later ","reviewer_notes":"n"}`, "Later", "n"},
		{words, `"yes"`, "Yes", ""},
		{words, `"perhaps"`, "respond", ""},
		{words, `{"decision":"NO","reviewer_notes":"n"}`, "No", "n"},
		{`{"type":"unknown_outcome","step":"pay"}`, `{"type":"done","message":"m"}`, "done", "m"},
	} {
		decision, notes := decisionOf(read(json.RawMessage(tc.payload), nil), json.RawMessage(tc.answer))
		require.Equal(t, [2]string{tc.decision, tc.notes}, [2]string{decision, notes}, "%s to %s", tc.answer, tc.payload)
	}
}

func TestFlatDecisionsAboutAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	r := Review{Payload: json.RawMessage(`{"type":"unknown_outcome","step":"pay","idempotency_key":"k"}`)}
	r.AllowedDecisions = []string{"retry", "done", "fail"}
	answer, err := flatAnswer(r, "FAIL", "the bank says no")
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"fail","message":"the bank says no"}`, string(answer))
	answer, err = flatAnswer(r, "retry", "")
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"retry"}`, string(answer))
}

// Whatever an agent shows and whoever answers, the classification holds: no panic, and the text for searches is bounded.
func TestAnyPayloadIsReadable(t *testing.T) {
	t.Parallel()
	value := rapid.Custom(func(t *rapid.T) any {
		return rapid.OneOf(
			rapid.Just[any](nil), rapid.Map(rapid.String(), func(s string) any { return s }), rapid.Map(rapid.Int(), func(i int) any { return i }),
			rapid.Map(rapid.SliceOfN(rapid.String(), 0, 3), func(s []string) any { return s }),
			rapid.Map(rapid.SliceOfN(rapid.MapOf(rapid.SampledFrom([]string{"name", "args", "type", "actionName", "allowedDecisions", "default"}), rapid.String()), 0, 3), func(m []map[string]string) any { return m }),
		).Draw(t, "value")
	})
	keys := rapid.SampledFrom([]string{"actionRequests", "action_requests", "reviewConfigs", "review_configs", "type", "name", "formType", "fields", "reason", "allowed_decisions", "decisions"})
	rapid.Check(t, func(t *rapid.T) {
		payload := encodeJSON(rapid.MapOf(keys, value).Draw(t, "payload"))
		schema := encodeJSON(rapid.MapOf(rapid.SampledFrom([]string{"$comment", "oneOf", "properties"}), value).Draw(t, "schema"))
		run := Run{ID: "r", ExecutionID: "r", GraphID: "g"}
		d := reviewDraft(asking{run, run}, agent.InterruptInfo{ID: "i", Value: payload, ResponseSchema: schema}, nil)
		if len(d.Text) > longestReviewText {
			t.Fatalf("%d bytes of text", len(d.Text))
		}
		r := Review{Payload: payload, ResponseSchema: schema, ReviewDraft: d}
		for _, decision := range append(d.AllowedDecisions, "approve", "") {
			answer, err := flatAnswer(r, decision, "notes")
			if err == nil && !json.Valid(answer) {
				t.Fatalf("answer %s", answer)
			}
		}
		if _, shown := suspendContext(r); !json.Valid(shown) {
			t.Fatalf("context %s", shown)
		}
		if d, _ := decisionOf(read(payload, schema), encodeJSON(value.Draw(t, "answer"))); d == "" {
			t.Fatal("no decision")
		}
		if again := payloadDigest(canonical(payload)); again != d.Digest {
			t.Fatal("the digest is of the canonical form")
		}
	})
}
