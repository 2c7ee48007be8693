import type { Words } from "../words/en";
import type { Question } from "./question";

export function questionTitle(question: Question, words: Words): string {
  switch (question.kind) {
    case "actions": {
      const [first] = question.actions;
      return question.actions.length === 1 && first ? words.approval.neededFor(first.name) : words.approval.needed;
    }
    case "form":
      return question.form.title || question.form.formType;
    case "review":
      return words.approval.needed;
    case "outcome":
      return words.approval.unknownOutcome;
    default:
      return words.approval.question;
  }
}
