package hitl_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/message"
)

func sendOf(c message.ToolCall) agent.Target {
	return agent.Send("tools", map[string]any{"call": c})
}

func goTo(t *testing.T, thread *agenttest.Thread, targets ...agent.Target) agenttest.Result {
	t.Helper()
	res, err := thread.Command(t.Context(), agent.Command{Goto: targets})
	require.NoError(t, err)
	require.Equal(t, "success", res.Status, "%+v", res.Err)
	return res
}

func edit(t *testing.T, thread *agenttest.Thread, at string, asNode string, messages ...message.Message) {
	t.Helper()
	values, err := json.Marshal(map[string]any{"messages": messages})
	require.NoError(t, err)
	if messages == nil {
		values = nil
	}
	require.NoError(t, thread.EditAt(t.Context(), "", at, []agent.Edit{{Values: values, AsNode: asNode}}))
}

func spoken(m message.Message) message.Message {
	m.ID = "ai-1"
	return m
}

// Whatever leads to the tool: without an approval for exactly this call it asks itself (decisions 14, D-40).
func TestNoRouteLeadsAroundTheReview(t *testing.T) {
	t.Parallel()
	for name, route := range map[string]func(t *testing.T, thread *agenttest.Thread) *agenttest.Thread{
		"goto tools while the question is open": func(t *testing.T, th *agenttest.Thread) *agenttest.Thread {
			goTo(t, th, sendOf(payAnn))
			return th
		},
		"goto around the review node": func(t *testing.T, th *agenttest.Thread) *agenttest.Thread {
			_, err := th.Command(t.Context(), agent.Command{Goto: []agent.Target{{Node: "model_request"}, sendOf(payAnn)}})
			require.NoError(t, err)
			return th
		},
		"as the review node": func(t *testing.T, th *agenttest.Thread) *agenttest.Thread {
			require.NoError(t, th.Edit(t.Context(), "", []agent.Edit{{Values: json.RawMessage(`{"messages":[]}`), AsNode: hitl.NodeName}}))
			_, err := th.Run(t.Context(), nil)
			require.NoError(t, err)
			return th
		},
		"as the model, with the call": func(t *testing.T, th *agenttest.Thread) *agenttest.Thread {
			edit(t, th, "", "model_request", spoken(calls(payAnn)))
			_, err := th.Run(t.Context(), nil)
			require.NoError(t, err)
			return th
		},
		"as the tools, on a fork": func(t *testing.T, th *agenttest.Thread) *agenttest.Thread {
			edit(t, th, "", "__copy__")
			goTo(t, th, sendOf(payAnn))
			return th
		},
		"a copy of the thread": func(t *testing.T, th *agenttest.Thread) *agenttest.Thread {
			c := th.Copy("00000000-0000-4000-8000-000000000002")
			goTo(t, c, sendOf(payAnn))
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			thread, d := begin(t, standard(), calls(payAnn))
			thread = route(t, thread)
			require.Empty(t, d.all())
			require.NotEmpty(t, thread.Pending())
		})
	}
}

// The question that the tool asks itself has the agent's form, and its approval is enough.
func TestACallWithoutAnApprovalAsksItself(t *testing.T) {
	t.Parallel()
	thread, d := begin(t, standard(), calls(payAnn, mailBob))
	require.NoError(t, thread.Edit(t.Context(), "", []agent.Edit{{Values: json.RawMessage(`{"messages":[]}`), AsNode: hitl.NodeName}}))
	_, err := thread.Run(t.Context(), nil)
	require.NoError(t, err)
	pending := thread.Pending()
	require.Len(t, pending, 2, "one for each call")
	require.JSONEq(t, `{"actionRequests":[{"name":"pay","args":{"to":"Ann","amount":5},"description":"Tool execution requires approval\n\nTool: pay\nArgs: {\n  \"to\": \"Ann\",\n  \"amount\": 5\n}"}],"reviewConfigs":[{"actionName":"pay","allowedDecisions":["approve","edit","reject","respond"]}]}`, string(pending[0].Value))
	answer(t, thread, `{"`+pending[0].ID+`":{"decisions":[{"type":"approve"}]},"`+pending[1].ID+`":{"decisions":[{"type":"reject"}]}}`)
	require.Equal(t, []string{`pay{"to":"Ann","amount":5}`}, d.all())
	require.Len(t, told(t, thread), 2)
}

