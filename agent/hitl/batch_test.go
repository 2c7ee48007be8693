package hitl_test

import (
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/message"
)

var (
	payAnn  = call("c1", "pay", `{"to":"Ann","amount":5}`)
	mailBob = call("c2", "mail", `{"to":"bob@example.org"}`)
	search  = call("c3", "search", `{"q":"weather"}`)
)

// spec/runtime.md 6.2: the bytes of the question, in both casings.
func TestTheBatchQuestionIsTheMiddlewares(t *testing.T) {
	t.Parallel()
	c := standard()
	c.Policy["pay"] = hitl.Rule{Decisions: []hitl.Decision{hitl.Approve, hitl.Reject}, ArgsSchema: json.RawMessage(`{"type":"object"}`)}
	c.Policy["mail"] = hitl.Rule{Decisions: []hitl.Decision{hitl.Approve, hitl.Edit, hitl.Reject}, Description: "Sends <mail>"}
	for casing, want := range map[hitl.Casing]string{
		"": `{"actionRequests":[{"name":"pay","args":{"to":"Ann","amount":5},"description":"Tool execution requires approval\n\nTool: pay\nArgs: {\n  \"to\": \"Ann\",\n  \"amount\": 5\n}"},` +
			`{"name":"mail","args":{"to":"bob@example.org"},"description":"Sends <mail>"}],` +
			`"reviewConfigs":[{"actionName":"pay","allowedDecisions":["approve","reject"],"argsSchema":{"type":"object"}},{"actionName":"mail","allowedDecisions":["approve","edit","reject"]}]}`,
		hitl.Snake: `{"action_requests":[{"name":"pay","args":{"to":"Ann","amount":5},"description":"Tool execution requires approval\n\nTool: pay\nArgs: {\n  \"to\": \"Ann\",\n  \"amount\": 5\n}"},` +
			`{"name":"mail","args":{"to":"bob@example.org"},"description":"Sends <mail>"}],` +
			`"review_configs":[{"action_name":"pay","allowed_decisions":["approve","reject"],"args_schema":{"type":"object"}},{"action_name":"mail","allowed_decisions":["approve","edit","reject"]}]}`,
	} {
		c.Casing = casing
		thread, d := begin(t, c, calls(payAnn, search, mailBob))
		require.Len(t, thread.Pending(), 1, "one question for all")
		require.Equal(t, want, string(thread.Pending()[0].Value))
		require.Empty(t, d.all(), "before anything runs")
		head := thread.History("")[0]
		rec, ok := thread.Task("", head.ID, hitl.NodeName)
		require.True(t, ok, "in the node that frontends know")
		require.Equal(t, agent.TaskInterrupted, rec.Status)
	}
}

