package hitl_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/hitl"
)

func perCall() hitl.Config {
	c := standard()
	c.Mode = hitl.PerCall
	return c
}

// questionAbout is the id of the pending question about a call.
func questionAbout(t require.TestingT, thread *agenttest.Thread, callID string) string {
	for _, q := range thread.Pending() {
		var value struct {
			ID string `json:"tool_call_id"`
		}
		require.NoError(t, json.Unmarshal(q.Value, &value))
		if value.ID == callID {
			return q.ID
		}
	}
	require.Fail(t, "no question about "+callID)
	return ""
}

// spec/runtime.md 6.8: the question and its response schema.
func TestEachCallIsAskedAboutWhereItRuns(t *testing.T) {
	t.Parallel()
	c := perCall()
	c.Policy["mail"] = hitl.Rule{Decisions: []hitl.Decision{hitl.Approve}, Description: "Mail?"}
	thread, d := begin(t, c, calls(payAnn, search, mailBob))
	require.Equal(t, []string{`search{"q":"weather"}`}, d.all(), "what isn't gated runs at once")
	pending := thread.Pending()
	require.Len(t, pending, 2)
	require.Equal(t, `{"type":"tool_approval","tool_call_id":"c1","name":"pay","args":{"to":"Ann","amount":5},"description":"Tool execution requires approval\n\nTool: pay\nArgs: {\n  \"to\": \"Ann\",\n  \"amount\": 5\n}"}`, string(pending[0].Value))
	require.JSONEq(t, `{"oneOf":[
		{"type":"object","properties":{"type":{"type":"string","const":"approve"}},"required":["type"],"additionalProperties":false},
		{"type":"object","properties":{"type":{"type":"string","const":"edit"},"edited_action":{
			"type":"object","properties":{"name":{"type":"string","const":"pay"},"args":{"type":"object","properties":{"to":{"type":"string"},"amount":{"type":"integer","minimum":1}},"required":["to","amount"]}},
			"required":["name","args"],"additionalProperties":false}},"required":["type","edited_action"],"additionalProperties":false},
		{"type":"object","properties":{"type":{"type":"string","const":"reject"},"message":{"type":"string"}},"required":["type"],"additionalProperties":false},
		{"type":"object","properties":{"type":{"type":"string","const":"respond"},"message":{"type":"string"}},"required":["type","message"],"additionalProperties":false},
		{"type":"object","properties":{"type":{"type":"string","const":"edit"},"editedAction":{
			"type":"object","properties":{"name":{"type":"string","const":"pay"},"args":{"type":"object","properties":{"to":{"type":"string"},"amount":{"type":"integer","minimum":1}},"required":["to","amount"]}},
			"required":["name","args"],"additionalProperties":false}},"required":["type","editedAction"],"additionalProperties":false,"deprecated":true}
	]}`, string(pending[0].ResponseSchema))
	require.Equal(t, `{"type":"tool_approval","tool_call_id":"c2","name":"mail","args":{"to":"bob@example.org"},"description":"Mail?"}`, string(pending[1].Value))
	require.JSONEq(t, `{"type":"object","properties":{"type":{"type":"string","const":"approve"}},"required":["type"],"additionalProperties":false}`,
		string(pending[1].ResponseSchema), "one decision: a plain object")
}

func TestPerCallAnswersComeInAnyOrder(t *testing.T) {
	t.Parallel()
	for _, order := range [][]string{{"c1", "c2"}, {"c2", "c1"}} {
		thread, d := begin(t, perCall(), calls(payAnn, search, mailBob))
		for i, id := range order {
			res := answer(t, thread, `{"`+questionAbout(t, thread, id)+`":{"type":"approve"}}`)
			require.Equal(t, i == 0, res.Suspended)
		}
		require.ElementsMatch(t, []string{`search{"q":"weather"}`, `pay{"to":"Ann","amount":5}`, `mail{"to":"bob@example.org"}`}, d.all())
		require.Len(t, told(t, thread), 3)
	}
}

