package conformance

import (
	"time"

	"github.com/parley-dev/parley/agent"
)

// ReactSet returns the graphs of the React suite (spec/conformance-frontends.md 5).
func ReactSet() []agent.Agent {
	return append(commonSet(),
		StategraphText(), CreateAgent(), DeepAgent(), InterruptGraph(),
		interruptCardGraph(scriptStyle), errorGraph("error_graph"), slowGraph("slow_graph"),
		headlessToolGraph("headless_tool_graph"), removeMessageGraph("remove_message_graph"),
		childGraph("subgraph_graph", replyGraph("child", "inner", sharedModel("Reply from child"), "child-started", "child-finished")),
		embeddedGraph("embedded_subgraph_graph", sharedModel("Subgraph reply")),
		answeringGraph("custom_channel_graph", "Custom channel reply", customStage{"thinking"}, answeringStatus, customStage{"done"}),
		parallelFanout(scriptStyle), parallelSubgraph(sharedModel("Subgraph reply"), "worker-started"),
	)
}

// VueSet returns the graphs of the Vue suite (spec/conformance-frontends.md 6).
func VueSet() []agent.Agent {
	return append(othersSet(echoStyle),
		slowGraph("slowAgent"), echoDeepAgent(echoStyle),
		answeringGraph("customChannelAgent", "Custom channel reply", customStage{"thinking"}, answeringStatus, customStage{"done"}),
		embeddedGraph("embeddedSubgraphAgent", timedReply()),
	)
}

// SvelteSet returns the graphs of the Svelte suite (spec/conformance-frontends.md 7).
func SvelteSet() []agent.Agent {
	return append(othersSet(echoStyle),
		answeringGraph("stategraph_text", "Plan accepted."),
		slowGraph("slow_graph"), echoDeepAgent(svelteStyle),
		answeringGraph("customChannelAgent", "Custom channel reply", customStage{"thinking"}, answeringStatus, customStage{"done"}),
		embeddedGraph("embedded_subgraph_graph", constant("Subgraph reply")),
	)
}

// AngularSet returns the graphs of the Angular suite (spec/conformance-frontends.md 8).
func AngularSet() []agent.Agent {
	return append(othersSet(echoStyle),
		slowGraph("slow_graph"), echoDeepAgent(echoStyle),
		answeringGraph("customChannelAgent", "Custom channel reply", customStage{"thinking"}, customStage{"done"}),
		answeringGraph("namedCustomChannelAgent", "Named custom channel reply", answeringStatus),
		embeddedGraph("embeddedSubgraphAgent", timedReply()),
	)
}

// commonSet returns the graphs that all four suites have under the same ids.
func commonSet() []agent.Agent {
	return []agent.Agent{
		interruptOnceGraph(), multiInterruptGraph(), nestedInterruptGraph(), deepAgentInterrupt(), statefulValuesGraph(),
	}
}

// othersSet returns those that the suites but React's share.
func othersSet(s style) []agent.Agent {
	return append(commonSet(),
		heyGraph(), interruptAgent(), childGraph("parentAgent", heyGraph()), interruptCardGraph(s),
		errorGraph("errorAgent"), headlessToolGraph("headlessToolAgent"), removeMessageGraph("removeMessageAgent"),
		parallelFanout(s), parallelSubgraph(timedReply(), ""),
	)
}

func timedReply() talker { return timedModel("Subgraph reply", 50*time.Millisecond) }