// approved is a thread that stands before the tools, which were approved.
func approved(t *testing.T) (*agenttest.Thread, *desk) {
	t.Helper()
	thread, d := begin(t, standard(), calls(payAnn, mailBob))
	exec := thread.Execution()
	plan := resumed(t, thread, `{"decisions":[{"type":"approve"},{"type":"approve"}]}`)
	exec.Resumed, exec.InterruptBefore = plan, []string{"tools"}
	res, err := thread.Start(t.Context(), exec)
	require.NoError(t, err)
	require.True(t, res.Breakpoint)
	require.Empty(t, d.all())
	return thread, d
}

// resumed stores an answer as its admission does.
func resumed(t *testing.T, thread *agenttest.Thread, wire string) []string {
	t.Helper()
	ids, err := thread.Admit(t.Context(), agent.Command{Resume: json.RawMessage(wire), HasResume: true})
	require.NoError(t, err)
	return ids
}

func TestAnApprovalIsOfOneCallOfOneThreadOnOneBranch(t *testing.T) { // D-101
	t.Parallel()
	both := []string{`mail{"to":"bob@example.org"}`, `pay{"to":"Ann","amount":5}`}
	t.Run("the calls that were approved run", func(t *testing.T) {
		t.Parallel()
		thread, d := approved(t)
		_, err := thread.Run(t.Context(), nil)
		require.NoError(t, err)
		require.ElementsMatch(t, both, d.all())
		require.Empty(t, thread.Pending())
	})
	t.Run("once, however often they are sent for", func(t *testing.T) {
		t.Parallel()
		thread, d := approved(t)
		goTo(t, thread, sendOf(payAnn), sendOf(payAnn), sendOf(mailBob))
		require.ElementsMatch(t, both, d.all())
		require.Len(t, told(t, thread), 2)
		goTo(t, thread, sendOf(payAnn))
		require.Len(t, d.all(), 2, "it has its answer")
		require.Empty(t, thread.Pending())
	})
	t.Run("whatever the order of the arguments", func(t *testing.T) {
		t.Parallel()
		thread, d := approved(t)
		edit(t, thread, "", "", spoken(calls(call("c1", "pay", `{"amount":5,"to":"Ann"}`), mailBob)))
		_, err := thread.Run(t.Context(), nil)
		require.NoError(t, err)
		require.ElementsMatch(t, both, d.all())
	})
	t.Run("not with other arguments", func(t *testing.T) {
		t.Parallel()
		thread, d := approved(t)
		changed := call("c1", "pay", `{"to":"Eve","amount":5}`)
		edit(t, thread, "", hitl.NodeName, spoken(calls(changed, mailBob)))
		_, err := thread.Run(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, both[:1], d.all())
		require.Len(t, thread.Pending(), 1)
		require.Contains(t, string(thread.Pending()[0].Value), "Eve")
		answer(t, thread, `{"decisions":[{"type":"approve"}]}`)
		require.Equal(t, []string{both[0], `pay{"to":"Eve","amount":5}`}, d.all())
	})
	t.Run("not for another tool, or another call", func(t *testing.T) {
		t.Parallel()
		thread, d := approved(t)
		edit(t, thread, "", hitl.NodeName, spoken(calls(call("c1", "mail", `{"to":"Ann","amount":5}`), call("c7", "pay", string(payAnn.Args)))))
		_, err := thread.Run(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, d.all())
		require.Len(t, thread.Pending(), 2)
	})
	t.Run("a call that isn't in the conversation is left alone", func(t *testing.T) {
		t.Parallel()
		thread, d := approved(t)
		goTo(t, thread, sendOf(call("c9", "pay", string(payAnn.Args))))
		require.Empty(t, d.all())
		require.Empty(t, thread.Pending())
		require.Empty(t, told(t, thread))
	})
	for name, branch := range map[string]func(t *testing.T, th *agenttest.Thread) *agenttest.Thread{
		"a fork": func(t *testing.T, th *agenttest.Thread) *agenttest.Thread {
			edit(t, th, "", "__copy__")
			_, err := th.Run(t.Context(), nil)
			require.NoError(t, err)
			return th
		},
		"a replay": func(t *testing.T, th *agenttest.Thread) *agenttest.Thread {
			at := th.History("")[0].ID
			edit(t, th, "", "tools", message.NewAI("hm")) // so that it isn't the head
			_, err := th.RunFrom(t.Context(), at, nil)
			require.NoError(t, err)
			return th
		},
		"an edit by id": func(t *testing.T, th *agenttest.Thread) *agenttest.Thread {
			edit(t, th, th.History("")[0].ID, hitl.NodeName, spoken(calls(payAnn, mailBob)))
			_, err := th.Run(t.Context(), nil)
			require.NoError(t, err)
			return th
		},
		"a copy": func(t *testing.T, th *agenttest.Thread) *agenttest.Thread {
			c := th.Copy("00000000-0000-4000-8000-000000000002")
			_, err := c.Run(t.Context(), nil)
			require.NoError(t, err)
			return c
		},
	} {
		t.Run(name+" has reviews of its own", func(t *testing.T) {
			t.Parallel()
			thread, d := approved(t)
			thread = branch(t, thread)
			require.Empty(t, d.all())
			require.Len(t, thread.Pending(), 2)
			for len(thread.Pending()) > 0 {
				answer(t, thread, `{"`+thread.Pending()[0].ID+`":{"decisions":[{"type":"approve"}]}}`)
			}
			require.ElementsMatch(t, both, d.all())
		})
	}
	t.Run("what was refused stays refused", func(t *testing.T) {
		t.Parallel()
		thread, d := begin(t, standard(), calls(payAnn))
		exec := thread.Execution()
		exec.Resumed, exec.InterruptAfter = resumed(t, thread, `{"decisions":[{"type":"reject"}]}`), []string{hitl.NodeName}
		_, err := thread.Start(t.Context(), exec)
		require.NoError(t, err)
		last, _ := conversation(t, thread).Last()
		require.Equal(t, message.Tool, last.Type)
		edit(t, thread, "", hitl.NodeName, message.Message{Type: message.Remove, ID: last.ID}) // the call is open again
		_, err = thread.Run(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, d.all())
		require.Len(t, told(t, thread), 1)
	})
	t.Run("what ran and lost its answer gets the recorded one", func(t *testing.T) {
		t.Parallel()
		thread, d := begin(t, standard(), calls(payAnn))
		exec := thread.Execution()
		exec.Resumed, exec.InterruptAfter = resumed(t, thread, `{"decisions":[{"type":"approve"}]}`), []string{"tools"}
		_, err := thread.Start(t.Context(), exec)
		require.NoError(t, err)
		require.Len(t, d.all(), 1)
		result, _ := conversation(t, thread).Last()
		edit(t, thread, "", hitl.NodeName, message.Message{Type: message.Remove, ID: result.ID})
		res, err := thread.Run(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, d.all(), 1, "the approval is used")
		require.Equal(t, []string{"c1 success pay: pay done"}, told(t, thread))
		require.Contains(t, kinds(res), agent.ToolFinished, "readers learn of its end")
	})
}

