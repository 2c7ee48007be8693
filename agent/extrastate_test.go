package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/message"
)

func TestAGraphHasTheKeysOfItsPartsToo(t *testing.T) {
	t.Parallel()
	type state struct {
		Messages message.List `json:"messages"`
		Note     string       `json:"note"`
	}
	type more struct {
		Note  int      `json:"note"` // the graph has it already
		Tries []string `json:"tries" agent:"append"`
		Route string   `json:"route" agent:"ephemeral,private"`
	}
	g := agent.NewGraph[state]("g", agent.ExtraState(more{})).
		Node("a", func(agent.Context, state) (agent.Update, error) {
			return agent.Values{"note": "n", "tries": []string{"one"}, "route": "b"}, nil
		}).
		Node("b", func(ctx agent.Context, s state) (agent.Update, error) {
			tries, _ := agent.StateValue(ctx, "tries")
			return agent.Set("note", s.Note+string(tries.JSON)), nil
		})
	agent.BranchOf(g, "a", func(_ agent.Context, in more2) ([]agent.Target, error) {
		return []agent.Target{{Node: in.Route}}, nil
	}, "b")
	g.Edge(agent.Start, "a")
	compiled, err := g.Compile()
	require.NoError(t, err)
	require.Contains(t, string(compiled.Schemas().Input), `"tries"`)
	require.NotContains(t, string(compiled.Schemas().Input), `"route"`)

	thread := agenttest.New(compiled)
	res, err := thread.Run(t.Context(), map[string]any{"messages": "go", "route": "nowhere"})
	require.NoError(t, err)
	require.Equal(t, "success", res.Status)
	s, err := thread.State(t.Context(), "")
	require.NoError(t, err)
	note, _ := s.State.Value("note")
	require.JSONEq(t, `"n[\"one\"]"`, string(note.JSON))
	require.Panics(t, func() { agent.ExtraState("no struct") })
}

type more2 struct {
	Route string `json:"route"`
}

func TestANodeKnowsHowManyStepsAreLeft(t *testing.T) {
	t.Parallel()
	type state struct {
		Left []int `json:"left" agent:"append"`
	}
	g := agent.NewGraph[state]("g").
		Node("a", func(ctx agent.Context, _ state) (agent.Update, error) {
			return agent.Set("left", []int{agent.StepsLeft(ctx)}), nil
		}).
		Edge(agent.Start, "a").
		Branch("a", func(s state) string {
			if len(s.Left)%3 == 0 {
				return agent.End
			}
			return "a"
		}, "a", agent.End).MustCompile()
	thread := agenttest.New(g)
	thread.Config.RecursionLimit = 3
	for range 2 { // each run has all of them
		res, err := thread.Run(t.Context(), map[string]any{})
		require.NoError(t, err)
		require.Equal(t, "success", res.Status)
	}
	s, err := thread.State(t.Context(), "")
	require.NoError(t, err)
	require.JSONEq(t, `{"left":[2,1,0,2,1,0]}`, string(s.State.JSON()))
}