// spec/runtime.md 6.7: order kept, mixed decisions per action, each call answered once (D-45, D-46).
func TestDecisionsTakeEffectPerAction(t *testing.T) {
	t.Parallel()
	const rejected = "The user rejected the tool call for `pay` with id c1. The tool was not executed. "
	for name, tc := range map[string]struct {
		decisions string
		runs      []string
		told      []string
	}{
		"all approved": {`{"type":"approve"},{"type":"approve"}`,
			[]string{`mail{"to":"bob@example.org"}`, `pay{"to":"Ann","amount":5}`, `search{"q":"weather"}`},
			[]string{"c1 success pay: pay done", "c3 success search: search done", "c2 success mail: mail done"}},
		"one rejected": {`{"type":"reject"},{"type":"approve"}`,
			[]string{`mail{"to":"bob@example.org"}`, `search{"q":"weather"}`},
			[]string{"c1 error pay: " + rejected + "Do not make this call again unless the user asks for it.", "c3 success search: search done", "c2 success mail: mail done"}},
		"with a reason": {`{"type":"reject","message":"Too \"much\""},{"type":"approve"}`,
			[]string{`mail{"to":"bob@example.org"}`, `search{"q":"weather"}`},
			[]string{"c1 error pay: " + rejected + `Reason: "Too \"much\"". Do not make this call again unless the user asks for it.`, "c3 success search: search done", "c2 success mail: mail done"}},
		"responded": {`{"type":"respond","message":"paid already"},{"type":"reject"}`,
			[]string{`search{"q":"weather"}`},
			[]string{"c1 success pay: paid already", "c2 error mail: The user rejected the tool call for `mail` with id c2. The tool was not executed. Do not make this call again unless the user asks for it.", "c3 success search: search done"}},
		"edited": {`{"type":"edit","editedAction":{"name":"pay","args":{"amount":2,"to":"Bob"}}},{"type":"approve"}`,
			[]string{`mail{"to":"bob@example.org"}`, `pay{"amount":2,"to":"Bob"}`, `search{"q":"weather"}`},
			[]string{"c1 success pay: Note: a reviewer edited this call before it ran. Executed instead: `pay` with the arguments {\"amount\":2,\"to\":\"Bob\"}.\n\npay done", "c3 success search: search done", "c2 success mail: mail done"}},
		"edited in both casings, as LangChain's hooks send it": {`{"type":"edit","editedAction":{"name":"pay","args":{"amount":2,"to":"Bob"}},"edited_action":{"name":"pay","args":{"amount":2,"to":"Bob"}}},{"type":"approve"}`,
			[]string{`mail{"to":"bob@example.org"}`, `pay{"amount":2,"to":"Bob"}`, `search{"q":"weather"}`},
			[]string{"c1 success pay: Note: a reviewer edited this call before it ran. Executed instead: `pay` with the arguments {\"amount\":2,\"to\":\"Bob\"}.\n\npay done", "c3 success search: search done", "c2 success mail: mail done"}},
		"edited to another tool, in the other casing": {`{"type":"edit","edited_action":{"name":"search","args":{"q":"Ann"}}},{"type":"approve"}`,
			[]string{`mail{"to":"bob@example.org"}`, `search{"q":"Ann"}`, `search{"q":"weather"}`},
			[]string{"c1 success search: Note: a reviewer edited this call before it ran. Executed instead: `search` with the arguments {\"q\":\"Ann\"}.\n\nsearch done", "c3 success search: search done", "c2 success mail: mail done"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, casing := range []hitl.Casing{hitl.Camel, hitl.Snake} {
				c := standard()
				c.Casing = casing
				thread, d := begin(t, c, calls(payAnn, search, mailBob))
				res := answer(t, thread, `{"decisions":[`+tc.decisions+`]}`)
				require.False(t, res.Suspended)
				require.ElementsMatch(t, tc.runs, d.all())
				require.ElementsMatch(t, tc.told, told(t, thread))
				m := conversation(t, thread).At(1)
				require.Equal(t, []message.ToolCall{payAnn, search, mailBob}, m.ToolCalls, "the model's calls stay as they are")
				last, _ := conversation(t, thread).Last()
				require.Equal(t, "Done.", last.Text(), "the model speaks again when all is answered")
			}
		})
	}
}

