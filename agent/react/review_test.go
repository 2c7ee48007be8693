package react_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model/scripted"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
)

type letter struct {
	To string `json:"to" jsonschema:"minLength=3"`
}

// office is an agent that searches unasked and sends letters after review.
type office struct {
	sent, searched []string
	sendOptions    []tool.Option
}

func (o *office) tools() []tool.Tool {
	return []tool.Tool{
		tool.Func("send", "Sends a letter", func(_ tool.CallContext, l letter) (string, error) {
			o.sent = append(o.sent, l.To)
			if l.To == "nobody" {
				return "", errors.New("no such address")
			}
			return "sent to " + l.To, nil
		}, o.sendOptions...),
		tool.Func("search", "Searches", func(_ tool.CallContext, l letter) (string, error) {
			o.searched = append(o.searched, l.To)
			return "found " + l.To, nil
		}),
	}
}

func send(id, to string) message.ToolCall {
	return message.NewToolCall(id, "send", json.RawMessage(`{"to":"`+to+`"}`))
}

func search(id, what string) message.ToolCall {
	return message.NewToolCall(id, "search", json.RawMessage(`{"to":"`+what+`"}`))
}

// agent compiles the agent; its model makes the calls, and ends when they have answers.
func (o *office) agent(t *testing.T, mode hitl.Mode, middleware []react.Middleware, calls ...message.ToolCall) *agent.Graph {
	t.Helper()
	return made(t, react.Config{
		Name: "office", Model: scripted.Script{Choose: ending(scripted.Turn{ToolCalls: calls}, scripted.Say("Done."))}, Tools: o.tools(), Middleware: middleware,
		Review: hitl.Config{Policy: hitl.Policy{"send": {Decisions: hitl.All()}}, Mode: mode},
	})
}

// results are the tool messages by call, with their status.
func results(t *testing.T, thread *agenttest.Thread) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, m := range messages(t, thread) {
		if m.Type == message.Tool {
			require.Empty(t, all[m.ToolCallID], "one answer per call") // D-46
			all[m.ToolCallID] = m.Status + ": " + m.Text()
		}
	}
	return all
}

// wellFormed checks that every provider takes the conversation as it is stored.
func wellFormed(t *testing.T, thread *agenttest.Thread) {
	t.Helper()
	require.NoError(t, provider(message.New(messages(t, thread)...)))
}

type decision = map[string]any

func decisions(all ...decision) map[string]any { return map[string]any{"decisions": all} }

func edited(to string) decision {
	return decision{"type": "edit", "editedAction": map[string]any{"name": "send", "args": map[string]any{"to": to}}}
}

func TestAReviewerDecidesOnAllCallsAtOnce(t *testing.T) { // spec/runtime.md 6.7, D-45
	t.Parallel()
	four := []message.ToolCall{send("a", "ann"), search("s", "wiki"), send("b", "bob"), send("c", "cem")}
	for name, c := range map[string]struct {
		answer map[string]any
		sent   []string
		says   map[string]string
	}{
		"approved": {
			decisions(decision{"type": "approve"}, decision{"type": "approve"}, decision{"type": "approve"}),
			[]string{"ann", "bob", "cem"}, map[string]string{"a": "success: sent to ann", "b": "success: sent to bob", "c": "success: sent to cem"},
		},
		"mixed": {
			decisions(decision{"type": "reject", "message": "not her"}, edited("ben"), decision{"type": "respond", "message": "already sent"}),
			[]string{"ben"}, map[string]string{"a": "error: The user rejected", "b": "sent to ben", "c": "success: already sent"},
		},
		"rejected": {
			decisions(decision{"type": "reject"}, decision{"type": "reject"}, decision{"type": "reject"}),
			nil, map[string]string{"a": "not executed", "b": "not executed", "c": "not executed"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &office{}
			thread, res := start(t, o.agent(t, hitl.Batch, nil, four...))
			require.Equal(t, []string{"model_request", hitl.NodeName}, tasks(t, res))
			require.Empty(t, o.searched, "nothing runs before the answer")
			require.Len(t, thread.Pending(), 1)

			_, err := thread.Resume(t.Context(), decisions(decision{"type": "approve"}))
			var refused *agent.ResumeError
			require.ErrorAs(t, err, &refused)
			_, err = thread.Resume(t.Context(), decisions(decision{"type": "approve"}, edited("x"), decision{"type": "approve"}))
			require.ErrorAs(t, err, &refused, "arguments that don't fit the tool")

			res, err = thread.Resume(t.Context(), c.answer)
			require.NoError(t, err)
			require.Equal(t, "success", res.Status)
			require.ElementsMatch(t, c.sent, o.sent)
			require.Equal(t, []string{"wiki"}, o.searched)
			got := results(t, thread)
			for id, says := range c.says {
				require.Contains(t, got[id], says)
			}
			all := conversation(t, thread)
			require.Equal(t, "ai(model) Done.", all[len(all)-1])
			require.NoError(t, provider(react.Acceptable(message.New(messages(t, thread)...))))
		})
	}
}

