// Decisions in the page's words. The server names those about several calls in one text, with commas.
import type { Words } from "../words/en";
import type { DecisionType } from "./question";

export interface Verdict {
  /** The call it is about; absent where one decision is for all that was asked. */
  name?: string;
  text: string;
}

/** What was decided, by call where the calls were decided differently. names are those of the calls, in their order. */
export function verdicts(decision: string | null, names: readonly string[], words: Words): Verdict[] {
  if (decision === null || decision === "") return [{ text: words.approval.answered }];
  const own = verdictWords(words);
  const types = decision.split(",").map((part) => part.trim().toLowerCase());
  // An agent's own word for a decision may have a comma, too.
  if (!types.every((type): type is DecisionType => type in own)) return [{ text: decision }];
  if (new Set(types).size === 1) return [{ text: own[types[0]!] }];
  return types.map((type, i) => ({ ...(names.length === types.length ? { name: names[i]! } : {}), text: own[type] }));
}

/** The same in a line. */
export const verdictLine = (decision: string | null, names: readonly string[], words: Words): string =>
  verdicts(decision, names, words).map(({ name, text }) => (name === undefined ? text : `${name}: ${text}`)).join(" · ");

/** The page's words for what may be decided about a call. */
export function verdictWords({ approval: w }: Words): Record<DecisionType, string> {
  return { approve: w.approvedAll, reject: w.rejectedAll, edit: w.editedAll, respond: w.respondedAll };
}
