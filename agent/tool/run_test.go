package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/tool"
)

type desk struct {
	Messages message.List `json:"messages"`
	Note     string       `json:"note"`
}

// caller is a graph whose only node carries out one call.
func caller(t *testing.T, call message.ToolCall, tools ...tool.Tool) *agenttest.Thread {
	t.Helper()
	set, err := tool.NewSet(tools...)
	require.NoError(t, err)
	g := agent.NewGraph[desk]("desk").
		Node("tools", func(ctx agent.Context, s desk) (agent.Update, error) {
			state, err := json.Marshal(map[string]string{"note": s.Note})
			require.NoError(t, err)
			return set.Run(ctx, call, state)
		}).
		Edge(agent.Start, "tools").MustCompile()
	thread := agenttest.New(g)
	thread.Clock().AutoAdvance = true
	return thread
}

func begin(t *testing.T, thread *agenttest.Thread) agenttest.Result {
	t.Helper()
	res, err := thread.Run(t.Context(), map[string]any{"messages": "go", "note": "n1"})
	require.NoError(t, err)
	return res
}

// notes are what the run's readers got to know of its calls.
func notes(res agenttest.Result) []string {
	var all []string
	for _, e := range res.Events {
		if n, ok := e.Payload.(agent.ToolNote); ok {
			all = append(all, strings.TrimPrefix(string(e.Kind), "tool.")+" "+n.CallID+n.Input+n.Error)
		}
	}
	return all
}

// answer is the newest message of the thread.
func answer(t *testing.T, thread *agenttest.Thread) message.Message {
	t.Helper()
	s, err := thread.State(t.Context(), "")
	require.NoError(t, err)
	m, ok := s.State.Messages()["messages"].Last()
	require.True(t, ok)
	return m
}

type question struct {
	Text string `json:"text"`
}

func ask(args string) message.ToolCall {
	return message.NewToolCall("c1", "echo", json.RawMessage(args))
}

// echo is a tool that returns what fn does.
func echo(fn func(ctx tool.Context, q question) (any, error)) tool.Tool {
	return tool.New("echo", "Says it again", fn)
}

func TestWhatAToolReturnsBecomesItsMessage(t *testing.T) { // spec/runtime.md 7.3
	t.Parallel()
	for name, c := range map[string]struct {
		returns         any
		content, status string
	}{
		"a text":     {"a <b>", "a <b>", "success"},
		"an object":  {map[string]any{"html": "<b>", "n": 1}, `{"html":"<b>","n":1}`, "success"},
		"raw JSON":   {json.RawMessage(`[1,2]`), `[1,2]`, "success"},
		"nothing":    {nil, "null", "success"},
		"a message":  {message.Message{Type: message.Tool, ToolCallID: "c1", Content: message.TextContent("own"), Status: "error"}, "own", "error"},
		"a Command":  {tool.Answer(ask("{}"), "by command"), "by command", ""},
		"its inputs": {nil, "", ""}, // what the tool sees is checked below
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			thread := caller(t, ask(`{"text":"hi","more":1}`), echo(func(ctx tool.Context, q question) (any, error) {
				if name == "its inputs" {
					return q.Text + " " + ctx.ToolCall().ID + " " + string(ctx.State()) + " " + ctx.Node(), nil
				}
				return c.returns, nil
			}))
			if name == "its inputs" {
				c.content, c.status = `hi c1 {"note":"n1"} tools`, "success"
			}
			res := begin(t, thread)
			require.Equal(t, []string{`started c1{"text":"hi","more":1}`, "finished c1"}, notes(res))
			m := answer(t, thread)
			require.Equal(t, c.content, m.Text())
			require.Equal(t, c.status, m.Status)
			require.Equal(t, "c1", m.ToolCallID)
			if name != "a message" {
				require.Equal(t, "echo", m.Name)
			}
			for _, e := range res.Events {
				if n, ok := e.Payload.(agent.ToolNote); ok && e.Kind == agent.ToolFinished {
					var reported message.Message
					require.NoError(t, json.Unmarshal(n.Output, &reported))
					require.Equal(t, m, reported, "it is reported as it is stored, under the same id")
				}
			}
		})
	}
}

func TestACommandOfAToolWritesOtherKeys(t *testing.T) {
	t.Parallel()
	thread := caller(t, ask(`{"text":"x"}`), echo(func(ctx tool.Context, _ question) (any, error) {
		return tool.Answer(ctx.ToolCall(), "done", agent.Write{Channel: "note", Value: json.RawMessage(`"changed"`)}), nil
	}))
	begin(t, thread)
	s, err := thread.State(t.Context(), "")
	require.NoError(t, err)
	note, _ := s.State.Value("note")
	require.JSONEq(t, `"changed"`, string(note.JSON))
	require.Equal(t, "done", answer(t, thread).Text())
}