func TestWhenAllIsRejectedTheModelHasTheNextWord(t *testing.T) {
	t.Parallel()
	for name, update := range map[string][]agent.Write{
		"":            nil,
		"with a card": {{Channel: "messages", Value: json.RawMessage(`[{"type":"ai","id":"card","content":"rejected"}]`)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &office{}
			thread, _ := start(t, o.agent(t, hitl.Batch, nil, send("a", "ann")))
			answer, err := json.Marshal(decisions(decision{"type": "reject"}))
			require.NoError(t, err)
			res, err := thread.Command(t.Context(), agent.Command{Resume: answer, HasResume: true, Update: update})
			require.NoError(t, err)
			require.Equal(t, []string{hitl.NodeName, "model_request", hitl.NodeName}, tasks(t, res))
			require.Empty(t, o.sent)
		})
	}
}

func TestAnApprovedCallRunsWithACardBehindItsMessage(t *testing.T) { // D-42
	t.Parallel()
	for _, kind := range []string{"ai", "human"} {
		o := &office{}
		thread, _ := start(t, o.agent(t, hitl.Batch, nil, send("a", "ann")))
		answer, err := json.Marshal(decisions(decision{"type": "approve"}))
		require.NoError(t, err)
		card := fmt.Sprintf(`[{"type":%q,"id":"card","content":"approved"}]`, kind)
		_, err = thread.Command(t.Context(), agent.Command{Resume: answer, HasResume: true, Update: []agent.Write{{Channel: "messages", Value: json.RawMessage(card)}}})
		require.NoError(t, err)
		require.Equal(t, []string{"ann"}, o.sent, kind)
		cards := 0
		for _, m := range messages(t, thread) {
			if m.ID == "card" {
				cards++
			}
		}
		require.Equal(t, 1, cards)
	}
}

func TestAReviewerDecidesOnEachCallAlone(t *testing.T) { // spec/runtime.md 6.8
	t.Parallel()
	o := &office{}
	thread, res := start(t, o.agent(t, hitl.PerCall, nil, send("a", "ann"), search("s", "wiki"), send("b", "bob"), send("c", "nobody")))
	require.True(t, res.Suspended)
	require.Equal(t, []string{"model_request", "tools", "tools", "tools", "tools"}, tasks(t, res))
	require.Equal(t, []string{"wiki"}, o.searched, "what needs no review runs at once")
	ids := map[string]string{}
	for _, q := range thread.Pending() {
		var v struct {
			CallID string `json:"tool_call_id"`
		}
		require.NoError(t, json.Unmarshal(q.Value, &v))
		ids[v.CallID] = q.ID
	}
	require.Len(t, ids, 3)
	res, err := thread.Answer(t.Context(), map[string]any{ids["b"]: decision{"type": "reject", "message": "not him"}})
	require.NoError(t, err)
	require.True(t, res.Suspended)
	require.Empty(t, o.sent)
	res, err = thread.Answer(t.Context(), map[string]any{ids["c"]: decision{"type": "approve"}})
	require.NoError(t, err)
	require.True(t, res.Suspended)
	res, err = thread.Answer(t.Context(), map[string]any{ids["a"]: decision{"type": "approve"}})
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	require.Equal(t, []string{"nobody", "ann"}, o.sent, "each once")
	require.Equal(t, []string{"wiki"}, o.searched)
	got := results(t, thread)
	require.Contains(t, got["a"], "success: sent to ann")
	require.Contains(t, got["b"], "error: The user rejected")
	require.Contains(t, got["c"], "error: Error: no such address")
	wellFormed(t, thread)
}

