package react_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model/scripted"
	"github.com/parley-dev/parley/agent/react"
)

// threadOf is an empty thread of an agent.
func threadOf(t *testing.T, a agent.Agent, err error) *agenttest.Thread {
	t.Helper()
	require.NoError(t, err)
	g, err := a.Graph(t.Context(), agent.Config{})
	require.NoError(t, err)
	return agenttest.New(g)
}

func once(name, args string) scripted.Script {
	return scripted.Script{Choose: ending(scripted.CallTool("c1", name, args), scripted.Say("Done."))}
}

func TestTheGuidesToolsDoWhatItSays(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"read_table": `"There are 2 rows."`, "tail": `"first line\nsecond line\n"`,
		"draw": `[{"type":"image","url":"https://example.com/chart.png"}]`, "query": `"{\"table\":\"t\"}"`,
	} {
		a, err := react.NewAgent(react.Config{Name: "tables", Model: once(name, `{"table":"t"}`), Tools: tableTools})
		thread := threadOf(t, a, err)
		res, err := thread.Run(t.Context(), map[string]any{"messages": "go"})
		require.NoError(t, err)
		require.Equal(t, "success", res.Status)
		m := messages(t, thread)[2]
		require.Equal(t, want, string(m.Content))
		require.Equal(t, name == "draw", len(messages(t, thread)) == 3)
		if name == "read_table" {
			require.JSONEq(t, `[{"id":1},{"id":2}]`, string(m.Artifact))
		}
	}
	a, err := react.NewAgent(react.Config{Name: "tables", Model: once("archive", `{"table":"t"}`), Tools: tableTools})
	for answer, want := range map[bool]string{true: "Moved.", false: "Copied, and kept."} {
		thread := threadOf(t, a, err)
		_, err := thread.Run(t.Context(), map[string]any{"messages": "go"})
		require.NoError(t, err)
		_, err = thread.Resume(t.Context(), answer)
		require.NoError(t, err)
		require.Equal(t, want, messages(t, thread)[2].Text())
	}
}

func TestTheGuidesMiddlewareDoesWhatItSays(t *testing.T) {
	t.Parallel()
	m := &recorder{}
	a, err := react.NewAgent(react.Config{Name: "a", Prompt: "Be kind.", Model: m, Middleware: []react.Middleware{
		Greeter(func() time.Time { return time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC) }),
	}})
	thread := threadOf(t, a, err)
	for _, text := range []string{"hi", "about politics"} {
		_, err := thread.Run(t.Context(), map[string]any{"messages": text})
		require.NoError(t, err)
	}
	require.Len(t, m.requests, 1)
	require.Equal(t, "Be kind.\nToday is 2026-11-30.", m.requests[0].System)
	s, err := thread.State(t.Context(), "")
	require.NoError(t, err)
	n, _ := s.State.Value("visits")
	require.JSONEq(t, "2", string(n.JSON))
	require.Equal(t, "Let us talk about something else.", messages(t, thread)[3].Text())
}

func TestTheGuidesAgentsRun(t *testing.T) {
	t.Parallel()
	priced := scripted.Script{Name: "gpt-5-mini", Choose: ending(calls("a"), scripted.Say("Done."))}
	patient, err := NewPatient(priced, &recorder{}, look(sees))
	weather := once("weather", `{"city":"Oslo","celsius":-3}`)
	meteorologist, err2 := NewMeteorologist(weather, look(sees))
	editor, err3 := NewEditor(scripted.Script{Choose: func(c scripted.Call) (scripted.Turn, error) {
		if len(c.Tools) == 1 && c.Tools[0].Name == react.TaskTool && c.N == 0 {
			return scripted.Turn{ToolCalls: []message.ToolCall{task("t1", "researcher", "Find."), task("t2", "critic", "Read.")}}, nil
		}
		return scripted.Say("Well."), nil
	}}, look(sees))
	shop, err4 := NewShop(once("add", `{"thing":"a \"hat\""}`))
	for want, thread := range map[string]*agenttest.Thread{
		"ai(model) Done.": threadOf(t, patient, err),
		`ai(model) Returning structured response: {"city":"Oslo","celsius":-3}`: threadOf(t, meteorologist, err2),
		"ai(model) Well.":                threadOf(t, editor, err3),
		"tool(add) It is in the basket.": threadOf(t, shop, err4),
	} {
		res, err := thread.Run(t.Context(), map[string]any{"messages": "go"})
		require.NoError(t, err)
		require.Equal(t, "success", res.Status, "%v", res.Err)
		require.Contains(t, conversation(t, thread), want)
		if s, err := thread.State(t.Context(), ""); err == nil {
			if basket, ok := s.State.Value("basket"); ok {
				require.JSONEq(t, `["a \"hat\""]`, string(basket.JSON))
			}
		}
	}
}
