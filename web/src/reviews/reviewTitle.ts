import { readQuestion, type Question } from "../approval/question";
import { isObject, type Json } from "../schemaform/schema";
import { shortened } from "../ui/shortened";
import type { Words } from "../words/en";
import type { Review } from "./reviews";

/** A review in a line: the tools with the beginning of what they would do, or its reason. */
export function reviewTitle(review: Review, words: Words): string {
  const question = readQuestion(review.payload);
  if (question.kind !== "actions") return review.suspend_reason || asked(question) || words.reviews.question;
  const [only] = question.actions;
  if (!only || question.actions.length > 1) return question.actions.map((a) => a.name).join(", ");
  const values = typeof only.args === "object" && only.args !== null ? Object.values(only.args) : [only.args];
  return `${only.name}: ${shortened(values.map((v) => (typeof v === "string" ? v : JSON.stringify(v))).join(", "), 80)}`;
}

/** What a question says of itself. */
function asked(question: Question): string {
  switch (question.kind) {
    case "plain":
      return shortened(saidIn(question.value), 80);
    case "outcome":
      return question.step;
    case "form":
      return question.form.title || question.form.formType;
    default:
      return "";
  }
}

/** The first line of a question in the agent's own shape: of the text that it is, or of one in it that says so. */
function saidIn(value: Json): string {
  const texts = isObject(value) ? ["title", "question", "message", "description"].map((name) => value[name]) : [value];
  const said = texts.find((text): text is string => typeof text === "string" && text.trim() !== "") ?? "";
  return said.trim().split("\n")[0]!;
}