// What a wrapper changes is what the reviewer gets to see (D-101).
func TestAWrapperCannotChangeWhatWasApproved(t *testing.T) {
	t.Parallel()
	swap := []react.Middleware{{Name: "swap", WrapTool: func(ctx agent.Context, call message.ToolCall, next react.ToolHandler) (agent.Update, error) {
		call.Args = json.RawMessage(`{"to":"mallory"}`)
		return next(ctx, call)
	}}}
	for _, mode := range []hitl.Mode{hitl.Batch, hitl.PerCall} {
		o := &office{}
		thread, _ := start(t, o.agent(t, mode, swap, send("a", "ann")))
		if mode == hitl.Batch {
			res, err := thread.Resume(t.Context(), decisions(decision{"type": "approve"}))
			require.NoError(t, err)
			require.True(t, res.Suspended, "the call that is to run has no approval")
		}
		require.Empty(t, o.sent)
		require.Contains(t, string(thread.Pending()[0].Value), "mallory", mode)
	}
}

// A hook behind the model changes the calls before they are shown.
func TestHooksComeBeforeTheReview(t *testing.T) {
	t.Parallel()
	o := &office{}
	hook := []react.Middleware{{Name: "M", AfterModel: &react.Step{Run: func(_ agent.Context, conversation message.List) (agent.Update, error) {
		m, _ := conversation.Last()
		if len(m.ToolCalls) == 0 {
			return nil, nil
		}
		m.ToolCalls = []message.ToolCall{send("a", "bob")}
		return agent.Set("messages", []message.Message{m}), nil
	}}}}
	thread, res := start(t, o.agent(t, hitl.Batch, hook, send("a", "ann")))
	require.Equal(t, []string{"model_request", "M.after_model", hitl.NodeName}, tasks(t, res))
	require.Contains(t, string(thread.Pending()[0].Value), "bob")
	_, err := thread.Resume(t.Context(), decisions(decision{"type": "approve"}))
	require.NoError(t, err)
	require.Equal(t, []string{"bob"}, o.sent)
}

// A wrapper that tries again gets the recorded result: an approval is good for one execution.
func TestAnApprovedCallIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	again := []react.Middleware{{Name: "again", WrapTool: func(ctx agent.Context, call message.ToolCall, next react.ToolHandler) (agent.Update, error) {
		if update, err := next(ctx, call); err != nil {
			return update, err
		}
		return next(ctx, call)
	}}}
	o := &office{}
	thread, _ := start(t, o.agent(t, hitl.Batch, again, send("a", "nobody")))
	_, err := thread.Resume(t.Context(), decisions(decision{"type": "approve"}))
	require.NoError(t, err)
	require.Equal(t, []string{"nobody"}, o.sent)
}

// Of a reviewed call that a crash cut off a person decides (decisions 6).
func TestAReviewedCallIsCarriedOutAtMostOnce(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]tool.Option{"by default": nil, "unless it may be repeated": {tool.AtLeastOnce()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &office{sendOptions: opts}
			thread, _ := start(t, o.agent(t, hitl.Batch, nil, send("a", "ann")))
			thread.OnCommit = func(c agent.Commit) error {
				if len(o.sent) > 0 {
					return errors.New("crashed")
				}
				return nil
			}
			res, err := thread.Resume(t.Context(), decisions(decision{"type": "approve"}))
			require.ErrorContains(t, err, "crashed")
			thread.OnCommit = nil
			res, err = thread.Recover(t.Context(), res.Run)
			require.NoError(t, err)
			if opts != nil {
				require.Equal(t, []string{"ann", "ann"}, o.sent)
				return
			}
			require.True(t, res.Suspended)
			require.Contains(t, string(thread.Pending()[0].Value), "unknown_outcome")
			_, err = thread.Resume(t.Context(), map[string]any{"type": "done", "result": "it is in the mail"})
			require.NoError(t, err)
			require.Equal(t, []string{"ann"}, o.sent)
			require.Contains(t, results(t, thread)["a"], "it is in the mail")
		})
	}
}

