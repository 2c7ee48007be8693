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
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/scripted"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
)

// script is a model that says one turn after the other.
func script(turns ...scripted.Turn) model.Model {
	return scripted.Script{Choose: scripted.Sequence(turns...)}
}

// made compiles an agent.
func made(t *testing.T, c react.Config) *agent.Graph {
	t.Helper()
	g, err := react.New(c)
	require.NoError(t, err)
	return g
}

// noting is a middleware whose steps write down their names.
func noting(name string, jumps ...react.Destination) react.Middleware {
	step := func(what string) *react.Step {
		return &react.Step{CanJumpTo: jumps, Run: func(agent.Context, message.List) (agent.Update, error) {
			return agent.Set("noted", []string{name + "." + what}), nil
		}}
	}
	return react.Middleware{
		Name: name, BeforeAgent: step("before_agent"), BeforeModel: step("before_model"), AfterModel: step("after_model"), AfterAgent: step("after_agent"),
		State: struct {
			Noted []string `json:"noted" agent:"append"`
		}{},
	}
}

func TestMiddlewareRunsAroundAgentAndModel(t *testing.T) { // spec/runtime.md 7.1, 7.6
	t.Parallel()
	for name, jumps := range map[string][]react.Destination{
		"without jumps": nil, "where all could jump": {react.ToModel, react.ToTools, react.ToEnd},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := made(t, react.Config{
				Name: "scout", Model: script(calls("a"), scripted.Say("Done.")), Tools: look(sees),
				Middleware: []react.Middleware{noting("X", jumps...), noting("Y", jumps...)},
			})
			thread, res := start(t, g)
			want := []string{
				"X.before_agent", "Y.before_agent",
				"X.before_model", "Y.before_model", "model_request", "Y.after_model", "X.after_model", "tools",
				"X.before_model", "Y.before_model", "model_request", "Y.after_model", "X.after_model",
				"Y.after_agent", "X.after_agent",
			}
			require.Equal(t, want, tasks(t, res))
			noted, err := react.StateOf[struct {
				Noted []string `json:"noted"`
			}](stateContext(t, thread))
			require.NoError(t, err)
			require.Len(t, noted.Noted, 0, "outside of a run there is no state")
			s, err := thread.State(t.Context(), "")
			require.NoError(t, err)
			v, _ := s.State.Value("noted")
			require.Equal(t, 12, strings.Count(string(v.JSON), "."), "each step's update is stored")
			require.NotContains(t, string(g.Schemas().Input), "jumpTo")
		})
	}
}

// stateContext is the context of a task outside of a run, as conditional edges of an edit see it.
func stateContext(t *testing.T, thread *agenttest.Thread) agent.Context {
	t.Helper()
	var got agent.Context
	g := agent.NewGraph[react.State]("g").
		Node("a", func(agent.Context, react.State) (agent.Update, error) { return nil, nil }).
		Edge(agent.Start, "a").
		BranchTo("a", func(ctx agent.Context, _ react.State) ([]agent.Target, error) {
			got = ctx
			return []agent.Target{{Node: agent.End}}, nil
		}, agent.End).MustCompile()
	edited := agenttest.New(g)
	require.NoError(t, edit(t, edited, g))
	return got
}

func edit(t *testing.T, thread *agenttest.Thread, g *agent.Graph) error {
	t.Helper()
	_, err := g.EditState(t.Context(), agent.EditRequest{
		ThreadID: thread.ID, Supersteps: [][]agent.Edit{{{Values: json.RawMessage(`{"messages":"x"}`), AsNode: "a"}}},
		Reader: thread, Clock: thread.Clock(), IDs: thread.Execution().IDs,
	})
	return err
}

