// Reviews of the project: the questions that wait, or waited, for a person.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { request } from "../api/request";
import type { Json, Schema } from "../schemaform/schema";
import { useProject } from "../session/session";

export type ReviewStatus = "pending" | "claimed" | "decided" | "expired" | "superseded";

export interface Review {
  review_id: string;
  thread_id: string;
  run_id: string | null;
  execution_id: string | null;
  interrupt_id: string;
  namespace: string;
  agent: string;
  tool: string | null;
  tools: string[];
  kind: "tool_calls" | "form" | "review" | "unknown_outcome" | "plain";
  message: string | null;
  suspend_reason: string;
  payload: Json;
  response_schema: Schema | null;
  allowed_decisions: string[];
  digest: string;
  generation: number;
  status: ReviewStatus;
  requester: string | null;
  assignee: string | null;
  claimed_until: string | null;
  role: string | null;
  escalations: number;
  created_at: string;
  updated_at: string;
  expires_at: string | null;
  on_expiry: "reject" | "respond" | "escalate" | null;
  waiting_seconds: number;
  may_decide: boolean;
  refusal: string | null;
  decided: Decided | null;
  comments: { by: string; at: string; text: string }[];
  input?: Json;
}

export interface Decided {
  by: string | null;
  at: string;
  decision: string | null;
  notes: string | null;
  answer: Json;
  run_id: string | null;
}

export interface ReviewFilter {
  status?: string;
  agent?: string;
  tool?: string;
  assignee?: string;
  min_age?: string;
  q?: string;
  execution_id?: string;
  thread_id?: string;
}

interface Page {
  reviews: Review[];
  next_cursor: string | null;
}

export const isOpen = (review: Pick<Review, "status">) => review.status === "pending" || review.status === "claimed";
export const reviewsPath = (project: string) => `/api/v1/projects/${encodeURIComponent(project)}/reviews`;
export const reviewsFeed = (project: string) => `${reviewsPath(project)}/stream`;

/** A list of reviews: open ones with the longest waiting first, others newest first. */
export function useReviews(filter: ReviewFilter, { limit = 200, enabled = true } = {}) {
  const project = useProject();
  const query = new URLSearchParams({ limit: String(limit), ...Object.fromEntries(Object.entries(filter).filter(([, v]) => v)) });
  return useQuery({
    queryKey: ["reviews", project, query.toString()],
    queryFn: async () => (await request<Page>(`${reviewsPath(project)}?${query}`)).reviews,
    placeholderData: (old) => old,
    enabled,
  });
}

export function useReview(id: string) {
  const project = useProject();
  return useQuery({ queryKey: ["review", project, id], queryFn: () => request<Review>(`${reviewsPath(project)}/${id}`) });
}

/** Reads all reviews again. */
export function useReviewsChanged() {
  const queries = useQueryClient();
  return () => {
    void queries.invalidateQueries({ queryKey: ["reviews"] });
    void queries.invalidateQueries({ queryKey: ["review"] });
  };
}

interface Change {
  id: string;
  what: "decide" | "claim" | "release" | "extend" | "comments";
  body?: object;
}

/** A change of a review; what is shown is renewed whether it succeeds or not. */
export function useChangeReview() {
  const project = useProject();
  const queries = useQueryClient();
  const changed = useReviewsChanged();
  return useMutation({
    mutationFn: ({ id, what, body }: Change) => request<Review>(`${reviewsPath(project)}/${id}/${what}`, { body: body ?? {} }),
    onSuccess: (review, { id }) => queries.setQueryData(["review", project, id], (old: Review | undefined) => ({ ...old, ...review })),
    onSettled: changed,
  });
}