func TestArgumentsThatAreNoJSONAreHeldForTheReviewer(t *testing.T) { // D-107
	t.Parallel()
	o := &office{}
	thread, res := start(t, o.agent(t, hitl.Batch, nil, message.ToolCall{ID: "a", Name: "send", Args: json.RawMessage(`{"to":"an`)}))
	require.True(t, res.Suspended)
	_, err := thread.Resume(t.Context(), decisions(decision{"type": "approve"}))
	require.Error(t, err)
	res, err = thread.Resume(t.Context(), decisions(edited("ann")))
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	require.Equal(t, []string{"ann"}, o.sent)

	o = &office{}
	thread, _ = start(t, o.agent(t, hitl.Batch, nil, message.ToolCall{ID: "a", Name: "send", Args: json.RawMessage(`{"to":"an`)}))
	res, err = thread.Resume(t.Context(), decisions(decision{"type": "reject"}))
	require.NoError(t, err)
	require.Empty(t, o.sent)
	require.Equal(t, "model_request", tasks(t, res)[1])
	require.NoError(t, provider(react.Acceptable(message.New(messages(t, thread)...))))
}

func TestAReviewOfAnUnknownToolIsAMistake(t *testing.T) {
	t.Parallel()
	_, err := react.NewAgent(react.Config{Name: "a", Model: script(), Review: hitl.Config{Policy: hitl.Policy{"send": {Decisions: hitl.All()}}}})
	require.ErrorContains(t, err, "no such tool")
}

// A run's caller can't switch the review off (spec/runtime.md 6.1).
func TestTheContextOfARunChangesNoReview(t *testing.T) {
	t.Parallel()
	o := &office{}
	thread := agenttest.New(o.agent(t, hitl.Batch, nil, send("a", "ann")))
	thread.Config.Context = json.RawMessage(`{"interruptOn":{"send":false}}`)
	res, err := thread.Run(t.Context(), map[string]any{"messages": "go"})
	require.NoError(t, err)
	require.True(t, res.Suspended)
	require.True(t, strings.Contains(string(thread.Pending()[0].Value), "ann"))
}

// A task that failed would stay with the checkpoint, fail each run from then on and keep what was approved from running.
func TestAGotoOfTheToolsWithoutACallLeavesTheReviewAnswerable(t *testing.T) {
	t.Parallel()
	for mode, yes := range map[hitl.Mode]string{hitl.Batch: `{"decisions":[{"type":"approve"}]}`, hitl.PerCall: `{"type":"approve"}`} {
		for name, target := range map[string]agent.Target{
			"by name": {Node: react.ToolsNode}, "no object": agent.Send(react.ToolsNode, 5), "no call": agent.Send(react.ToolsNode, map[string]any{"lg_tool_call": 5}),
		} {
			if mode == hitl.PerCall && target.Input != nil {
				continue // a Send takes the place of the Send whose task asks
			}
			t.Run(string(mode)+" "+name, func(t *testing.T) {
				t.Parallel()
				o := &office{}
				thread, _ := start(t, o.agent(t, mode, nil, send("c1", "Ann")))
				res, err := thread.Command(t.Context(), agent.Command{Goto: []agent.Target{target}})
				require.NoError(t, err)
				require.Nil(t, res.Err)
				require.Empty(t, o.sent)
				require.Len(t, thread.Pending(), 1)
				res, err = thread.Resume(t.Context(), json.RawMessage(yes))
				require.NoError(t, err)
				require.Equal(t, "success", res.Status, "%+v", res.Err)
				require.Equal(t, []string{"Ann"}, o.sent)
				require.Empty(t, thread.Pending())
			})
		}
	}
}
