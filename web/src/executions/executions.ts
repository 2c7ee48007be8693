// Executions of the project: chains of runs from one invocation to its end.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { request } from "../api/request";
import type { Json } from "../schemaform/schema";
import { useProject } from "../session/session";

export type ExecutionStatus = "pending" | "running" | "suspended" | "resuming" | "completed" | "error";

export interface Step {
  step_number: number;
  run_id: string;
  type: "model" | "tool";
  name: string;
  call_id?: string;
  namespace?: string;
  status: string;
  started_at: string;
  ended_at?: string;
  duration_ms?: number;
  time_to_first_token_ms?: number;
  tokens?: { input: number; output: number; total: number };
  error?: string;
}

export interface Execution {
  execution_id: string;
  workspace_id: string;
  session_id?: string;
  agent: string;
  status: ExecutionStatus;
  input?: Json;
  response?: string;
  created_at: string;
  updated_at: string;
  completed_at?: string;
  suspend_reason?: string;
  suspend_generation?: number;
  suspended_at?: string;
  expires_at?: string | null;
  review_ids?: string[];
  error?: string;
  error_code?: string;
  invoker_user_id?: string;
  thread_id: string;
  run_ids: string[] | null;
  /** The distributed traces that it has a part in; url is where one is looked at. */
  traces?: { trace_id: string; url?: string }[];
  steps?: Step[];
}

interface Page {
  executions: Execution[];
  next_cursor: string | null;
}

const path = (project: string) => `/api/v1/projects/${encodeURIComponent(project)}/executions`;

export function useExecutions(status: string | undefined) {
  const project = useProject();
  return useInfiniteQuery({
    queryKey: ["executions", project, status],
    queryFn: ({ pageParam }) => {
      const query = new URLSearchParams({ limit: "50", ...(status ? { status } : {}), ...(pageParam ? { cursor: pageParam } : {}) });
      return request<Page>(`${path(project)}?${query}`);
    },
    initialPageParam: "",
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });
}

export function useExecution(id: string) {
  const project = useProject();
  return useQuery({ queryKey: ["execution", project, id], queryFn: () => request<Execution>(`${path(project)}/${id}`) });
}

/** What a person said that began the execution. */
export function inputText(input: Json | undefined): string {
  if (typeof input === "string") return input;
  if (typeof input !== "object" || input === null || Array.isArray(input)) return "";
  const messages = input["messages"];
  const list = Array.isArray(messages) ? messages : [];
  const last = list.findLast((m) => typeof m === "object" && m !== null && "content" in m) as { content?: Json } | undefined;
  if (typeof last?.content === "string") return last.content;
  return typeof input["message"] === "string" ? input["message"] : "";
}
