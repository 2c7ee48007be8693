// Panels that show one selector of a stream each; mounting one subscribes.
import {
  useChannel, useChannelEffect, useExtension, useMessageMetadata, useMessages, useToolCalls, useValues,
} from "@langchain/react";
import { useEffect } from "react";

/** Finds what a panel looks at: a subagent by name or place, a subgraph by place, a namespace. */
function target(stream, { subagent, subgraph, namespace }) {
  const agents = [...stream.subagents.values()];
  if (typeof subagent === "string") return agents.find((a) => a.name === subagent);
  if (typeof subagent === "number") return agents[subagent];
  if (typeof subgraph === "number") return [...stream.subgraphs.values()][subgraph];
  return namespace;
}

const kinds = {
  messages: ({ stream, panel }) =>
    JSON.stringify(useMessages(stream, target(stream, panel)).map((m) => ({ id: m.id, type: m.getType(), text: m.text }))),
  toolCalls: ({ stream, panel }) => JSON.stringify(useToolCalls(stream, target(stream, panel)).map((c) => c.name)),
  values: ({ stream, panel }) => JSON.stringify(useValues(stream, target(stream, panel))),
  metadata: ({ stream, panel }) => JSON.stringify(useMessageMetadata(stream, stream.messages[panel.message]?.id) ?? null),
  channel: ({ stream, panel }) => JSON.stringify(useChannel(stream, panel.channels, undefined, panel.options)),
  extension: function Extension({ stream, panel }) {
    const value = useExtension(stream, panel.extension);
    useEffect(() => {
      if (value !== undefined) window.note("extension", value);
    }, [value]);
    return JSON.stringify(value ?? null);
  },
  effect({ stream, panel }) {
    useChannelEffect(stream, panel.channels, { enabled: panel.enabled, onEvent: (event) => window.note("effect", event.method) });
    return "null";
  },
};

export function Panel({ stream, panel }) {
  const Kind = kinds[panel.kind];
  const scoped = panel.subagent !== undefined || panel.subgraph !== undefined;
  if (scoped && !target(stream, panel)) return null;
  return <pre data-panel={panel.id}><Kind stream={stream} panel={panel} /></pre>;
}