// spec/runtime.md 6.4, D-35, D-36, D-105: a wrong answer is refused before it is stored, and says what is wrong.
func TestAWrongAnswerLeavesTheQuestionOpen(t *testing.T) {
	t.Parallel()
	c := standard()
	c.Policy["mail"] = hitl.Rule{Decisions: []hitl.Decision{hitl.Approve, hitl.Reject}}
	thread, d := begin(t, c, calls(payAnn, mailBob))
	for wire, want := range map[string][]string{
		`"approve"`:                          {" got string, want object"},
		`{"approved":true}`:                  {" missing property 'decisions'"},
		`{"decisions":"approve"}`:            {"/decisions got string, want array"},
		`{"decisions":[]}`:                   {"/decisions minItems: got 0, want 2"},
		`{"decisions":[{"type":"approve"}]}`: {"/decisions minItems: got 1, want 2"},
		`{"decisions":[{"type":"approve"},{"type":"approve"},{"type":"approve"}]}`:                                                                {"/decisions maxItems: got 3, want 2"},
		`{"decisions":[{"type":"approve"},{}]}`:                                                                                                   {"/decisions/1 missing property 'type'"},
		`{"decisions":[{"type":"maybe"},{"type":"edit"}]}`:                                                                                        {"/decisions/0/type value must be one of 'approve', 'edit', 'reject', 'respond'", "/decisions/1/type value must be one of 'approve', 'reject'"},
		`{"decisions":[{"type":"respond"},{"type":"approve"}]}`:                                                                                   {"/decisions/0 missing property 'message'"},
		`{"decisions":[{"type":"respond","message":""},{"type":"approve"}]}`:                                                                      {"/decisions/0/message minLength: got 0, want 1"},
		`{"decisions":[{"type":"reject","message":7},{"type":"approve"}]}`:                                                                        {"/decisions/0/message got number, want null or string"},
		`{"decisions":[{"type":"edit"},{"type":"approve"}]}`:                                                                                      {"/decisions/0 missing property 'editedAction'"},
		`{"decisions":[{"type":"edit","editedAction":{"name":7,"args":[]}},{"type":"approve"}]}`:                                                  {"/decisions/0/editedAction/name value must be one of 'pay', 'search'", "/decisions/0/editedAction/name got number, want string", "/decisions/0/editedAction/args got array, want object"},
		`{"decisions":[{"type":"edit","editedAction":{"name":"nuke","args":{}}},{"type":"approve"}]}`:                                             {"/decisions/0/editedAction/name value must be one of 'pay', 'search'"},
		`{"decisions":[{"type":"edit","editedAction":{"name":"mail","args":{"to":"x@y"}}},{"type":"approve"}]}`:                                   {"/decisions/0/editedAction/name value must be one of 'pay', 'search'"},
		`{"decisions":[{"type":"edit","editedAction":{"name":"pay","args":{"to":"Ann","amount":"5"}}},{"type":"approve"}]}`:                       {"/decisions/0/editedAction/args/amount got string, want integer"},
		`{"decisions":[{"type":"edit","edited_action":{"name":"pay","args":{"amount":0}}},{"type":"approve"}]}`:                                   {"/decisions/0/edited_action/args missing property 'to'", "/decisions/0/edited_action/args/amount minimum: got 0, want 1"},
		`{"decisions":[{"type":"edit","edited_action":{"name":"search","args":{}},"editedAction":{"name":"nuke","args":{}}},{"type":"approve"}]}`: {"/decisions/0/editedAction/name value must be one of 'pay', 'search'", "/decisions/0 " + unequal},
		`{"decisions":[{"type":"approve","tool_call_id":"c2"},{"type":"reject","toolCallId":"c1"}]}`:                                              {"/decisions/0/tool_call_id value must be 'c1'", "/decisions/1/toolCallId value must be 'c2'"},
	} {
		require.ElementsMatch(t, want, refused(t, thread, wire), wire)
		require.Len(t, thread.Pending(), 1, wire)
	}
	require.Empty(t, d.all())
	answer(t, thread, `{"decisions":[{"type":"approve","tool_call_id":"c1"},{"type":"reject","toolCallId":"c2","message":null}]}`)
	require.Equal(t, []string{`pay{"to":"Ann","amount":5}`}, d.all())
}

// A tool whose schema has references is checked against it, too.
func TestEditsAreCheckedAgainstSchemasWithReferences(t *testing.T) {
	t.Parallel()
	thread, _ := begin(t, standard(), calls(mailBob, payAnn))
	require.Equal(t, []string{"/decisions/0/editedAction/args/to minLength: got 1, want 3"},
		refused(t, thread, `{"decisions":[{"type":"edit","editedAction":{"name":"mail","args":{"to":"x"}}},{"type":"approve"}]}`))
}