func TestTheModelIsToldWhatWentWrong(t *testing.T) { // spec/runtime.md 7.3
	t.Parallel()
	fails := echo(func(tool.Context, question) (any, error) { return nil, errors.New("no such page") })
	for name, c := range map[string]struct {
		call message.ToolCall
		tool tool.Tool
		says []string
	}{
		"an unknown tool":  {message.NewToolCall("c1", "wiki", json.RawMessage(`{}`)), fails, []string{"wiki is not a valid tool, try one of [echo]."}},
		"a missing one":    {ask(`{}`), fails, []string{"Error invoking tool 'echo' with kwargs {}", "text", "Please fix"}},
		"no arguments":     {ask(``), fails, []string{"kwargs {}"}},
		"a wrong type":     {ask(`{"text":7}`), fails, []string{"kwargs {\"text\":7}", "text: ", "Please fix"}},
		"a failing tool":   {ask(`{"text":"x"}`), fails, []string{"Error: no such page\n Please fix your mistakes."}},
		"another's answer": {ask(`{"text":"x"}`), echo(func(tool.Context, question) (any, error) { return message.NewTool("c2", "echo", "x"), nil }), []string{`doesn't answer call "c1"`}},
		"a mute Command":   {ask(`{"text":"x"}`), echo(func(tool.Context, question) (any, error) { return agent.Goto("tools"), nil }), []string{"without a message"}},
		"bad messages": {ask(`{"text":"x"}`), echo(func(tool.Context, question) (any, error) {
			return &agent.Command{Update: []agent.Write{{Channel: "messages", Value: json.RawMessage(`7`)}}}, nil
		}), []string{"Unable to coerce message"}},
		"no JSON": {ask(`{"text":"x"}`), echo(func(tool.Context, question) (any, error) { return make(chan int), nil }), []string{"encode its result"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			thread := caller(t, c.call, c.tool)
			res := begin(t, thread)
			require.Equal(t, "success", res.Status, "the run goes on")
			m := answer(t, thread)
			require.Equal(t, []string{message.Tool, "c1", c.call.Name, "error"}, []string{m.Type, m.ToolCallID, m.Name, m.Status})
			for _, part := range c.says {
				require.Contains(t, m.Text(), part)
			}
			all := notes(res)
			require.Len(t, all, 2)
			require.True(t, strings.HasPrefix(all[0], "started c1"))
			require.True(t, strings.HasPrefix(all[1], "failed c1"))
		})
	}
}

// A call that waits has not failed (decisions 11).
func TestACallThatWaitsStartsAgainWithItsAnswer(t *testing.T) {
	t.Parallel()
	for name, swallow := range map[string]bool{"returned": false, "swallowed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			thread := caller(t, ask(`{"text":"x"}`), echo(func(ctx tool.Context, q question) (any, error) {
				answer, err := agent.Interrupt[string](ctx, q.Text)
				if err != nil && swallow {
					return "went on", nil
				}
				return answer, err
			}))
			res := begin(t, thread)
			require.True(t, res.Suspended)
			require.Equal(t, []string{`started c1{"text":"x"}`}, notes(res))
			res, err := thread.Resume(t.Context(), "yes")
			require.NoError(t, err)
			require.Equal(t, []string{`started c1{"text":"x"}`, "finished c1"}, notes(res))
			require.Equal(t, "yes", answer(t, thread).Text())
		})
	}
}

func TestACancelIsNoAnswer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	thread := caller(t, ask(`{"text":"x"}`), echo(func(ctx tool.Context, _ question) (any, error) {
		cancel()
		return "too late", ctx.Sleep(time.Second)
	}))
	res, err := thread.Run(ctx, map[string]any{"messages": "go"})
	require.NoError(t, err)
	require.Equal(t, "interrupted", res.Status)
	require.Equal(t, []string{`started c1{"text":"x"}`}, notes(res))
	require.Equal(t, "go", answer(t, thread).Text())
}

func TestAToolMayInvokeAGraph(t *testing.T) {
	t.Parallel()
	inner := func(node func(agent.Context, desk) (agent.Update, error)) *agent.Graph {
		return agent.NewGraph[desk]("inner").Node("n", node).Edge(agent.Start, "n").MustCompile()
	}
	for name, c := range map[string]struct {
		node   func(agent.Context, desk) (agent.Update, error)
		says   string
		status string
	}{
		"that answers": {func(agent.Context, desk) (agent.Update, error) {
			return agent.Set("messages", []message.Message{message.NewAI("found")}), nil
		}, "found", "success"},
		"that fails": {func(agent.Context, desk) (agent.Update, error) { return nil, errors.New("boom") }, "Error: boom\n Please fix your mistakes.", "error"},
		"that speaks to the graph around": {func(agent.Context, desk) (agent.Update, error) {
			return &agent.Command{Parent: true, Update: tool.Answer(ask("{}"), "from below").Update}, nil
		}, "from below", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := inner(c.node)
			thread := caller(t, ask(`{"text":"x"}`), echo(func(ctx tool.Context, q question) (any, error) {
				state, err := agent.Invoke(ctx, g, map[string]string{"messages": q.Text})
				if err != nil {
					return nil, err
				}
				last, _ := state.Messages()["messages"].Last()
				return last.Text(), nil
			}))
			res := begin(t, thread)
			require.Equal(t, "success", res.Status)
			m := answer(t, thread)
			require.Equal(t, []string{c.says, c.status}, []string{m.Text(), m.Status})
		})
	}
}
