// The open questions of a conversation, with what the stream doesn't tell of them.
import type { AnyStream } from "@langchain/react";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { request } from "../../api/request";
import type { Json, Schema } from "../../schemaform/schema";

export interface OpenQuestion {
  id: string;
  value: unknown;
  /** Names of the nodes that lead to it; empty for the agent's own. */
  path: string[];
  /** As the agent wrote it, without the aliases that the SDK adds; absent until it is read. */
  raw?: Json;
  schema?: Schema;
  since?: string;
}

/**
 * The stream's questions without those that were answered elsewhere, in another tab or by
 * another reviewer. @langchain/react 1.1.0 only forgets the ones that its own page answers;
 * the server tells everybody with `input.answered`.
 */
export function useOpenQuestions(stream: AnyStream): OpenQuestion[] {
  const [answered, setAnswered] = useState<ReadonlySet<string>>(new Set());
  const thread = stream.getThread();
  useEffect(
    () =>
      thread?.onEvent((event: { method: string; params: { data: unknown } }) => {
        if (event.method !== "input.answered") return;
        const { interrupt_ids: ids } = event.params.data as { interrupt_ids: string[] };
        setAnswered((old) => new Set([...old, ...ids]));
      }),
    [thread],
  );
  const open = stream.interrupts.filter((q) => q.id !== undefined && !answered.has(q.id));
  const details = useDetails(stream.threadId, open.map((q) => q.id!).sort().join());
  return open.map((q) => {
    const namespace = (q as { namespace?: string[] }).namespace ?? [];
    return { id: q.id!, value: q.value, path: namespace.map((part) => part.split(":")[0]!), ...details.data?.get(q.id!) };
  });
}

interface State {
  created_at?: string;
  tasks?: { interrupts?: { id: string; value: Json; response_schema?: Schema }[]; state?: State | null }[];
}

type Detail = Pick<OpenQuestion, "raw" | "schema" | "since">;

/** The response schemas of the questions, and since when they wait: only the state has them. */
function useDetails(threadId: string | null, ids: string) {
  return useQuery({
    queryKey: ["questions", threadId, ids],
    queryFn: async () => {
      const found = new Map<string, Detail>();
      collect(await request<State>(`/threads/${threadId}/state?subgraphs=true`), found);
      return found;
    },
    enabled: threadId !== null && ids !== "",
    staleTime: Infinity,
  });
}

function collect(state: State, found: Map<string, Detail>): void {
  for (const task of state.tasks ?? []) {
    for (const { id, value, response_schema: schema } of task.interrupts ?? []) found.set(id, { raw: value, schema, since: state.created_at });
    if (task.state) collect(task.state, found);
  }
}
