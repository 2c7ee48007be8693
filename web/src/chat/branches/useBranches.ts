// Editing, answering again and switching: what is shown when a conversation has several versions.
import type { BaseMessage } from "@langchain/core/messages";
import { useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import type { ChatStream } from "../stream/useChatStream";
import { branching, newestBelow, useCheckpoints } from "./checkpoints";
import { messagesOf, readStateAt, useStateAt } from "./stateAt";
import { turnOf } from "./turn";
import { useForkPoints, type ForkPoint } from "./useForkPoints";

export interface Branches {
  /** The messages of the branch that is shown. */
  messages: BaseMessage[];
  /** True when the branch is not the newest one. */
  older: boolean;
  /** Versions by the id of the first message in which they differ. */
  forks: ReadonlyMap<string, ForkPoint>;
  /** The conversation's newest checkpoint. */
  newest: string;
  /** Shows the newest branch through a checkpoint, or exactly the checkpoint. */
  show(checkpoint: string, exactly?: boolean): void;
  edit(message: BaseMessage, text: string): Promise<void>;
  retry(message: BaseMessage): Promise<void>;
  /** Sends on from the branch that is shown. */
  submit(input: Record<string, unknown> | null, options?: object): Promise<void>;
  /** Runs again from a checkpoint. */
  rerun(checkpoint: string): Promise<void>;
}

/** threadId is absent until the server has the thread. */
export function useBranches(stream: ChatStream, threadId: string | undefined, leaf: string | undefined, onLeaf: (leaf: string | undefined) => void): Branches {
  const queries = useQueryClient();
  const checkpoints = useCheckpoints(threadId);
  const shownState = useStateAt(threadId, leaf);
  // A fork's run sends a lower step, on which the SDK only adds: what the fork left behind is hidden here.
  const [fork, setFork] = useState<{ base: BaseMessage[]; hidden: ReadonlySet<string> } | null>(null);

  const messages = useMemo(() => {
    if (leaf) return messagesOf(shownState.data);
    if (!fork) return stream.messages;
    const kept = stream.messages.filter((m) => !fork.hidden.has(m.id ?? ""));
    const there = new Set(kept.map((m) => m.id));
    if (fork.base.every((m) => there.has(m.id))) return kept;
    const base = new Set(fork.base.map((m) => m.id));
    return [...fork.base, ...kept.filter((m) => !base.has(m.id))];
  }, [leaf, shownState.data, fork, stream.messages]);

  const all = checkpoints.data ?? [];
  const forks = useForkPoints(threadId, useMemo(() => branching(all, leaf), [all, leaf]), messages);

  async function forkFrom(checkpoint: string, input: Record<string, unknown> | null) {
    const base = threadId ? messagesOf(await readStateAt(queries, threadId, checkpoint)) : [];
    const kept = new Set(base.map((m) => m.id));
    setFork({ base, hidden: new Set(stream.messages.map((m) => m.id ?? "").filter((id) => !kept.has(id))) });
    onLeaf(undefined);
    await stream.submit(input, { forkFrom: checkpoint });
  }

  return {
    messages,
    older: leaf !== undefined,
    forks,
    newest: all[0]?.id ?? "",
    show: (id, exactly) => {
      const target = exactly ? id : newestBelow(all, id);
      onLeaf(target === all[0]?.id ? undefined : target);
    },
    async edit(message, text) {
      const { before } = await turnOf(queries, threadId!, message.id!, leaf);
      await forkFrom(before, { messages: [{ type: "human", content: text }] });
    },
    async retry(message) {
      const { after } = await turnOf(queries, threadId!, message.id!, leaf);
      await forkFrom(after, null);
    },
    submit: (input, options) => (leaf ? forkFrom(leaf, input) : stream.submit(input, options)),
    rerun: (checkpoint) => forkFrom(checkpoint, null),
  };
}
