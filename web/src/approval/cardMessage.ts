// The message that an answer leaves in the conversation: with it the card stays, for every
// tab and after every reload (spec/streaming-protocol.md 5.5).
import { isObject, type Json } from "../schemaform/schema";
import type { Words } from "../words/en";
import { decisionsIn, shared } from "./decisions";
import { readQuestion } from "./question";
import { questionTitle } from "./questionTitle";

/** What a card is drawn from. It says what this page showed and sent; who decided is the audit log's to tell. */
export interface ResolvedRecord {
  interrupt_id: string;
  question: Json;
  answer: Json;
}

const field = "parley_card";

export const cardId = (interruptId: string) => `card-${interruptId}`;

/** The message to push with an answer; its id makes a repeat replace it. */
export function cardMessage(interruptId: string, question: Json, answer: Json, words: Words) {
  const record: ResolvedRecord = { interrupt_id: interruptId, question, answer };
  return { type: "ai", id: cardId(interruptId), content: summary(question, answer, words), response_metadata: { [field]: record } };
}

/** The record in a message's metadata, if the message is a card. */
export function recordIn(metadata: unknown): ResolvedRecord | undefined {
  const record = isObject(metadata) ? metadata[field] : undefined;
  if (!isObject(record) || record["question"] === undefined || record["answer"] === undefined) return undefined;
  return record as unknown as ResolvedRecord;
}

/** The card in a line, for pages that know no cards. */
function summary(value: Json, answer: Json, words: Words): string {
  const question = readQuestion(value);
  const w = words.approval;
  if (question.kind === "actions") {
    const decision = shared(decisionsIn(answer, question));
    const verdict = decision ? { approve: w.approvedAll, reject: w.rejectedAll, edit: w.editedAll, respond: w.respondedAll }[decision] : w.mixed;
    return `${verdict}: ${question.actions.map((a) => a.name).join(", ")}`;
  }
  const approved = isObject(answer) ? answer["approved"] : undefined;
  const verdict = approved === true ? w.approvedAll : approved === false ? w.rejectedAll : w.answered;
  return `${verdict}: ${questionTitle(question, words)}`;
}
