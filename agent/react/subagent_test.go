package react_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/hitl"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model/scripted"
	"github.com/parley-dev/parley/agent/react"
	"github.com/parley-dev/parley/agent/tool"
)

func task(id, to, description string) message.ToolCall {
	args, err := json.Marshal(map[string]string{"description": description, "subagent_type": to})
	if err != nil {
		panic(err)
	}
	return message.NewToolCall(id, react.TaskTool, args)
}

// team is an agent with two subagents: one that looks, one that sends letters after review.
func team(t *testing.T, o *office, ran *[]string, calls ...message.ToolCall) *agent.Graph {
	t.Helper()
	scout := made(t, react.Config{Name: "scout", Speaker: "scout", Model: scripted.Script{Choose: ending(callsTurn("x"), scripted.Say("I saw it."))}, Tools: counting(ran)})
	clerk := made(t, react.Config{
		Name: "clerk", Speaker: "clerk", Model: scripted.Script{Choose: ending(scripted.Turn{ToolCalls: []message.ToolCall{send("m", "ann")}}, scripted.Say("It is sent."))},
		Tools: o.tools(), Review: hitl.Config{Policy: hitl.Policy{"send": {Decisions: hitl.All()}}},
	})
	return made(t, react.Config{
		Name: "boss", Model: scripted.Script{Choose: ending(scripted.Turn{ToolCalls: calls}, scripted.Say("All done."))},
		Tools: append(look(sees), react.Subagent("scout", "Looks at places.", scout), react.Subagent("clerk", "Sends letters.", clerk)),
	})
}

func callsTurn(ids ...string) scripted.Turn { return calls(ids...) }

func TestSubagentsAreOneTool(t *testing.T) { // spec/streaming-protocol.md 5.6
	t.Parallel()
	var ran []string
	o := &office{}
	g := team(t, o, &ran, task("t1", "scout", "Look at x."), task("t2", "cook", "Cook."))
	thread, res := start(t, g)
	require.Equal(t, "success", res.Status)
	require.Equal(t, []string{"human() go", "ai(model) ", "tool(task) I saw it.", "tool(task) Error: there is no subagent \"cook\", the subagents are [scout, clerk]\n Please fix your mistakes.", "ai(model) All done."}, conversation(t, thread))
	require.Equal(t, []string{"x"}, ran)

	var own []string // what the subagent says, on which namespace
	for _, e := range res.Events {
		if m, ok := e.Payload.(agent.MessageStart); ok && strings.HasPrefix(e.NS, "tools:") {
			require.Regexp(t, `^tools:[^|]+\|model_request:[^|]+$`, e.NS)
			require.JSONEq(t, `"scout"`, string(m.Meta.Extra["lc_agent_name"]))
			own = append(own, m.Name)
		}
	}
	require.Equal(t, []string{"scout", "scout"}, own)
	var first string
	for _, e := range res.Events {
		if v, ok := e.Payload.(*agent.ValuesNote); ok && strings.HasPrefix(e.NS, "tools:") && first == "" {
			first = string(v.State.JSON())
		}
	}
	require.Contains(t, first, `"content":"Look at x."`, "it begins with the description, by which clients find it")
}

func TestASubagentIsDescribedToTheModel(t *testing.T) {
	t.Parallel()
	m := &recorder{}
	scout := made(t, react.Config{Name: "scout", Model: script(scripted.Say("x"))})
	start(t, made(t, react.Config{Name: "boss", Model: m, Tools: []tool.Tool{react.Subagent("scout", "Looks at places.", scout), react.Subagent("clerk", "Sends letters.", scout)}}))
	require.Len(t, m.requests[0].Tools, 1)
	d := m.requests[0].Tools[0]
	require.Equal(t, "task", d.Name)
	require.Contains(t, d.Description, "- scout: Looks at places.\n- clerk: Sends letters.")
	var schema struct {
		Required   []string
		Properties map[string]any
	}
	require.NoError(t, json.Unmarshal(d.Schema, &schema))
	require.Equal(t, []string{"description", "subagent_type"}, schema.Required)

	for want, tools := range map[string][]tool.Tool{
		`two subagents are named "scout"`: {react.Subagent("scout", "", scout), react.Subagent("scout", "", scout)},
		"a subagent has no name":          {react.Subagent("", "", scout)},
	} {
		_, err := react.NewAgent(react.Config{Name: "boss", Model: m, Tools: tools})
		require.ErrorContains(t, err, want)
	}
}

// Two subagents wait at once; each goes on where it was, and nothing that has ended is done again.
func TestASubagentThatWaitsGoesOnInPlace(t *testing.T) { // spec/conformance-frontends.md 4.5
	t.Parallel()
	var ran []string
	o := &office{}
	thread, res := start(t, team(t, o, &ran, task("t1", "scout", "Look at x."), task("t2", "clerk", "Write to Ann."), task("t3", "clerk", "Write to Ann again.")))
	require.True(t, res.Suspended)
	require.Len(t, thread.Pending(), 2)
	for _, e := range res.Events {
		if e.Kind == agent.InterruptRaised {
			require.Regexp(t, `^tools:[^|]+$`, e.NS)
		}
	}
	res, err := thread.Answer(t.Context(), map[string]any{thread.Pending()[0].ID: decisions(decision{"type": "approve"})})
	require.NoError(t, err)
	require.True(t, res.Suspended)
	require.Equal(t, []string{"ann"}, o.sent)
	for _, e := range res.Events {
		if m, ok := e.Payload.(agent.MessageStart); ok && m.Meta.Node == "model_request" {
			require.Equal(t, "clerk", m.Name)
		}
	}
	res, err = thread.Answer(t.Context(), map[string]any{thread.Pending()[0].ID: decisions(decision{"type": "reject"})})
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	require.Equal(t, []string{"ann"}, o.sent)
	require.Equal(t, []string{"x"}, ran)
	require.Equal(t, map[string]string{"t1": "success: I saw it.", "t2": "success: It is sent.", "t3": "success: It is sent."}, results(t, thread))
}

func TestWhatASubagentAnswersWith(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sub  react.Config
		says string
	}{
		"a form":     {react.Config{Model: script(scripted.CallTool("r", "place", `{"at":"x"}`)), Response: react.ResponseOf[place]("place", "")}, `{"at":"x"}`},
		"nothing":    {react.Config{Model: script(scripted.Turn{})}, "The task is done."},
		"an error":   {react.Config{Model: script(calls("a")), Tools: look(sees), Limits: react.Limits{Steps: 1, ErrorOnLimit: true}}, "Error: The agent has reached its limit of 1 steps"},
		"last words": {react.Config{Model: script(scripted.Say("here"))}, "here"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.sub.Name = "sub"
			thread, _ := start(t, made(t, react.Config{
				Name: "boss", Model: scripted.Script{Choose: ending(scripted.Turn{ToolCalls: []message.ToolCall{task("t", "sub", "Do it.")}}, scripted.Say("Done."))},
				Tools: []tool.Tool{react.Subagent("sub", "Does it.", made(t, c.sub))},
			}))
			require.Contains(t, results(t, thread)["t"], c.says)
		})
	}
}
