// The project's audit log: who did what to which review, sealed in a chain.
import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { request } from "../api/request";
import type { AuditSearch } from "../app/routes";
import type { Json } from "../schemaform/schema";
import { useProject } from "../session/session";

export interface Entry {
  seq: number;
  at: string;
  action: string;
  principal: string | null;
  thread_id: string | null;
  review_id: string | null;
  execution_id: string | null;
  agent: string | null;
  decision: string | null;
  hash: string;
  seal: string;
  body: {
    actor?: { kind?: string; roles?: string[]; via?: string };
    tool?: string;
    /** All tools of a review of several. */
    tools?: string[];
    /** The question as it was asked; only where it was asked, and decided. */
    shown?: Json;
    notes?: string;
    cause?: string;
  } & Record<string, unknown>;
}

export interface Verification {
  valid: boolean;
  entries: number;
  threads: number;
  unsealed: number;
  problem: { detail: string; seq: number } | null;
}

interface Page {
  entries: Entry[];
  next_cursor: string | null;
}

const path = (project: string) => `/api/v1/projects/${encodeURIComponent(project)}/audit`;

/** A day's beginning, or its end, in the reader's own time. */
function times({ since, until, ...rest }: AuditSearch): Record<string, string> {
  const given = Object.entries(rest).filter((pair): pair is [string, string] => Boolean(pair[1]));
  return {
    ...Object.fromEntries(given),
    ...(since ? { since: new Date(`${since}T00:00:00`).toISOString() } : {}),
    ...(until ? { until: new Date(`${until}T23:59:59.999`).toISOString() } : {}),
  };
}

export function useAudit(filter: AuditSearch) {
  const project = useProject();
  return useInfiniteQuery({
    queryKey: ["audit", project, filter],
    queryFn: ({ pageParam }) => request<Page>(`${path(project)}?${new URLSearchParams({ limit: "100", ...times(filter), ...(pageParam ? { cursor: pageParam } : {}) })}`),
    initialPageParam: "",
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });
}

export function useVerify() {
  const project = useProject();
  return useMutation({ mutationFn: () => request<Verification>(`${path(project)}/verify`) });
}

/** The address of a download of what the filter selects. */
export function useExportLink(filter: AuditSearch) {
  const project = useProject();
  return (format: "jsonl" | "csv") => `${path(project)}/export?${new URLSearchParams({ format, ...times(filter) })}`;
}
