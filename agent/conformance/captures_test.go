package conformance_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/conformance"
)

// What the reference server sent and stored for these runs is what our runtime
// emits and stores: states, histories, updates, inputs and results of tasks.
func TestRunsAgreeWithTheReference(t *testing.T) {
	t.Parallel()
	openai := map[string]json.RawMessage{"model_name": json.RawMessage(`"openai"`)}
	unknown := json.RawMessage(`{"model":"unknown"}`)
	for name, c := range map[string]struct {
		agent agent.Agent
		first run
		// then is the second run of the thread; between, the state is as in <name>.interrupted-state.
		then        *run
		interrupted bool
		failed      bool
	}{
		"agent":              {agent: conformance.Agent(), first: run{input: humanInput("foo"), configurable: openai}},
		"agent.should-end":   {agent: conformance.Agent(), first: run{input: humanInput("should_end")}},
		"agent.sleep":        {agent: conformance.Agent(), first: run{input: humanInput("foo", `"sleep":{"steps":3,"ms":100}`)}},
		"agent.interrupt":    {agent: conformance.Agent(), first: run{input: humanInput("foo", `"interrupt":true`)}, then: &run{resume: `"any answer"`}, interrupted: true},
		"agent_simple":       {agent: conformance.AgentSimple(), first: run{input: humanInput("input")}},
		"delay":              {agent: conformance.Delay(), first: run{input: `{"messages":[],"delay":300}`}},
		"dynamic":            {agent: conformance.Dynamic(), first: run{input: `{"messages":["input"]}`}},
		"error":              {agent: conformance.Error(), first: run{input: `{"messages":[]}`}, failed: true},
		"nested":             {agent: conformance.Nested(), first: run{input: `{"messages":[]}`}},
		"plain_zod_graph":    {agent: conformance.PlainZodGraph(), first: run{input: `{"items":["a"],"counter":0}`}},
		"simple_runtime":     {agent: conformance.SimpleRuntime(), first: run{input: `{"messages":["input"]}`, context: unknown}},
		"state_schema_graph": {agent: conformance.StateSchemaGraph(), first: run{input: humanInput("Hello")}},
		"weather":            {agent: conformance.Weather(), first: run{input: humanInput("What's the weather in SF?")}, then: &run{}, interrupted: true},
		"zod_registry_graph": {agent: conformance.ZodRegistryGraph(), first: run{input: `{"messages":"Hello","count":0,"status":"idle"}`}},
		"create_agent":       {agent: conformance.CreateAgent(), first: run{input: humanInput("What is the weather in San Francisco?")}},
		"interrupt_graph":    {agent: conformance.InterruptGraph(), first: run{input: `{"request":"Send the weekly report"}`}, then: &run{resume: `{"approved":true}`}, interrupted: true},
		"stategraph_text":    {agent: conformance.StategraphText(), first: run{input: humanInput("Hello")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, c.agent)
			r := l.run(c.first)
			requireFrames(t, name, r.events)
			if c.interrupted {
				requireState(t, name+".interrupted-state", l.state(false))
				require.True(t, r.outcome.Suspended || r.outcome.Breakpoint)
				r = l.run(*c.then)
				requireFrames(t, name+"-resume", r.events)
			}
			if c.failed {
				require.Equal(t, "error", r.outcome.Status)
				requireState(t, name+".state", l.state(false))
			} else {
				require.Equal(t, "success", r.outcome.Status)
			}
			requireHistory(t, name, l.history(""))
		})
	}
}

// The order of the two subagents is no contract, the rest is.
func TestDeepAgentAgreesWithTheReference(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.DeepAgent())
	r := l.run(run{input: humanInput("Research the protocol risks")})
	require.Equal(t, "success", r.outcome.Status)
	want := recorded[[]snapshotView](t, "deep_agent.history")
	history := l.history("")
	require.Len(t, history, len(want))
	for i, s := range history {
		got := viewOf(t, s)
		require.Equal(t, masked(want[i].Values), got.Values, "entry %d", i)
		require.Equal(t, want[i].Next, got.Next, "entry %d", i)
		require.Equal(t, want[i].Step, got.Step, "entry %d", i)
	}
	var asked []string
	for _, e := range r.events {
		if note, ok := e.Payload.(agent.ToolNote); ok && e.Kind == agent.ToolStarted {
			asked = append(asked, note.Name+" "+note.CallID)
		}
	}
	require.ElementsMatch(t, []string{"task task-1", "task task-2", "search_web search-1", "query_database query-1"}, asked)
}

func TestAStoppedSubgraphIsReadInsideItsTask(t *testing.T) {
	t.Parallel()
	l := newLab(t, conformance.Weather())
	l.run(run{input: humanInput("What's the weather in SF?")})
	requireState(t, "weather.interrupted-state-subgraphs", l.state(true))
}
