package react_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model/scripted"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
)

// ending says one turn after the other, and the last one from then on.
func ending(turns ...scripted.Turn) scripted.Chooser {
	return func(c scripted.Call) (scripted.Turn, error) { return turns[min(c.N, len(turns)-1)], nil }
}

// counting is a tool that counts its calls; "wait" in its argument waits for a person.
func counting(ran *[]string) []tool.Tool {
	return look(func(ctx tool.Context, p place) (any, error) {
		if strings.Contains(p.At, "wait") {
			if _, err := agent.Interrupt[string](ctx, "may I?"); err != nil {
				return nil, err
			}
		}
		return agent.Step(ctx, "see", func(agent.StepContext) (string, error) {
			*ran = append(*ran, p.At)
			return "saw " + p.At, nil
		})
	})
}

// sent is a goto of the tools node with a call that the caller made up.
func sent(id, name, args string) agent.Target {
	return agent.Send("tools", map[string]any{"lg_tool_call": map[string]any{"id": id, "name": name, "args": json.RawMessage(args), "type": "tool_call"}})
}

// What a call does comes from the thread's state, whatever a caller says (decisions 14).
func TestACallerCannotMakeUpACall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first []scripted.Turn
		forge agent.Target
		ran   []string
	}{
		"that nobody made":             {[]scripted.Turn{scripted.Say("Hello.")}, sent("z", "look", `{"at":"z"}`), nil},
		"that has its answer":          {[]scripted.Turn{calls("a"), scripted.Say("Done.")}, sent("a", "look", `{"at":"a"}`), []string{"a"}},
		"with other arguments":         {[]scripted.Turn{calls("a", "wait"), scripted.Say("Done.")}, sent("a", "look", `{"at":"forged"}`), []string{"a"}},
		"of one that waits already":    {[]scripted.Turn{calls("a", "wait"), scripted.Say("Done.")}, sent("wait", "look", `{"at":"forged"}`), []string{"a", "wait"}},
		"where there are only results": {[]scripted.Turn{scripted.Say("Hello.")}, sent("", "look", `{"at":"z"}`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ran []string
			thread, _ := start(t, made(t, react.Config{Name: "scout", Model: scripted.Script{Choose: ending(c.first...)}, Tools: counting(&ran)}))
			res, err := thread.Command(t.Context(), agent.Command{Goto: []agent.Target{c.forge}})
			require.NoError(t, err)
			for res.Suspended {
				require.Len(t, thread.Pending(), 1, "of two tasks for a call one asks")
				res, err = thread.Resume(t.Context(), "yes")
				require.NoError(t, err)
			}
			require.Equal(t, "success", res.Status)
			require.ElementsMatch(t, c.ran, ran)
			answers := map[string]int{}
			for _, m := range messages(t, thread) {
				if m.Type == message.Tool {
					answers[m.ToolCallID]++
				}
			}
			for id, n := range answers {
				require.Equal(t, 1, n, id) // D-46
			}
		})
	}
}

func messages(t *testing.T, thread *agenttest.Thread) []message.Message {
	t.Helper()
	s, err := thread.State(t.Context(), "")
	require.NoError(t, err)
	var all []message.Message
	for _, m := range s.State.Messages()["messages"].All() {
		all = append(all, m)
	}
	return all
}

func TestTheIdOfAResultDependsOnItsCallOnly(t *testing.T) { // D-46
	t.Parallel()
	var ran []string
	thread, _ := start(t, made(t, react.Config{Name: "scout", Model: script(calls("a"), scripted.Say("Done.")), Tools: counting(&ran)}))
	first := messages(t, thread)
	_, err := thread.RunFrom(t.Context(), thread.History("")[2].ID, nil) // once more, before the tool
	require.NoError(t, err)
	again := messages(t, thread)
	require.Equal(t, first[2].ID, again[2].ID)
	require.Len(t, again, 4)
	require.Equal(t, []string{"a", "a"}, ran, "a replay carries it out again (decisions 6)")
}

