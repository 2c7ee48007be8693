import { readQuestion, type Question } from "../approval/question";
import { shortened } from "../ui/shortened";
import type { Review } from "./reviews";

/** A review in a line: the tools with the beginning of what they would do, or its reason. */
export function reviewTitle(review: Review): string {
  const question = readQuestion(review.payload);
  if (question.kind !== "actions") return review.suspend_reason || asked(question) || review.kind;
  const [only] = question.actions;
  if (!only || question.actions.length > 1) return question.actions.map((a) => a.name).join(", ");
  const values = typeof only.args === "object" && only.args !== null ? Object.values(only.args) : [only.args];
  return `${only.name}: ${shortened(values.map((v) => (typeof v === "string" ? v : JSON.stringify(v))).join(", "), 80)}`;
}

/** What a question says of itself. */
function asked(question: Question): string {
  switch (question.kind) {
    case "plain":
      return shortened(typeof question.value === "string" ? question.value : JSON.stringify(question.value), 80);
    case "outcome":
      return question.step;
    case "form":
      return question.form.title || question.form.formType;
    default:
      return "";
  }
}
