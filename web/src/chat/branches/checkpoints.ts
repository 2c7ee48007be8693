// The tree of a conversation's checkpoints: its branches, and where to fork.
import { useQuery, type QueryClient } from "@tanstack/react-query";
import { request } from "../../api/request";

export interface Checkpoint {
  id: string;
  parent: string | undefined;
  step: number;
  source: string;
  next: string[];
  createdAt: string;
  runId: string | undefined;
}

interface Wire {
  checkpoint: { checkpoint_id: string };
  parent_checkpoint: { checkpoint_id: string } | null;
  metadata: { step?: number; source?: string; run_id?: string };
  next: string[];
  created_at: string;
}

const light = ["checkpoint", "parent_checkpoint", "metadata", "next", "created_at"];
const most = 1000;
export const checkpointsKey = (threadId: string | null | undefined) => ["checkpoints", threadId];

/** All checkpoints without their values, newest first. */
async function read(threadId: string): Promise<Checkpoint[]> {
  const list = await request<Wire[]>(`/threads/${threadId}/history`, { body: { limit: most, select: light } });
  return list.map(({ checkpoint, parent_checkpoint: parent, metadata, next, created_at: createdAt }) => ({
    id: checkpoint.checkpoint_id, parent: parent?.checkpoint_id, step: metadata.step ?? 0, source: metadata.source ?? "loop", next, createdAt, runId: metadata.run_id,
  }));
}

export function useCheckpoints(threadId: string | undefined) {
  return useQuery({ queryKey: checkpointsKey(threadId), queryFn: () => read(threadId!), enabled: threadId !== undefined, staleTime: 10_000 });
}

/** The newest checkpoints, read now. */
export const freshCheckpoints = (queries: QueryClient, threadId: string) =>
  queries.fetchQuery({ queryKey: checkpointsKey(threadId), queryFn: () => read(threadId), staleTime: 0 });

export interface Branching {
  /** From the leaf to the root. */
  path: Checkpoint[];
  /** Where the path could have gone on differently: its own step is one of the options. */
  forks: { parent: string; options: Checkpoint[]; chosen: number }[];
}

/** The way from a leaf (default: the newest checkpoint) to the root, and the forks on it. */
export function branching(all: Checkpoint[], leaf: string | undefined): Branching {
  const byId = new Map(all.map((c) => [c.id, c]));
  const children = new Map<string, Checkpoint[]>();
  for (const c of all) if (c.parent) children.set(c.parent, [...(children.get(c.parent) ?? []), c]);
  const path: Checkpoint[] = [];
  const forks: Branching["forks"] = [];
  for (let here = leaf ? byId.get(leaf) : all[0]; here; here = here.parent ? byId.get(here.parent) : undefined) {
    path.push(here);
    const options = here.parent ? (children.get(here.parent) ?? []).toReversed() : [];
    if (options.length > 1) forks.push({ parent: here.parent!, options, chosen: options.indexOf(here) });
  }
  return { path, forks };
}

/** The newest checkpoint that comes from this one: what choosing a branch shows. */
export function newestBelow(all: Checkpoint[], id: string): string {
  const below = new Set([id]);
  let newest = id;
  for (const c of all.toReversed()) {
    if (!c.parent || !below.has(c.parent)) continue;
    below.add(c.id);
    newest = c.id; // ids grow with time, the list was sorted by them
  }
  return newest;
}