func TestAStepCanJump(t *testing.T) { // spec/runtime.md 7.2
	t.Parallel()
	jump := func(to react.Destination) *react.Step {
		return &react.Step{CanJumpTo: []react.Destination{to}, Run: func(ctx agent.Context, conversation message.List) (agent.Update, error) {
			for _, m := range conversation.All() {
				if m.Type == message.System { // once is enough
					return nil, nil
				}
			}
			return react.Jump(to, agent.Set("messages", []message.Message{message.NewSystem("jumped")})), nil
		}}
	}
	after := &react.Step{Run: func(agent.Context, message.List) (agent.Update, error) { return nil, nil }}
	for name, c := range map[string]struct {
		middleware react.Middleware
		want       string
	}{
		"from the start to the end":        {react.Middleware{Name: "M", BeforeAgent: jump(react.ToEnd), AfterAgent: after}, "M.before_agent M.after_agent"},
		"before the model to the end":      {react.Middleware{Name: "M", BeforeModel: jump(react.ToEnd)}, "M.before_model"},
		"behind the model to the end":      {react.Middleware{Name: "M", AfterModel: jump(react.ToEnd)}, "model_request M.after_model"},
		"behind the model to the model":    {react.Middleware{Name: "M", AfterModel: jump(react.ToModel)}, "model_request M.after_model model_request M.after_model"},
		"behind the model to the tools":    {react.Middleware{Name: "M", AfterModel: jump(react.ToTools)}, "model_request M.after_model tools model_request M.after_model"},
		"before the agent to no calls":     {react.Middleware{Name: "M", BeforeAgent: jump(react.ToTools)}, "M.before_agent model_request tools model_request"},
		"from behind the end to the model": {react.Middleware{Name: "M", AfterAgent: jump(react.ToModel)}, "model_request tools model_request M.after_agent model_request tools model_request M.after_agent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, res := start(t, made(t, react.Config{
				Name: "scout", Model: script(calls("a"), scripted.Say("Done.")), Tools: look(sees), Middleware: []react.Middleware{c.middleware},
			}))
			require.Equal(t, "success", res.Status)
			require.Equal(t, c.want, strings.Join(tasks(t, res), " "))
		})
	}
}

func TestAJumpMustBeDeclared(t *testing.T) {
	t.Parallel()
	for name, update := range map[string]agent.Update{
		"as an update":  react.Jump(react.ToEnd, nil),
		"in a Command":  &agent.Command{Update: []agent.Write{{Channel: "jumpTo", Value: json.RawMessage(`"end"`)}}},
		"with nonsense": agent.Set("jumpTo", 7),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, res := start(t, made(t, react.Config{
				Name: "scout", Model: script(calls("a"), scripted.Say("Done.")), Tools: look(sees),
				Middleware: []react.Middleware{{Name: "M", BeforeAgent: &react.Step{
					CanJumpTo: []react.Destination{react.ToModel},
					Run:       func(agent.Context, message.List) (agent.Update, error) { return update, nil },
				}}},
			}))
			require.Equal(t, "error", res.Status)
			require.Contains(t, res.Err.Message, "doesn't declare")
		})
	}
}

// No update of a caller makes a step jump (D-40).
func TestACallerCannotJump(t *testing.T) {
	t.Parallel()
	asks := &react.Step{CanJumpTo: []react.Destination{react.ToEnd}, Run: func(ctx agent.Context, _ message.List) (agent.Update, error) {
		_, err := agent.Interrupt[string](ctx, "really?")
		return nil, err
	}}
	thread, res := start(t, made(t, react.Config{
		Name: "scout", Model: script(calls("a"), scripted.Say("Done.")), Tools: look(sees), Middleware: []react.Middleware{{Name: "M", AfterModel: asks}},
	}))
	require.True(t, res.Suspended)
	res, err := thread.Command(t.Context(), agent.Command{
		Resume: json.RawMessage(`"yes"`), HasResume: true, Update: []agent.Write{{Channel: "jumpTo", Value: json.RawMessage(`"end"`)}},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"M.after_model", "tools", "model_request", "M.after_model"}, tasks(t, res))
}

func TestWrappersOfTheModelNest(t *testing.T) { // spec/runtime.md 7.6
	t.Parallel()
	m := &recorder{}
	var order []string
	wrapper := func(name string) react.Middleware {
		return react.Middleware{Name: name, WrapModel: func(ctx agent.Context, call react.ModelCall, next react.ModelHandler) (message.Message, error) {
			order = append(order, name+" in")
			call.Request.System += " " + name
			answer, err := next(ctx, call)
			order = append(order, name+" out")
			answer.Content = message.TextContent(answer.Text() + " " + name)
			return answer, err
		}}
	}
	thread, _ := start(t, made(t, react.Config{Name: "scout", Prompt: "Look.", Model: m, Middleware: []react.Middleware{wrapper("X"), wrapper("Y")}}))
	require.Equal(t, []string{"X in", "Y in", "Y out", "X out"}, order)
	require.Equal(t, "Look. X Y", m.requests[0].System)
	require.Equal(t, []string{"human() go", "ai(model) hello Y X"}, conversation(t, thread))
}