func kinds(res agenttest.Result) []agent.Kind {
	var all []agent.Kind
	for _, e := range res.Events {
		all = append(all, e.Kind)
	}
	return all
}

// Kill between the execution and its task's commit: the approval is used, the result kept (D-20).
func TestACrashBehindTheToolRunsItNotAgain(t *testing.T) {
	t.Parallel()
	for _, mode := range []hitl.Mode{hitl.Batch, hitl.PerCall} {
		c := standard()
		c.Mode = mode
		thread, d := begin(t, c, calls(payAnn))
		down := errors.New("the store is gone")
		thread.OnCommit = func(c agent.Commit) error {
			if len(c.Tasks) > 0 && c.Tasks[0].Name == "tools" {
				return down
			}
			return nil
		}
		wire := `{"decisions":[{"type":"approve"}]}`
		if mode == hitl.PerCall {
			wire = `{"type":"approve"}`
		}
		exec := thread.Execution()
		exec.Resumed = resumed(t, thread, wire)
		_, err := thread.Start(t.Context(), exec)
		require.ErrorIs(t, err, down)
		require.Len(t, d.all(), 1)
		thread.OnCommit = nil
		res, err := thread.Recover(t.Context(), exec)
		require.NoError(t, err)
		require.Equal(t, "success", res.Status)
		require.Len(t, d.all(), 1)
		require.Equal(t, []string{"c1 success pay: pay done"}, told(t, thread))
	}
}

