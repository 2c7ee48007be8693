// What happened in an execution, in order: its steps, its suspensions and who ended them.
import type { Review } from "../reviews/reviews";
import type { Execution, Step } from "./executions";

export type TimelineEvent = { key: string; at: string } & (
  | { kind: "created" }
  | { kind: "step"; step: Step; slowest: boolean }
  | { kind: "suspended"; review: Review }
  | { kind: "decided"; review: Review }
  | { kind: "ended" }
);

export function timelineOf(execution: Execution, reviews: Review[]): TimelineEvent[] {
  const steps = execution.steps ?? [];
  const longest = Math.max(...steps.map((s) => s.duration_ms ?? -1));
  const events: TimelineEvent[] = [{ key: "created", at: execution.created_at, kind: "created" }];
  for (const step of steps) {
    events.push({ key: `step-${step.step_number}`, at: step.started_at, kind: "step", step, slowest: steps.length > 1 && step.duration_ms === longest });
  }
  for (const review of reviews) {
    events.push({ key: `asked-${review.review_id}`, at: review.created_at, kind: "suspended", review });
    if (review.decided) events.push({ key: `decided-${review.review_id}`, at: review.decided.at, kind: "decided", review });
    else if (review.status === "superseded") events.push({ key: `decided-${review.review_id}`, at: review.updated_at, kind: "decided", review });
  }
  events.sort((a, b) => a.at.localeCompare(b.at));
  if (execution.status === "completed" || execution.status === "error") events.push({ key: "ended", at: execution.completed_at ?? execution.updated_at, kind: "ended" });
  return events;
}
