// The libraries under test, each on its own suite's agents (spec/conformance-frontends.md 9).
import { human, openPage, react, says, svelte } from "./page.mjs";

const graphs = (...same) => Object.fromEntries(same.map((id) => [id, id]));

export const libraries = [
  {
    name: "react",
    api: react,
    // An agent with one question, and how its run ends.
    asking: {
      graph: "interrupt_graph",
      input: { request: "Send the weekly report" },
      question: { prompt: "Approve the outbound action?", request: "Send the weekly report" },
      answer: { approved: true },
      answered: (s) => s.values.completed === true && s.values.decision?.approved === true,
    },
    graphs: graphs(
      "custom_channel_graph", "deep_agent", "deep_agent_interrupt", "embedded_subgraph_graph", "error_graph", "headless_tool_graph",
      "interrupt_card_graph", "interrupt_graph", "interrupt_once_graph", "missing_graph", "multi_interrupt_graph", "nested_interrupt_graph",
      "parallel_fanout", "parallel_subgraph", "remove_message_graph", "slow_graph", "stategraph_text", "stateful_values_graph", "subgraph_graph",
    ),
  },
  {
    name: "svelte",
    api: svelte,
    asking: {
      graph: "interruptAgent",
      input: human("Hello"),
      question: { nodeName: "agent" },
      answer: "Hi there",
      answered: says("Hello", "Before interrupt", "Hey: Hi there", "After interrupt"),
    },
    graphs: {
      ...graphs(
        "deep_agent_interrupt", "embedded_subgraph_graph", "interruptAgent", "interrupt_card_graph", "interrupt_once_graph", "missing_graph",
        "multi_interrupt_graph", "nested_interrupt_graph", "parallel_fanout", "parallel_subgraph", "slow_graph", "stategraph_text",
        "stateful_values_graph",
      ),
      custom_channel_graph: "customChannelAgent",
      deep_agent: "deepAgent",
      error_graph: "errorAgent",
      headless_tool_graph: "headlessToolAgent",
      remove_message_graph: "removeMessageAgent",
      subgraph_graph: "parentAgent",
    },
  },
];

/** Mounts a library's component on a graph, under the name that React's suite gives it. */
export async function mountOn(t, library, graph, props = {}, options = {}) {
  const page = await openPage(t, { library: library.name });
  return page.mount({ api: library.api, graph: library.graphs[graph], ...props }, options);
}
