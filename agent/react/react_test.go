package react_test

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/scripted"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
)

func calls(ids ...string) scripted.Turn {
	var turn scripted.Turn
	for _, id := range ids {
		turn.ToolCalls = append(turn.ToolCalls, message.NewToolCall(id, "look", json.RawMessage(`{"at":"`+id+`"}`)))
	}
	return turn
}

type place struct {
	At string `json:"at"`
}

func look(fn func(ctx tool.Context, p place) (any, error)) []tool.Tool {
	return []tool.Tool{tool.New("look", "Looks", fn)}
}

func sees(_ tool.Context, p place) (any, error) { return "saw " + p.At, nil }

func start(t *testing.T, g *agent.Graph) (*agenttest.Thread, agenttest.Result) {
	t.Helper()
	thread := agenttest.New(g)
	res, err := thread.Run(t.Context(), map[string]any{"messages": "go"})
	require.NoError(t, err)
	return thread, res
}

func conversation(t *testing.T, thread *agenttest.Thread) []string {
	t.Helper()
	s, err := thread.State(t.Context(), "")
	require.NoError(t, err)
	var all []string
	for _, m := range s.State.Messages()["messages"].All() {
		all = append(all, m.Type+"("+m.Name+") "+m.Text())
	}
	return all
}

// tasks lists the tasks of a run with their inputs' keys.
func tasks(t *testing.T, res agenttest.Result) []string {
	t.Helper()
	var all []string
	for _, e := range res.Events {
		if s, ok := e.Payload.(agent.TaskStart); ok {
			all = append(all, s.Name)
		}
	}
	return all
}

func TestModelAndToolsTakeTurns(t *testing.T) { // spec/runtime.md 7.1, 7.2
	t.Parallel()
	g, err := react.New(react.Options[react.State]{
		Name: "scout", Model: scripted.Script{Choose: scripted.Sequence(calls("a", "b"), calls("c"), scripted.Say("All seen."))}, Tools: look(sees),
	})
	require.NoError(t, err)
	thread, res := start(t, g)
	require.Equal(t, []string{"model_request", "tools", "tools", "model_request", "tools", "model_request"}, tasks(t, res))
	require.Equal(t, []string{
		"human() go", "ai(model) ", "tool(look) saw a", "tool(look) saw b", "ai(model) ", "tool(look) saw c", "ai(model) All seen.",
	}, conversation(t, thread))
}

func TestEachCallWaitsAlone(t *testing.T) {
	t.Parallel()
	var ran []string
	g, err := react.New(react.Options[react.State]{
		Name: "scout", Model: scripted.Script{Choose: scripted.Sequence(calls("a", "b"), scripted.Say("Done."))},
		Tools: look(func(ctx tool.Context, p place) (any, error) {
			if p.At == "b" {
				return agent.Interrupt[string](ctx, "may I look at b?")
			}
			ran = append(ran, p.At)
			return "saw " + p.At, nil
		}),
	})
	require.NoError(t, err)
	thread, res := start(t, g)
	require.True(t, res.Suspended)
	_, err = thread.Resume(t.Context(), "saw b, with leave")
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, ran, "a finished call isn't made again")
	require.Equal(t, []string{"human() go", "ai(model) ", "tool(look) saw a", "tool(look) saw b, with leave", "ai(model) Done."}, conversation(t, thread))
}

// recorder is a model that keeps its requests.
type recorder struct{ requests []model.Request }

func (r *recorder) Info() model.Info { return model.Info{} }

func (r *recorder) Stream(_ context.Context, req model.Request) iter.Seq2[message.Chunk, error] {
	r.requests = append(r.requests, req)
	return func(yield func(message.Chunk, error) bool) { yield(message.Chunk{Text: "hello"}, nil) }
}

func TestTheModelGetsPromptConversationAndTools(t *testing.T) {
	t.Parallel()
	m := &recorder{}
	g, err := react.New(react.Options[react.State]{Name: "scout", Speaker: "ann", Prompt: "Look around.", Model: m, Tools: look(sees)})
	require.NoError(t, err)
	thread, res := start(t, g)
	require.Len(t, m.requests, 1)
	require.Equal(t, "Look around.", m.requests[0].System)
	require.Equal(t, 1, m.requests[0].Messages.Len())
	require.Equal(t, "look", m.requests[0].Tools[0].Name)
	require.Equal(t, []string{"human() go", "ai(ann) hello"}, conversation(t, thread), "the prompt isn't stored")
	for _, e := range res.Events {
		if s, ok := e.Payload.(agent.MessageStart); ok {
			require.JSONEq(t, `"ann"`, string(s.Meta.Extra["lc_agent_name"]))
		}
	}
}

func TestAnAgentWithoutToolsHasOneNode(t *testing.T) {
	t.Parallel()
	g, err := react.New(react.Options[react.State]{Name: "talker", Model: scripted.Script{Choose: scripted.Sequence(calls("a"))}})
	require.NoError(t, err)
	_, res := start(t, g)
	require.Equal(t, []string{"model_request"}, tasks(t, res))
	for _, n := range g.Draw(0).Nodes {
		require.NotEqual(t, "tools", n.ID)
	}
}

