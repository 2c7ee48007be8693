// What is sent for a decision: the answer, and the card that it leaves in the conversation.
import { cardMessage } from "../approval/cardMessage";
import type { Json } from "../schemaform/schema";
import type { Words } from "../words/en";
import type { Review } from "./reviews";

export function decisionBody(review: Review, answer: Json, notes: string, words: Words) {
  return {
    answer,
    ...(notes.trim() ? { notes: notes.trim() } : {}),
    suspend_generation: review.generation,
    // A conversation shows what was decided; agents without one have no place for it.
    ...(hasConversation(review) ? { update: { messages: [cardMessage(review.interrupt_id, review.payload, answer, words)] } } : {}),
  };
}

/** Whether the agent talks: an execution began with a message, and the question is the agent's own, whose state a card goes to. */
const hasConversation = ({ message, namespace }: Review): boolean => namespace === "" && message !== null;