func TestChainedReviewsAskOneAfterTheOther(t *testing.T) { // D-44
	t.Parallel()
	thread, d := begin(t, standard(), calls(payAnn), calls(call("c1", "pay", `{"to":"Ann","amount":5}`)), calls(call("c9", "mail", `{"to":"a@b.c"}`)))
	ids := map[string]bool{}
	for range 3 {
		require.Len(t, thread.Pending(), 1)
		ids[thread.Pending()[0].ID] = true
		answer(t, thread, `{"decisions":[{"type":"approve"}]}`)
	}
	require.Len(t, ids, 3)
	require.Empty(t, thread.Pending())
	require.Equal(t, []string{`pay{"to":"Ann","amount":5}`, `pay{"to":"Ann","amount":5}`, `mail{"to":"a@b.c"}`}, d.all(),
		"an equal call of a later message, under the same id, is another one")
}

// A card pushed with the answer stands behind the calls and before their results, and isn't taken for the model's words (D-42).
func TestACardPushedWithTheAnswerStaysInItsPlace(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"ai", "human"} {
		for _, decision := range []string{"approve", "reject"} {
			thread, d := begin(t, standard(), calls(payAnn, mailBob))
			_, err := thread.Command(t.Context(), agent.Command{
				Resume: json.RawMessage(`{"decisions":[{"type":"` + decision + `"},{"type":"approve"}]}`), HasResume: true,
				Update: []agent.Write{{Channel: "messages", Value: json.RawMessage(`[{"type":"` + typ + `","id":"card-1","content":"card","response_metadata":{"cards":{"k":1}}}]`)}},
			})
			require.NoError(t, err)
			var order []string
			for _, m := range conversation(t, thread).All() {
				order = append(order, m.Type+" "+m.ID+m.ToolCallID)
			}
			require.Equal(t, []string{"ai ai-1", typ + " card-1"}, order[1:3])
			require.Len(t, order, 6)
			require.Equal(t, "ai ai-2", order[5])
			require.Len(t, d.all(), map[string]int{"approve": 2, "reject": 1}[decision])
		}
	}
}

func TestWhenAndDescriptionsAreAskedOnce(t *testing.T) { // D-39
	t.Parallel()
	for _, mode := range []hitl.Mode{hitl.Batch, hitl.PerCall} {
		var asked, described atomic.Int32 // calls are asked about side by side
		c := standard()
		c.Mode = mode
		c.Policy["pay"] = hitl.Rule{
			Decisions: hitl.All(),
			When: func(r hitl.Request) bool {
				n := asked.Add(1)
				require.NotNil(t, r.Tool)
				require.Equal(t, 2, r.State.Messages()["messages"].Len())
				var p payment
				require.NoError(t, json.Unmarshal(r.Call.Args, &p))
				return p.Amount > 3 && n < 3 // a condition that would flip at the resume
			},
			DescribeFunc: func(r hitl.Request) string { described.Add(1); return "pays " + string(r.Call.Args) },
		}
		thread, d := begin(t, c, calls(call("c1", "pay", `{"to":"Ann","amount":5}`), call("c2", "pay", `{"to":"Bob","amount":1}`)))
		require.Len(t, thread.Pending(), 1)
		require.Contains(t, string(thread.Pending()[0].Value), `"description":"pays {\"to\":\"Ann\",\"amount\":5}"`)
		wire := `{"decisions":[{"type":"reject"}]}`
		if mode == hitl.PerCall {
			wire = `{"type":"reject"}`
		}
		answer(t, thread, wire)
		require.Equal(t, []int32{2, 1}, []int32{asked.Load(), described.Load()})
		require.Equal(t, []string{`pay{"to":"Bob","amount":1}`}, d.all(), "the exempt call runs, the refused one never")
	}
}

