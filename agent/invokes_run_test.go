package agent_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/agenttest"
	"github.com/parley-dev/parley/agent/message"
)

// A graph that a node's function invokes, and declares, is shown as one that is a node is.
func TestADeclaredGraphIsShownUnderItsTask(t *testing.T) {
	t.Parallel()
	inner := agent.NewGraph[chat]("inner").
		Node("ask", func(ctx agent.Context, _ chat) (agent.Update, error) {
			answer, err := agent.Interrupt[string](ctx, "well?")
			if err != nil {
				return nil, err
			}
			return agent.Set("messages", []message.Message{message.NewAI(answer)}), nil
		}).
		Edge(agent.Start, "ask").MustCompile()
	build := func(opts ...agent.NodeOption) *agent.Graph {
		return agent.NewGraph[chat]("outer").
			Node("n", func(ctx agent.Context, s chat) (agent.Update, error) {
				var said []message.Message
				for range 2 {
					state, err := agent.Invoke(ctx, inner, map[string]string{"messages": "hello"})
					if err != nil {
						return nil, err
					}
					last, _ := state.Messages()["messages"].Last()
					said = append(said, message.NewAI("they said "+last.Text()))
				}
				return agent.Set("messages", said), nil
			}, opts...).
			Edge(agent.Start, "n").MustCompile()
	}
	g := build(agent.Invokes(inner))
	th := agenttest.New(g)
	res, err := th.Run(t.Context(), map[string]string{"messages": "hi"})
	require.NoError(t, err)
	require.True(t, res.Suspended)

	head, err := th.Checkpoint(t.Context(), "", "")
	require.NoError(t, err)
	s, err := g.SnapshotOf(t.Context(), th, head, true, true)
	require.NoError(t, err)
	ns := "n:" + s.Tasks[0].ID
	require.Equal(t, []string{"ask"}, s.Tasks[0].Subgraph.Next)
	require.Same(t, inner, g.SubgraphAt(ns))
	require.Same(t, inner, g.SubgraphAt(ns+"|1"), "the namespace of a second call")
	require.Nil(t, g.SubgraphAt(ns+"|ask:x"))
	require.Nil(t, build().SubgraphAt(ns), "undeclared, nobody knows")

	_, err = th.Resume(t.Context(), "one")
	require.NoError(t, err)
	second, err := th.State(t.Context(), ns+"|1")
	require.NoError(t, err)
	require.Equal(t, []string{"ask"}, second.Next)
	res, err = th.Resume(t.Context(), "two")
	require.NoError(t, err)
	var whole []string
	for _, e := range res.Events {
		if m, ok := e.Payload.(agent.MessageSnapshot); ok && strings.Contains(string(m.Message), "they said") {
			whole = append(whole, string(m.Message))
		}
	}
	require.Len(t, whole, 2, "it is a function: what it returns is its own")
}