// Kill in the middle of the tool: nobody knows whether it took place, so a person says (decisions 6).
func TestACrashInsideTheToolAsksAPerson(t *testing.T) {
	t.Parallel()
	thread, d := begin(t, standard(), calls(payAnn))
	down := errors.New("the store is gone")
	thread.OnCommit = func(c agent.Commit) error {
		if len(c.Steps) > 0 && c.Steps[0].Name == "tool:pay" && c.Steps[0].Status == agent.StepDone {
			return down
		}
		return nil
	}
	exec := thread.Execution()
	exec.Resumed = resumed(t, thread, `{"decisions":[{"type":"approve"}]}`)
	_, err := thread.Start(t.Context(), exec)
	require.ErrorIs(t, err, down)
	thread.OnCommit = nil
	res, err := thread.Recover(t.Context(), exec)
	require.NoError(t, err)
	require.True(t, res.Suspended)
	require.Contains(t, string(thread.Pending()[0].Value), "unknown_outcome")
	answer(t, thread, `{"type":"done","result":"paid, says the bank"}`)
	require.Len(t, d.all(), 1)
	require.Len(t, told(t, thread), 1)
	require.Contains(t, told(t, thread)[0], "paid, says the bank")
}

// What the audit log needs is in the checkpoint, out of the caller's reach (D-98).
func TestWhatWasDecidedIsOnRecord(t *testing.T) {
	t.Parallel()
	thread, _ := begin(t, standard(), calls(payAnn, mailBob))
	asked := thread.Pending()[0].ID
	exec := thread.Execution()
	exec.Resumed, exec.InterruptAfter = resumed(t, thread, `{"decisions":[{"type":"edit","editedAction":{"name":"pay","args":{"to":"Ann","amount":1}}},{"type":"reject","message":"no"}]}`), []string{hitl.NodeName, "tools"}
	_, err := thread.Start(t.Context(), exec)
	require.NoError(t, err)
	want := []hitl.Record{
		{CallID: "c1", MessageID: "ai-1", Name: "pay", Args: payAnn.Args, Digest: hitl.Digest("pay", payAnn.Args), Decision: hitl.Edit, InterruptID: asked,
			Edited: &hitl.Action{Name: "pay", Args: json.RawMessage(`{"to":"Ann","amount":1}`)}},
		{CallID: "c2", MessageID: "ai-1", Name: "mail", Args: mailBob.Args, Digest: hitl.Digest("mail", mailBob.Args), Decision: hitl.Reject, InterruptID: asked, Message: "no"},
	}
	records, err := hitl.Records(thread.History("")[0], thread.ID)
	require.NoError(t, err)
	require.Equal(t, want, records)
	exec = thread.Execution()
	exec.InterruptAfter = []string{"tools"}
	_, err = thread.Start(t.Context(), exec)
	require.NoError(t, err)
	records, err = hitl.Records(thread.History("")[0], thread.ID)
	require.NoError(t, err)
	want[0].Executed = true
	require.Equal(t, want, records, "approved and executed are two things")
	records, err = hitl.Records(thread.History("")[0], "another thread")
	require.NoError(t, err)
	require.Empty(t, records)
	_, err = thread.Run(t.Context(), nil)
	require.NoError(t, err)
	records, err = hitl.Records(thread.History("")[0], thread.ID)
	require.NoError(t, err)
	require.Empty(t, records, "the next message of the model has none yet")
}
