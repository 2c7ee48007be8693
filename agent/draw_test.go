package agent

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

type drawState struct {
	Out []string `json:"out" agent:"append"`
}

func drawNothing(Context, drawState) (Update, error) { return nil, nil }

// drawGraph has a static loop, a branch and a nested graph of two nodes, the second of which nests another.
func drawGraph(t *testing.T) *Graph {
	compile := func(b *Builder[drawState]) *Graph {
		g, err := b.Compile()
		require.NoError(t, err)
		return g
	}
	inner := compile(NewGraph[drawState]("inner").Node("only", drawNothing).Edge(Start, "only").Edge("only", End))
	child := compile(NewGraph[drawState]("child").
		Node("c_one", drawNothing).Subgraph("c_two", inner).Edge(Start, "c_one").Edge("c_one", "c_two").Edge("c_two", End))
	return compile(NewGraph[drawState]("parent").
		Node("agent", drawNothing).Node("tool", drawNothing).Subgraph("sub", child).
		Edge(Start, "agent").Edge("tool", "agent").Edge("sub", End).
		Branch("agent", func(drawState) string { return "tool" }, "tool", "sub", End))
}

func drawnIDs(d Drawing) []string {
	ids := make([]string, len(d.Nodes))
	for i, n := range d.Nodes {
		ids[i] = n.ID
	}
	return ids
}

func TestDrawingHasEntriesNodesAndConditionalEdges(t *testing.T) {
	t.Parallel()
	d := drawGraph(t).Draw(0)
	require.Equal(t, []string{Start, "agent", "tool", "sub", End}, drawnIDs(d))
	require.Equal(t, []DrawnEdge{
		{Source: Start, Target: "agent"},
		{Source: "tool", Target: "agent"},
		{Source: "sub", Target: End},
		{Source: "agent", Target: "tool", Conditional: true},
		{Source: "agent", Target: "sub", Conditional: true},
		{Source: "agent", Target: End, Conditional: true},
	}, d.Edges)

	raw, err := json.Marshal(d.Nodes[1])
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"agent","type":"runnable","data":{"id":["langgraph","RunnableCallable"],"name":"agent"},"metadata":{}}`, string(raw))
	for _, i := range []int{0, 4} {
		require.Equal(t, "schema", d.Nodes[i].Type)
		require.Contains(t, string(d.Nodes[i].Data), "draft-07")
		require.Nil(t, d.Nodes[i].Metadata)
	}
	raw, err = json.Marshal(d.Edges[0])
	require.NoError(t, err)
	require.JSONEq(t, `{"source":"__start__","target":"agent","conditional":false}`, string(raw))
}

func TestDrawingExpandsNestedGraphsToADepth(t *testing.T) {
	t.Parallel()
	g := drawGraph(t)
	one := g.Draw(1)
	require.Equal(t, []string{Start, "agent", "tool", "sub:c_one", "sub:c_two", End}, drawnIDs(one))
	require.Contains(t, one.Edges, DrawnEdge{Source: "agent", Target: "sub:c_one", Conditional: true})
	require.Contains(t, one.Edges, DrawnEdge{Source: "sub:c_one", Target: "sub:c_two"})
	require.Contains(t, one.Edges, DrawnEdge{Source: "sub:c_two", Target: End})

	all := g.Draw(-1)
	require.Equal(t, []string{Start, "agent", "tool", "sub:c_one", "sub:c_two:only", End}, drawnIDs(all))
	require.Contains(t, all.Edges, DrawnEdge{Source: "sub:c_one", Target: "sub:c_two:only"})
	require.Equal(t, all, g.Draw(2))
	for _, e := range all.Edges {
		require.Contains(t, drawnIDs(all), e.Source)
		require.Contains(t, drawnIDs(all), e.Target)
	}
}

func TestUndeclaredBranchMayLeadAnywhereElse(t *testing.T) {
	t.Parallel()
	g, err := NewGraph[drawState]("open").Node("a", drawNothing).Node("b", drawNothing).
		Edge(Start, "a").Branch("a", func(drawState) string { return "b" }).Compile()
	require.NoError(t, err)
	require.Equal(t, []DrawnEdge{
		{Source: Start, Target: "a"},
		{Source: "a", Target: "b", Conditional: true},
		{Source: "a", Target: End, Conditional: true},
	}, g.Draw(0).Edges)
}

// api.test 37: keys of the first level, then all of them, parents first.
func TestSubgraphsAreListedByPath(t *testing.T) {
	t.Parallel()
	g := drawGraph(t)
	paths, graphs := g.Subgraphs(false)
	require.Equal(t, []string{"sub"}, paths)
	require.Equal(t, "child", graphs["sub"].Name())
	paths, graphs = g.Subgraphs(true)
	require.Equal(t, []string{"sub", "sub|c_two"}, paths)
	require.Equal(t, "inner", graphs["sub|c_two"].Name())
	require.Equal(t, graphs["sub|c_two"], g.SubgraphAt("sub:11|c_two:22"))
	require.Nil(t, g.SubgraphAt("agent:11"))
}