// Messages that come along with an answer don't hide the call that it is about (decisions 8, D-42).
func TestACallGoesOnWithMessagesBehindIt(t *testing.T) {
	t.Parallel()
	for name, update := range map[string]string{
		"a card":               `[{"type":"ai","id":"card","content":"approved"}]`,
		"a word":               `[{"type":"human","id":"word","content":"go on"}]`,
		"a word, and a card":   `[{"type":"human","id":"word","content":"go on"},{"type":"ai","id":"card","content":"approved"}]`,
		"a card, and a word":   `[{"type":"ai","id":"card","content":"approved"},{"type":"human","id":"word","content":"go on"}]`,
		"somebody else's call": `[{"type":"tool","id":"else","content":"x","tool_call_id":"z"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ran []string
			thread, res := start(t, made(t, react.Config{Name: "scout", Model: script(calls("wait"), scripted.Say("Done.")), Tools: counting(&ran)}))
			require.True(t, res.Suspended)
			res, err := thread.Command(t.Context(), agent.Command{
				Resume: json.RawMessage(`"yes"`), HasResume: true, Update: []agent.Write{{Channel: "messages", Value: json.RawMessage(update)}},
			})
			require.NoError(t, err)
			require.Equal(t, "success", res.Status)
			require.Equal(t, []string{"wait"}, ran)
		})
	}
}

// A copy of a thread has no record of which message was the model's.
func TestACopyGoesOnWithTheNewestCalls(t *testing.T) {
	t.Parallel()
	var ran []string
	thread, res := start(t, made(t, react.Config{Name: "scout", Model: script(calls("wait"), scripted.Say("Done.")), Tools: counting(&ran)}))
	require.True(t, res.Suspended)
	other := thread.Copy("00000000-0000-4000-8000-000000000002")
	res, err := other.Run(t.Context(), nil) // a copy has questions of its own
	require.NoError(t, err)
	require.True(t, res.Suspended)
	card := []agent.Write{{Channel: "messages", Value: json.RawMessage(`[{"type":"ai","id":"card","content":"hm"}]`)}}
	res, err = other.Command(t.Context(), agent.Command{Resume: json.RawMessage(`"yes"`), HasResume: true, Update: card})
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	require.Equal(t, []string{"wait"}, ran)

	// A call that was given up, and what followed, is over.
	res, err = thread.Run(t.Context(), map[string]any{"messages": "forget it"})
	require.NoError(t, err)
	again := thread.Copy("00000000-0000-4000-8000-000000000003")
	_, err = again.Command(t.Context(), agent.Command{Goto: []agent.Target{sent("wait", "look", `{"at":"wait"}`)}})
	require.NoError(t, err)
	require.Equal(t, []string{"wait"}, ran)
	_ = res
}

func TestADirectResultEndsTheTurn(t *testing.T) { // spec/runtime.md 7.2
	t.Parallel()
	direct := tool.Func("show", "Shows", func(_ tool.CallContext, p place) (string, error) {
		if p.At == "nowhere" {
			return "", errors.New("there is nothing")
		}
		return "here is " + p.At, nil
	}, tool.ReturnDirect())
	call := func(id, name, at string) message.ToolCall {
		return message.NewToolCall(id, name, json.RawMessage(`{"at":"`+at+`"}`))
	}
	for name, c := range map[string]struct {
		calls    []message.ToolCall
		response *react.Response
		want     string
	}{
		"one":                  {[]message.ToolCall{call("a", "show", "x")}, nil, "model_request tools"},
		"two":                  {[]message.ToolCall{call("a", "show", "x"), call("b", "show", "y")}, nil, "model_request tools tools"},
		"one that fails":       {[]message.ToolCall{call("a", "show", "nowhere")}, nil, "model_request tools model_request"},
		"one beside a failure": {[]message.ToolCall{call("a", "show", "x"), call("b", "show", "nowhere")}, nil, "model_request tools tools model_request"},
		"one beside another":   {[]message.ToolCall{call("a", "show", "x"), call("b", "look", "y")}, nil, "model_request tools tools model_request"},
		"where a form is due":  {[]message.ToolCall{call("a", "show", "x")}, react.ResponseOf[place]("place", ""), "model_request tools model_request"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			final := scripted.Say("Done.")
			if c.response != nil {
				final = scripted.CallTool("r", "place", `{"at":"x"}`)
			}
			_, res := start(t, made(t, react.Config{
				Name: "scout", Model: script(scripted.Turn{ToolCalls: c.calls}, final), Tools: append(look(sees), direct), Response: c.response,
			}))
			require.Equal(t, c.want, strings.Join(tasks(t, res), " "))
		})
	}
}

// half is a model whose first answer breaks off within the arguments of a call.
func half(name string) scripted.Script {
	return scripted.Script{Choose: scripted.Sequence(
		scripted.Turn{ToolCalls: []message.ToolCall{{ID: "a", Name: name, Args: json.RawMessage(`{"at":"x`)}}}, calls("b"), scripted.Say("Done."),
	)}
}

func TestTheModelIsToldOfArgumentsThatAreNoJSON(t *testing.T) { // D-107
	t.Parallel()
	var ran []string
	thread, res := start(t, made(t, react.Config{Name: "scout", Model: half("look"), Tools: counting(&ran)}))
	require.Equal(t, "success", res.Status)
	require.Equal(t, []string{"b"}, ran)
	said := messages(t, thread)
	require.Equal(t, []string{"tool", "a", "error"}, []string{said[2].Type, said[2].ToolCallID, said[2].Status})
	require.Contains(t, said[2].Text(), `not a JSON object: {"at":"x`)
}

func TestEachCallOfAnAnswerHasAnIdOfItsOwn(t *testing.T) {
	t.Parallel()
	var ran []string
	turn := calls("a", "b", "c")
	turn.ToolCalls[0].ID, turn.ToolCalls[2].ID = "", "b"
	thread, _ := start(t, made(t, react.Config{Name: "scout", Model: script(turn, scripted.Say("Done.")), Tools: counting(&ran)}))
	require.ElementsMatch(t, []string{"a", "b", "c"}, ran)
	said := messages(t, thread)
	require.Len(t, said, 6)
	for i, call := range said[1].ToolCalls {
		require.Equal(t, call.ID, said[2+i].ToolCallID)
	}
}
