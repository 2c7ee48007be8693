// What a person decided about an action, and the answer that is made of it.
import { isObject, type Json, type JsonObject } from "../schemaform/schema";
import type { Action, DecisionType, Question } from "./question";

export type Decision =
  | { type: "approve" }
  | { type: "edit"; name: string; args: Json }
  | { type: "reject"; message?: string }
  | { type: "respond"; message: string };

/** A decision as the server takes it, in the spelling of LangChain's middleware. */
function wire(decision: Decision): JsonObject {
  switch (decision.type) {
    case "edit":
      return { type: "edit", edited_action: { name: decision.name, args: decision.args } };
    case "reject":
      return { type: "reject", ...(decision.message ? { message: decision.message } : {}) };
    default:
      return { ...decision };
  }
}

export function answerOf(question: Question & { kind: "actions" }, decisions: Decision[]): JsonObject {
  return question.perCall ? wire(decisions[0]!) : { decisions: decisions.map(wire) };
}

/** Reads the decisions back out of an answer, for cards that were resolved before. */
export function decisionsIn(answer: Json, question: Question & { kind: "actions" }): Decision[] {
  const list = question.perCall ? [answer] : isObject(answer) && Array.isArray(answer["decisions"]) ? answer["decisions"] : [];
  return list.filter(isObject).map((d): Decision => {
    const message = typeof d["message"] === "string" ? d["message"] : "";
    const edited = d["edited_action"] ?? d["editedAction"];
    switch (d["type"]) {
      case "edit":
        return { type: "edit", name: isObject(edited) ? String(edited["name"]) : "", args: isObject(edited) ? (edited["args"] ?? {}) : {} };
      case "respond":
        return { type: "respond", message };
      case "reject":
        return { type: "reject", message };
      default:
        return { type: "approve" };
    }
  });
}

/** Whether the call runs, with what is shown of it: then all of it has to be in sight. */
export const runsIt = (type: DecisionType): boolean => type === "approve" || type === "edit";

/** The one decision that all actions share, if they do. */
export function shared(decisions: Decision[]): DecisionType | undefined {
  const types = new Set(decisions.map((d) => d.type));
  return types.size === 1 ? decisions[0]!.type : undefined;
}

/** The description without what the server's default one repeats: the tool and its arguments, which the card shows anyway. */
export function ownDescription({ name, args, description }: Action): string {
  const marker = `\n\nTool: ${name}\nArgs: `;
  const at = description.lastIndexOf(marker);
  if (at < 0 || !says(description.slice(at + marker.length), args)) return description.trim();
  const prefix = description.slice(0, at).trim();
  return prefix === "Tool execution requires approval" ? "" : prefix;
}

function says(text: string, args: Json): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(args);
  } catch {
    return false; // words of the policy's own
  }
}
