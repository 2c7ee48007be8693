import { useStream } from "@langchain/react";
import { useMemo, useRef } from "react";
import type { Agent } from "../agents";
import { useConnection } from "./connection";
import { pacedFetch } from "./paced";

/** What the app reads of an agent's state; whatever else there is, the inspector shows. */
export type ChatState = Record<string, unknown>;

interface Options {
  /** Other tabs are open, too. */
  crowded: boolean;
  agent: Agent;
  threadId: string | undefined;
  onThreadId(id: string): void;
  /** A run began or ended; own: this page has begun it. */
  onRunChanged(own: boolean): void;
}

/** A conversation with an agent, by the published hook. */
export function useChatStream({ crowded, agent, threadId, onThreadId, onRunChanged }: Options) {
  const { connection, options } = useConnection();
  // The hook keeps the callbacks of its first render.
  const latest = useRef({ onThreadId, onRunChanged });
  latest.current = { onThreadId, onRunChanged };
  const callbacks = useMemo(
    () => ({
      onThreadId: (id: string) => latest.current.onThreadId(id),
      onCreated: () => latest.current.onRunChanged(true),
      onCompleted: () => latest.current.onRunChanged(false), // also of one that ended before the page was there,
    }),
    [],
  );
  const stream = useStream<ChatState>({
    apiUrl: location.origin,
    assistantId: agent.assistant_id,
    threadId: threadId ?? null,
    transport: crowded ? "websocket" : "sse",
    fetch: pacedFetch,
    ...callbacks,
    ...options,
  });
  return { stream, connection };
}

export type ChatStream = ReturnType<typeof useChatStream>["stream"];