func TestPerCallDecisionsTakeEffect(t *testing.T) {
	t.Parallel()
	for wire, want := range map[string]struct {
		runs []string
		told string
	}{
		`{"type":"approve"}`: {[]string{`pay{"to":"Ann","amount":5}`}, "c1 success pay: pay done"},
		`{"type":"edit","edited_action":{"name":"pay","args":{"to":"Ann","amount":1}}}`: {[]string{`pay{"to":"Ann","amount":1}`},
			"c1 success pay: Note: a reviewer edited this call before it ran. Executed instead: `pay` with the arguments {\"to\":\"Ann\",\"amount\":1}.\n\npay done"},
		`{"type":"edit","editedAction":{"name":"pay","args":{"to":"Ann","amount":1}}}`: {[]string{`pay{"to":"Ann","amount":1}`},
			"c1 success pay: Note: a reviewer edited this call before it ran. Executed instead: `pay` with the arguments {\"to\":\"Ann\",\"amount\":1}.\n\npay done"},
		`{"type":"reject","message":"no"}`:     {nil, "c1 error pay: The user rejected the tool call for `pay` with id c1. The tool was not executed. Reason: \"no\". Do not make this call again unless the user asks for it."},
		`{"type":"respond","message":"later"}`: {nil, "c1 success pay: later"},
	} {
		thread, d := begin(t, perCall(), calls(payAnn))
		answer(t, thread, wire)
		require.Equal(t, want.runs, d.all(), wire)
		require.Equal(t, []string{want.told}, told(t, thread), wire)
	}
}

// One wrong answer of several: all are refused, so that none has run that is shown as open (D-37).
func TestPerCallAnswersAreTakenAllOrNone(t *testing.T) {
	t.Parallel()
	thread, d := begin(t, perCall(), calls(payAnn, mailBob))
	pay, mail := questionAbout(t, thread, "c1"), questionAbout(t, thread, "c2")
	for wrong, want := range map[string][]string{
		`{"type":"maybe"}`:                   {"/type value must be one of 'approve', 'edit', 'reject', 'respond'"},
		`{"decisions":[{"type":"approve"}]}`: {" missing property 'type'"},
		`{"type":"approve","message":"x"}`:   {" additional properties 'message' not allowed"},
		`{"type":"respond"}`:                 {" missing property 'message'"},
		`{"type":"edit","edited_action":{"name":"pay","args":{"to":"xyz"}}}`: {"/edited_action/name value must be 'mail'"},
		`{"type":"edit","edited_action":{"name":"mail","args":{"to":"x"}}}`:  {"/edited_action/args/to minLength: got 1, want 3"},
		`{"type":"edit","editedAction":{"name":"mail","args":{}}}`:           {"/editedAction/args missing property 'to'"},
	} {
		require.Equal(t, want, refused(t, thread, `{"`+pay+`":{"type":"approve"},"`+mail+`":`+wrong+`}`), wrong)
		require.Len(t, thread.Pending(), 2)
	}
	require.Empty(t, d.all())
	answer(t, thread, `{"`+pay+`":{"type":"approve"},"`+mail+`":{"type":"reject"}}`)
	require.Equal(t, []string{`pay{"to":"Ann","amount":5}`}, d.all())
}

// A Command without an answer plans the tasks anew: what was decided stands, what ran isn't run
// again, and what wasn't decided is asked again.
func TestADecisionStandsWhenItsTaskIsPlannedAnew(t *testing.T) {
	t.Parallel()
	thread, d := begin(t, perCall(), calls(payAnn, mailBob))
	old := questionAbout(t, thread, "c2")
	answer(t, thread, `{"`+questionAbout(t, thread, "c1")+`":{"type":"approve"}}`)
	require.Equal(t, []string{`pay{"to":"Ann","amount":5}`}, d.all())
	_, err := thread.Command(t.Context(), agent.Command{Update: []agent.Write{{Channel: "messages", Value: json.RawMessage(`[{"type":"ai","id":"note","content":"hm"}]`)}}})
	require.NoError(t, err)
	require.Len(t, thread.Pending(), 1)
	again := questionAbout(t, thread, "c2")
	require.NotEqual(t, old, again, "the question is a new one")
	answer(t, thread, `{"`+again+`":{"type":"approve"}}`)
	require.Equal(t, []string{`pay{"to":"Ann","amount":5}`, `mail{"to":"bob@example.org"}`}, d.all())
	require.Len(t, told(t, thread), 2)
}

// Unreadable arguments in a task of their own are held, too (D-107).
func TestPerCallUnreadableArgumentsAreHeld(t *testing.T) {
	t.Parallel()
	thread, d := begin(t, perCall(), calls(call("c1", "pay", `["Ann"]`)))
	require.Equal(t, []string{"/type value must be one of 'edit', 'reject', 'respond'"}, refused(t, thread, `{"type":"approve"}`))
	answer(t, thread, `{"type":"edit","edited_action":{"name":"pay","args":{"to":"Ann","amount":1}}}`)
	require.Equal(t, []string{`pay{"to":"Ann","amount":1}`}, d.all())
}
