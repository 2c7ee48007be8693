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
    // The conversation shows what was decided; a state without messages leaves the card out.
    update: { messages: [cardMessage(review.interrupt_id, review.payload, answer, words)] },
  };
}
