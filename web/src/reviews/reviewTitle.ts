import { readQuestion } from "../approval/question";
import { shortened } from "../ui/shortened";
import type { Review } from "./reviews";

/** A review in a line: the tools with the beginning of what they would do, or its reason. */
export function reviewTitle(review: Review): string {
  const question = readQuestion(review.payload);
  if (question.kind !== "actions") return review.suspend_reason || review.kind;
  const [only] = question.actions;
  if (!only || question.actions.length > 1) return question.actions.map((a) => a.name).join(", ");
  const values = typeof only.args === "object" && only.args !== null ? Object.values(only.args) : [only.args];
  return `${only.name}: ${shortened(values.map((v) => (typeof v === "string" ? v : JSON.stringify(v))).join(", "), 80)}`;
}
