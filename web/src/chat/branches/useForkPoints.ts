import type { BaseMessage } from "@langchain/core/messages";
import { useQueries } from "@tanstack/react-query";
import { request } from "../../api/request";
import type { Branching } from "./checkpoints";

/** A place where the conversation has several versions. */
export interface ForkPoint {
  /** The first checkpoint of each version, oldest first. */
  options: string[];
  chosen: number;
}

interface State {
  values?: { messages?: { id?: string }[] };
}

/** The forks by the message that they begin with: the first one after those of the state they share. */
export function useForkPoints(threadId: string | undefined, { forks }: Branching, messages: BaseMessage[]): Map<string, ForkPoint> {
  const shared = useQueries({
    queries: forks.map((fork) => ({
      queryKey: ["shared", threadId, fork.parent],
      queryFn: async () => {
        const state = await request<State>(`/threads/${threadId}/state/checkpoint`, { body: { checkpoint: { checkpoint_id: fork.parent }, select: ["values.messages"] } });
        return (state.values?.messages ?? []).map((m) => m.id);
      },
      staleTime: Infinity,
    })),
  });
  const points = new Map<string, ForkPoint>();
  forks.forEach((fork, i) => {
    const known = new Set(shared[i]?.data);
    if (!shared[i]?.data) return;
    const first = messages.find((m) => !known.has(m.id));
    if (first?.id && !points.has(first.id)) points.set(first.id, { options: fork.options.map((c) => c.id), chosen: fork.chosen });
  });
  return points;
}