// D-107: what can't be read isn't let through.
func TestUnreadableArgumentsAreHeld(t *testing.T) {
	t.Parallel()
	bad := message.NewAI("")
	bad.InvalidToolCalls = []message.InvalidToolCall{{ID: "c1", Name: "pay", Args: `{"to":"Ann","amo`, Error: "cut", Type: "invalid_tool_call"}}
	begun := func(t *testing.T) (*agenttest.Thread, *desk) {
		thread, d := begin(t, standard(), bad)
		require.Len(t, thread.Pending(), 1)
		require.Equal(t, `{"actionRequests":[{"name":"pay","args":{"raw_arguments":"{\"to\":\"Ann\",\"amo"},"description":"Tool execution requires approval\n\nTool: pay\nArgs: {\n  \"raw_arguments\": \"{\\\"to\\\":\\\"Ann\\\",\\\"amo\"\n}\n\nThe arguments are not a JSON object, so that the call can't run as it is."}],`+
			`"reviewConfigs":[{"actionName":"pay","allowedDecisions":["edit","reject","respond"]}]}`, string(thread.Pending()[0].Value))
		require.Equal(t, []string{"/decisions/0/type value must be one of 'edit', 'reject', 'respond'"}, refused(t, thread, `{"decisions":[{"type":"approve"}]}`))
		return thread, d
	}
	t.Run("rejected", func(t *testing.T) {
		t.Parallel()
		thread, d := begun(t)
		answer(t, thread, `{"decisions":[{"type":"reject"}]}`)
		require.Empty(t, d.all())
		require.Len(t, told(t, thread), 1)
	})
	t.Run("put right", func(t *testing.T) {
		t.Parallel()
		thread, d := begun(t)
		answer(t, thread, `{"decisions":[{"type":"edit","editedAction":{"name":"pay","args":{"to":"Ann","amount":3}}}]}`)
		require.Equal(t, []string{`pay{"to":"Ann","amount":3}`}, d.all())
		m := conversation(t, thread).At(1)
		require.Empty(t, m.InvalidToolCalls, "the conversation has a call that providers take")
		require.Equal(t, []message.ToolCall{call("c1", "pay", `{"to":"Ann","amount":3}`)}, m.ToolCalls)
	})
	t.Run("arguments that are no object", func(t *testing.T) {
		t.Parallel()
		thread, _ := begin(t, standard(), calls(call("c1", "pay", `[1]`), call("c2", "pay", `"{}"`)))
		require.Contains(t, string(thread.Pending()[0].Value), `"args":{"raw_arguments":"[1]"}`)
		require.Contains(t, string(thread.Pending()[0].Value), `"args":{"raw_arguments":"{}"}`)
	})
	t.Run("a rule that knows approval only", func(t *testing.T) {
		t.Parallel()
		c := standard()
		c.Policy["pay"] = hitl.Rule{Decisions: []hitl.Decision{hitl.Approve}}
		thread, _ := begin(t, c, bad)
		require.Contains(t, string(thread.Pending()[0].Value), `"allowedDecisions":["reject"]`)
	})
}

func TestWhatIsShownIsWhatRuns(t *testing.T) { // D-101
	t.Parallel()
	thread, d := begin(t, standard(), calls(call("c1", "pay", `{"amount": 1, "to":"Ann", "amount": 500}`)))
	require.Contains(t, string(thread.Pending()[0].Value), `"args":{"amount":500,"to":"Ann"}`)
	answer(t, thread, `{"decisions":[{"type":"approve"}]}`)
	require.Equal(t, []string{`pay{"amount":500,"to":"Ann"}`}, d.all())
}

func TestTheEditNoticeCanBeChosen(t *testing.T) {
	t.Parallel()
	own, none := "Edited.", ""
	for _, tc := range []struct {
		change func(*hitl.Config)
		want   string
	}{
		{func(c *hitl.Config) { c.EditNotice = &own }, "Edited.\n\npay done"},
		{func(c *hitl.Config) { c.EditNotice = &none }, "pay done"},
		{func(c *hitl.Config) {
			c.EditNoticeFunc = func(was, is hitl.Action) string { return string(was.Args) + " -> " + string(is.Args) }
		}, `{"to":"Ann","amount":5} -> {"to":"Ann","amount":4}` + "\n\npay done"},
	} {
		c := standard()
		tc.change(&c)
		thread, _ := begin(t, c, calls(payAnn))
		answer(t, thread, `{"decisions":[{"type":"edit","editedAction":{"name":"pay","args":{"to":"Ann","amount":4}}}]}`)
		require.Equal(t, []string{"c1 success pay: " + tc.want}, told(t, thread))
	}
}
