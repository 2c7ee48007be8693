// The state at a checkpoint.
import { coerceMessageLikeToMessage, type BaseMessage } from "@langchain/core/messages";
import { useQuery, type QueryClient } from "@tanstack/react-query";
import { request } from "../../api/request";

export interface StateAt {
  values: Record<string, unknown> & { messages?: unknown[] };
  next: string[];
  created_at: string | null;
  metadata: Record<string, unknown>;
  tasks: { name: string; interrupts?: unknown[] }[];
}

const query = (threadId: string, checkpoint: string) => ({
  queryKey: ["state", threadId, checkpoint],
  queryFn: () => request<StateAt>(`/threads/${threadId}/state/checkpoint`, { body: { checkpoint: { checkpoint_id: checkpoint } } }),
  staleTime: Infinity,
});

export const useStateAt = (threadId: string | undefined, checkpoint: string | undefined) =>
  useQuery({ ...query(threadId ?? "", checkpoint ?? ""), enabled: threadId !== undefined && checkpoint !== undefined });

export const readStateAt = (queries: QueryClient, threadId: string, checkpoint: string) => queries.fetchQuery(query(threadId, checkpoint));

/** A state's messages as the SDK's stream has them. */
export function messagesOf(state: StateAt | undefined): BaseMessage[] {
  const list = state?.values.messages ?? [];
  return list.map((m) => coerceMessageLikeToMessage(m as Parameters<typeof coerceMessageLikeToMessage>[0]));
}
