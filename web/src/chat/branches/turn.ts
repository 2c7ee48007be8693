// Where a message came into the conversation.
import type { QueryClient } from "@tanstack/react-query";
import { branching, freshCheckpoints, type Checkpoint } from "./checkpoints";
import { messagesOf, readStateAt } from "./stateAt";

export interface Turn {
  /** The last checkpoint without the message; forking here with another one replaces it. */
  before: string;
  /** The first one with it; running on from here answers it again. */
  after: string;
}

/** Finds a message's checkpoints on a branch: states only grow along it, so halving finds the step. */
export async function turnOf(queries: QueryClient, threadId: string, messageId: string, leaf: string | undefined): Promise<Turn> {
  const path = branching(await freshCheckpoints(queries, threadId), leaf).path.toReversed();
  const has = async (c: Checkpoint) => messagesOf(await readStateAt(queries, threadId, c.id)).some((m) => m.id === messageId);
  let low = 0;
  let high = path.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (await has(path[middle]!)) high = middle;
    else low = middle + 1;
  }
  const after = path[low];
  if (!after) throw new Error("The message is in no checkpoint of this branch.");
  // An input's own checkpoint holds the old message as its pending input: fork before it where there is a before.
  const input = path[low - 1];
  const before = input?.source === "input" ? (path[low - 2] ?? input) : input;
  return { before: (before ?? after).id, after: after.id };
}
