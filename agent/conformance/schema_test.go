package conformance_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/conformance"
)

type schema struct {
	Schema     string             `json:"$schema"`
	Type       any                `json:"type"`
	Ref        string             `json:"$ref"`
	Enum       []string           `json:"enum"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	Langgraph  string             `json:"langgraph_type"`
	Default    any                `json:"default"`
	Describes  string             `json:"description"`
	OneOf      []*schema          `json:"oneOf"`
	AnyOf      []*schema          `json:"anyOf"`
	Defs       map[string]*schema `json:"definitions"`
}

func readSchema(t *testing.T, raw json.RawMessage) *schema {
	t.Helper()
	var s schema
	require.NoError(t, json.Unmarshal(raw, &s))
	require.Equal(t, "http://json-schema.org/draft-07/schema#", s.Schema)
	return &s
}

func graphOf(t *testing.T, a agent.Agent, configurable map[string]json.RawMessage) *agent.Graph {
	t.Helper()
	g, err := a.Graph(t.Context(), agent.Config{Configurable: configurable})
	require.NoError(t, err)
	return g
}

func TestAgentsSchemasNameItsMessagesAndItsModel(t *testing.T) {
	t.Parallel()
	const messageDefinition = "BaseMessage<MessageStructure<MessageToolSet>,MessageType>"
	schemas := graphOf(t, conformance.Agent(), nil).Schemas()
	config := readSchema(t, schemas.Context)
	require.Equal(t, "object", config.Type)
	require.Equal(t, "string", config.Properties["model_name"].Type)

	state := readSchema(t, schemas.State)
	require.Equal(t, "array", state.Properties["messages"].Type)
	require.Equal(t, "#/definitions/"+messageDefinition, state.Properties["messages"].Items.Ref)
	definition := state.Defs[messageDefinition]
	require.Contains(t, definition.Describes, "Base class for all types of messages")
	require.Len(t, definition.OneOf, 1)
	require.Equal(t, "#/definitions/RemoveMessage", definition.OneOf[0].Ref)

	const hidden = "sharedStateFromStoreConfig"
	require.Contains(t, state.Properties, hidden)
	require.Contains(t, readSchema(t, schemas.Input).Properties, hidden)
	require.NotContains(t, readSchema(t, schemas.Output).Properties, hidden)
	require.Len(t, state.Properties, 7)
	require.Len(t, state.Properties["sleep"].AnyOf, 2)
}

func TestAgentsDrawingTellsStaticFromConditionalEdges(t *testing.T) {
	t.Parallel()
	d := graphOf(t, conformance.Agent(), nil).Draw(0)
	types := map[string]string{}
	for _, n := range d.Nodes {
		types[n.ID] = n.Type
		if n.Type == "runnable" {
			var data struct {
				Name string `json:"name"`
			}
			require.NoError(t, json.Unmarshal(n.Data, &data))
			require.Equal(t, n.ID, data.Name)
		}
	}
	require.Equal(t, map[string]string{
		"__start__": "schema", "__end__": "schema", "agent": "runnable", "tool": "runnable", "checkSharedState": "runnable",
	}, types)
	require.ElementsMatch(t, []agent.DrawnEdge{
		{Source: "__start__", Target: "agent"},
		{Source: "agent", Target: "tool", Conditional: true},
		{Source: "agent", Target: "checkSharedState", Conditional: true},
		{Source: "agent", Target: "__end__", Conditional: true},
		{Source: "tool", Target: "agent"},
		{Source: "checkSharedState", Target: "__end__"},
	}, d.Edges)
}

func TestNestedListsItsSubgraphsWithTheirEnums(t *testing.T) {
	t.Parallel()
	g := graphOf(t, conformance.Nested(), nil)
	paths, _ := g.Subgraphs(false)
	require.Equal(t, []string{"gp_two"}, paths)
	paths, graphs := g.Subgraphs(true)
	require.Equal(t, []string{"gp_two", "gp_two|p_two"}, paths)
	for path, key := range map[string]string{"gp_two": "parent", "gp_two|p_two": "child"} {
		s := readSchema(t, graphs[path].Schemas().State)
		require.Equal(t, "object", s.Type)
		require.Equal(t, "array", s.Properties["messages"].Type)
		require.Equal(t, []string{key + "_one", key + "_two"}, s.Properties[key].Enum)
	}
}

func TestContextSchemaShowsTheModelsInOrder(t *testing.T) {
	t.Parallel()
	s := readSchema(t, graphOf(t, conformance.SimpleRuntime(), nil).Schemas().Context)
	require.Equal(t, []string{"anthropic", "openai", "unknown"}, s.Properties["model"].Enum)
}

func TestSchemaGraphsMarkWhichListHoldsMessages(t *testing.T) {
	t.Parallel()
	for _, a := range []agent.Agent{conformance.StateSchemaGraph(), conformance.ZodRegistryGraph()} {
		s := readSchema(t, graphOf(t, a, nil).Schemas().State)
		require.Equal(t, "messages", s.Properties["messages"].Langgraph, a.Name())
		require.Contains(t, s.Properties, "count", a.Name())
	}
	zod := readSchema(t, graphOf(t, conformance.ZodRegistryGraph(), nil).Schemas().State)
	require.Equal(t, []string{"done", "idle", "processing"}, zod.Properties["status"].Enum)
	require.Equal(t, "idle", zod.Properties["status"].Default)

	plain := readSchema(t, graphOf(t, conformance.PlainZodGraph(), nil).Schemas().State)
	require.Equal(t, "array", plain.Properties["items"].Type)
	require.Empty(t, plain.Properties["items"].Langgraph)
	require.Contains(t, plain.Properties, "counter")
	require.Contains(t, plain.Properties, "label")
}

func TestSetsHoldTheGraphsOfTheSuitesOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		agents []agent.Agent
		want   []string
	}{
		"main": {conformance.MainSet(), []string{
			"agent", "agent_simple", "nested", "weather", "error", "delay", "dynamic", "simple_runtime",
			"state_schema_graph", "zod_registry_graph", "plain_zod_graph",
		}},
		"auth": {conformance.AuthSet(), []string{"agent", "agent_simple"}},
		"embed": {conformance.EmbedSet(), []string{
			"agent", "agent_with_tools", "agent_with_stats", "nested", "weather", "error", "delay", "simple_runtime",
		}},
	} {
		var names []string
		for _, a := range c.agents {
			names = append(names, a.Name())
			graphOf(t, a, nil)
		}
		require.Equal(t, c.want, names, name)
	}
}
