// Panels that show one selector of a stream each; mounting one subscribes.
import {
  useChannel, useChannelEffect, useExtension, useMessageMetadata, useMessages, useToolCalls, useValues,
} from "@langchain/react";
import { useEffect } from "react";
import { isScoped, target } from "../target.js";

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
  if (isScoped(panel) && !target(stream, panel)) return null;
  return <pre data-panel={panel.id}><Kind stream={stream} panel={panel} /></pre>;
}