type tired struct {
	react.State
	Turns []string `json:"turns" agent:"append"`
	Diary string   `json:"diary"`
}

func TestHooksAreNodesAroundTheLoop(t *testing.T) { // spec/runtime.md 7.1
	t.Parallel()
	hook := func(name string) react.Hook[tired] {
		return react.Hook[tired]{Name: name, Run: func(agent.Context, tired) (agent.Update, error) { return agent.Set("turns", []string{name}), nil }}
	}
	var seen string
	g, err := react.New(react.Options[tired]{
		Name: "scout", Model: scripted.Script{Choose: scripted.Sequence(calls("a"), scripted.Say("Done."))},
		BeforeAgent: []react.Hook[tired]{hook("b1"), hook("b2")}, AfterModel: []react.Hook[tired]{hook("a1"), hook("a2")},
		Tools: look(func(ctx tool.Context, p place) (any, error) {
			seen = string(ctx.State())
			return "saw", nil
		}),
		ToolInput: func(s tired) any { return map[string]any{"turns": s.Turns} },
	})
	require.NoError(t, err)
	thread, res := start(t, g)
	require.Equal(t, "b1 b2 model_request a2 a1 tools model_request a2 a1", strings.Join(tasks(t, res), " "))
	require.JSONEq(t, `{"turns":["b1","b2","a2","a1"]}`, seen)
	s, err := thread.State(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, []string{"messages", "turns"}, s.State.Keys())
}

func TestArgumentsReachTheToolAsTheModelWroteThem(t *testing.T) {
	t.Parallel()
	turn := scripted.CallTool("a", "look", `{"at":"<b> & \u2028"}`)
	g, err := react.New(react.Options[react.State]{
		Name: "scout", Model: scripted.Script{Choose: scripted.Sequence(turn, scripted.Say("Done."))}, Tools: look(sees),
	})
	require.NoError(t, err)
	_, res := start(t, g)
	for _, e := range res.Events {
		if n, ok := e.Payload.(agent.ToolNote); ok && e.Kind == agent.ToolStarted {
			require.Equal(t, `{"at":"<b> & \u2028"}`, n.Input)
		}
	}
}

func TestAToolSeesTheStateByDefault(t *testing.T) {
	t.Parallel()
	var seen map[string]json.RawMessage
	g, err := react.New(react.Options[tired]{
		Name: "scout", Model: scripted.Script{Choose: scripted.Sequence(calls("a"), scripted.Say("Done."))},
		Tools: look(func(ctx tool.Context, p place) (any, error) { return "saw", json.Unmarshal(ctx.State(), &seen) }),
	})
	require.NoError(t, err)
	start(t, g)
	require.Len(t, seen, 3)
	require.Contains(t, string(seen["messages"]), "go")
}

func TestMistakesAreFoundWhenTheAgentIsMade(t *testing.T) {
	t.Parallel()
	m := &recorder{}
	for want, o := range map[string]react.Options[react.State]{
		"has no model":            {Name: "a"},
		"two tools are named":     {Name: "a", Model: m, Tools: append(look(sees), look(sees)...)},
		`two nodes named "tools"`: {Name: "a", Model: m, Tools: look(sees), BeforeAgent: []react.Hook[react.State]{{Name: "tools", Run: nothing}}},
	} {
		_, err := react.New(o)
		require.ErrorContains(t, err, want)
		require.Panics(t, func() { react.Must(react.New(o)) })
	}
}

func nothing(agent.Context, react.State) (agent.Update, error) { return nil, nil }

// The open calls are those of the newest AI message without an answer behind it.
func TestOpenCalls(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := message.List{}
		var open []string
		for range rapid.IntRange(0, 12).Draw(t, "length") {
			id := rapid.SampledFrom([]string{"a", "b", "c"})
			switch rapid.SampledFrom([]string{message.Human, message.AI, message.Tool}).Draw(t, "type") {
			case message.Human:
				list = list.Append(message.NewHuman("x"))
			case message.AI:
				m := message.NewAI("x")
				open = nil
				for _, id := range rapid.SliceOfNDistinct(id, 0, 3, rapid.ID).Draw(t, "calls") {
					m.ToolCalls = append(m.ToolCalls, message.NewToolCall(id, "look", json.RawMessage(`{}`)))
					open = append(open, id)
				}
				list = list.Append(m)
			case message.Tool:
				answered := id.Draw(t, "answered")
				list = list.Append(message.NewTool(answered, "look", "x"))
				var left []string
				for _, id := range open {
					if id != answered {
						left = append(left, id)
					}
				}
				open = left
			}
		}
		var got []string
		for _, c := range react.OpenCalls(list) {
			got = append(got, c.ID)
		}
		require.Equal(t, open, got)
	})
}
