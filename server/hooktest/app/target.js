/** Finds what a panel looks at: a subagent by name or place, a subgraph by place, a namespace. */
export function target(stream, { subagent, subgraph, namespace }) {
  const agents = [...stream.subagents.values()];
  if (typeof subagent === "string") return agents.find((a) => a.name === subagent);
  if (typeof subagent === "number") return agents[subagent];
  if (typeof subgraph === "number") return [...stream.subgraphs.values()][subgraph];
  return namespace;
}

/** Whether a panel shows a part of the run, which may not be there yet. */
export const isScoped = (panel) => panel.subagent !== undefined || panel.subgraph !== undefined;