func TestAWrapperCanCallAnotherModel(t *testing.T) {
	t.Parallel()
	broken := scripted.Script{Choose: scripted.Always(scripted.Turn{Err: errors.New("overloaded")})}
	fallback := react.Middleware{Name: "fallback", WrapModel: func(ctx agent.Context, call react.ModelCall, next react.ModelHandler) (message.Message, error) {
		answer, err := next(ctx, call)
		if err == nil {
			return answer, nil
		}
		call.Model = script(scripted.Say("from the other one"))
		return next(ctx, call)
	}}
	thread, _ := start(t, made(t, react.Config{Name: "scout", Model: broken, Middleware: []react.Middleware{fallback}}))
	require.Equal(t, []string{"human() go", "ai(model) from the other one"}, conversation(t, thread))

	_, res := start(t, made(t, react.Config{Name: "scout", Model: broken, Middleware: []react.Middleware{{
		Name: "own", WrapModel: func(ctx agent.Context, call react.ModelCall, next react.ModelHandler) (message.Message, error) {
			return next(ctx, react.ModelCall{Model: call.Model})
		},
	}}}))
	require.Contains(t, res.Err.Message, "hand on the call that it got")
}

func TestWrappersOfToolsNest(t *testing.T) {
	t.Parallel()
	var order []string
	wrapper := func(name string) react.Middleware {
		return react.Middleware{Name: name, WrapTool: func(ctx agent.Context, call message.ToolCall, next react.ToolHandler) (agent.Update, error) {
			order = append(order, name+" "+call.ID)
			update, err := next(ctx, call)
			if m, ok := react.AnswerTo(call.ID, update); ok && m.Status == "error" {
				update, err = next(ctx, call) // once more
			}
			return update, err
		}}
	}
	tries := 0
	thread, res := start(t, made(t, react.Config{
		Name: "scout", Model: script(calls("a"), scripted.Say("Done.")), Middleware: []react.Middleware{wrapper("X"), wrapper("Y")},
		Tools: []tool.Tool{tool.Func("look", "Looks", func(_ tool.CallContext, p place) (string, error) {
			if tries++; tries == 1 {
				return "", errors.New("fog")
			}
			return "saw " + p.At, nil
		})},
	}))
	require.Equal(t, "success", res.Status)
	require.Equal(t, []string{"X a", "Y a"}, order)
	require.Equal(t, 2, tries, "the second try is a step of its own")
	require.Equal(t, []string{"human() go", "ai(model) ", "tool(look) saw a", "ai(model) Done."}, conversation(t, thread))
}

func TestAnAnswerIsFoundInAnyUpdate(t *testing.T) {
	t.Parallel()
	m := message.NewTool("a", "look", "x")
	list, err := json.Marshal([]message.Message{m})
	require.NoError(t, err)
	for _, update := range []agent.Update{
		agent.Set("messages", []message.Message{m}),
		&agent.Command{Update: []agent.Write{{Channel: "note", Value: json.RawMessage(`1`)}, {Channel: "messages", Value: list}}},
		agent.Updates{nil, agent.Set("note", 1), agent.Set("messages", m)},
	} {
		found, ok := react.AnswerTo("a", update)
		require.True(t, ok)
		require.Equal(t, "x", found.Text())
		_, ok = react.AnswerTo("b", update)
		require.False(t, ok)
	}
	for _, update := range []agent.Update{nil, agent.Set("messages", 7), agent.Set("messages", make(chan int)), (*agent.Command)(nil)} {
		_, ok := react.AnswerTo("a", update)
		require.False(t, ok)
	}
}

func TestMiddlewareBringsTools(t *testing.T) {
	t.Parallel()
	thread, _ := start(t, made(t, react.Config{
		Name: "scout", Model: script(calls("a"), scripted.Say("Done.")), Middleware: []react.Middleware{{Name: "M", Tools: look(sees)}},
	}))
	require.Equal(t, "tool(look) saw a", conversation(t, thread)[2])
}

func TestMistakesInMiddlewareAreFoundWhenTheAgentIsMade(t *testing.T) {
	t.Parallel()
	step := &react.Step{CanJumpTo: []react.Destination{react.ToTools}, Run: func(agent.Context, message.List) (agent.Update, error) { return nil, nil }}
	for want, c := range map[string]react.Config{
		"has no name":                   {Middleware: []react.Middleware{{}}},
		`two middlewares are named "M"`: {Middleware: []react.Middleware{{Name: "M"}, {Name: "M"}}},
		"has no function":               {Middleware: []react.Middleware{{Name: "M", AfterAgent: &react.Step{}}}},
		"jumps to tools":                {Middleware: []react.Middleware{{Name: "M", AfterAgent: step}}},
		"how much":                      {Middleware: []react.Middleware{react.Trim(react.Trimming{})}},
		"says when":                     {Middleware: []react.Middleware{react.Summarize(react.Summary{Model: script()})}},
		"summary: there is no model":    {Middleware: []react.Middleware{react.Summarize(react.Summary{Tokens: 1})}},
	} {
		c.Name, c.Model = "a", script(scripted.Say("x"))
		_, err := react.NewAgent(c)
		require.ErrorContains(t, err, want)
	}
}
