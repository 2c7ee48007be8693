import { useStream } from "@langchain/react";
import type { Agent } from "../agents";
import { useConnection } from "./connection";

/** What the app reads of an agent's state; whatever else there is, the inspector shows. */
export type ChatState = Record<string, unknown>;

interface Options {
  agent: Agent;
  threadId: string | undefined;
  onThreadId(id: string): void;
  onRunChanged(): void;
}

/** A conversation with an agent, by the published hook. */
export function useChatStream({ agent, threadId, onThreadId, onRunChanged }: Options) {
  const { connection, options } = useConnection();
  const stream = useStream<ChatState>({
    apiUrl: location.origin,
    assistantId: agent.assistant_id,
    threadId: threadId ?? null,
    onThreadId,
    onCreated: onRunChanged,
    onCompleted: onRunChanged,
    ...options,
  });
  return { stream, connection };
}

export type ChatStream = ReturnType<typeof useChatStream>["stream"];
