package captures_test

import (
	"maps"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
)

// fixture is a capture with the server that it is compared with.
type fixture struct {
	options func() server.Options
	// unordered streams are compared as sets of frames: with many nested graphs at
	// once not even the order within one of them is a contract.
	unordered bool
	// meant are differences that only this capture has, and why they are.
	meant []deviation
}

type deviation struct {
	why         string
	differences []string
}

// fixtures are the captures by the names of their files.
func fixtures() map[string]fixture {
	all := map[string]fixture{}
	for _, name := range []string{
		"agent", "agent.interrupt", "agent.should-end", "agent.sleep", "agent_simple", "delay", "dynamic", "error",
		"nested", "plain_zod_graph", "simple_runtime", "state_schema_graph", "weather", "zod_registry_graph",
	} {
		all["main/"+name] = fixture{options: mainSet, meant: deviations["main/"+name]}
	}
	for _, name := range []string{
		"create_agent", "custom_channel_graph", "embedded_subgraph_graph", "error_graph", "headless_tool_graph",
		"interrupt_card_graph", "interrupt_graph", "missing_graph", "multi_interrupt_graph.both",
		"multi_interrupt_graph.one-by-one", "nested_interrupt_graph", "parallel_subgraph", "remove_message_graph", "slow_graph", "slow_graph.cancel",
		"stateful_values_graph", "stategraph_text", "stategraph_text.two-turns", "subgraph_graph",
	} {
		all["react/"+name] = fixture{options: reactSet, meant: deviations["react/"+name], unordered: name == "parallel_subgraph"}
	}
	for _, name := range []string{"agent", "interrupt_card_graph"} {
		all["vue/"+name] = fixture{options: vueSet}
	}
	all["angular/namedCustomChannelAgent"] = fixture{options: angularSet}
	return all
}

// deviations are the differences of single captures, to the letter.
var deviations = map[string][]deviation{
	"main/weather": {{
		"a thread's values and interrupts are the root's; recorded are those of whichever graph stored last (spec/rest-api.md Appendix B 10)",
		[]string{
			`4 GET thread: .reply.interrupts.UUID-13: missing here, recorded []`,
			`4 GET thread: .reply.interrupts.UUID-7: only here, []`,
			`4 GET thread: .reply.values.city: missing here, recorded "San Francisco"`,
			`4 GET thread: .reply.values.route: only here, "weather"`,
		},
	}},
	"react/missing_graph": {{
		"a thread without state has metadata {} (spec/rest-api.md 2.3)",
		[]string{
			`2 GET state: .reply.metadata: only here, {}`,
			`3 GET state?subgraphs=true: .reply.metadata: only here, {}`,
		},
	}},
	"react/multi_interrupt_graph.one-by-one": {{
		"of an answered question the newest state shows the result, so that what it lists as interrupts can be answered (decisions 8)",
		[]string{
			`6 GET state: .reply.tasks[0].interrupts: recorded [{"id":"HEX32-1","value":{"action":"A","prompt":"Approve action A?"}}], here []`,
			`6 GET state: .reply.tasks[0].result: recorded null, here {"decisions":{"A":{"approved":true}}}`,
			`7 GET state?subgraphs=true: .reply.tasks[0].interrupts: recorded [{"id":"HEX32-1","value":{"action":"A","prompt":"Approve action A?"}}], here []`,
			`7 GET state?subgraphs=true: .reply.tasks[0].result: recorded null, here {"decisions":{"A":{"approved":true}}}`,
		},
	}},
	"react/nested_interrupt_graph": {{
		"a thread's interrupts are those of the root's tasks (spec/rest-api.md Appendix B 10)",
		[]string{
			`4 GET thread: .reply.interrupts.UUID-13: missing here, recorded [{"id":"HEX32-1","value":{"prompt":"Approve nested subgraph action?","request":"Send the weekly report"}}]`,
			`4 GET thread: .reply.interrupts.UUID-5: only here, [{"id":"HEX32-1","value":{"prompt":"Approve nested subgraph action?","request":"Send the weekly report"}}]`,
		},
	}},
	"react/remove_message_graph": {{
		"a message that is pushed by hand has the metadata of every other that its node makes",
		[]string{
			`1 POST stream frame 11: .data[1].tags: only here, []`,
			`1 POST stream frame 12: .data[1].name: only here, "step2"`,
			`1 POST stream frame 12: .data[1].tags: only here, ["graph:step:2"]`,
		},
	}},
	"react/slow_graph.cancel": {
		{
			"wait=0 is no wait: 202 (spec/rest-api.md 1.3, Appendix B 1)",
			[]string{`2 POST cancel?wait=0&action=interrupt: .status: recorded 204, here 202`},
		},
		{
			"cancelled tasks carry an error, cancelled threads keep their values (spec/rest-api.md Appendix B 8)",
			[]string{
				`3 GET state: .reply.tasks[0].error: recorded null, here "{\"message\":\"Run was cancelled\",\"name\":\"CancelledError\"}"`,
				`4 GET state?subgraphs=true: .reply.tasks[0].error: recorded null, here "{\"message\":\"Run was cancelled\",\"name\":\"CancelledError\"}"`,
				`5 POST history: .reply[0].tasks[0].error: recorded null, here "{\"message\":\"Run was cancelled\",\"name\":\"CancelledError\"}"`,
				`6 GET thread: .reply.interrupts: only here, {"UUID-5":[]}`,
				`6 GET thread: .reply.values: only here, {"messages":[{"additional_kwargs":{},"content":"Hello","id":"human-1","response_metadata":{},"type":"human"}]}`,
			},
		},
	},
}

func TestRepliesAgreeWithTheRecordedOnes(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	used := map[string]bool{}
	t.Run("captures", func(t *testing.T) {
		for name, f := range fixtures() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := play(t, serve(t, f.options()), load(t, name), f.unordered)
				var meant []string
				for _, d := range f.meant {
					meant = append(meant, d.differences...)
				}
				require.ElementsMatch(t, meant, p.differences)
				mu.Lock()
				defer mu.Unlock()
				maps.Copy(used, p.used)
			})
		}
	})
	for _, m := range masks {
		require.True(t, used[m.name], "nothing needs the mask %q", m.name)
	}
}
