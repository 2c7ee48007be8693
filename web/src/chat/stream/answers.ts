// Answers to a conversation's questions: what this page sent, and what became of it.
import type { BaseMessage } from "@langchain/core/messages";
import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import { request } from "../../api/request";
import { cardId, cardMessage } from "../../approval/cardMessage";
import { refusalOf, type Gone } from "../../approval/refusal";
import { useReviewsChanged } from "../../reviews/reviews";
import type { Json } from "../../schemaform/schema";
import { useWords } from "../../words/words";
import type { OpenQuestion } from "./questions";
import type { ChatStream } from "./useChatStream";

/** An answer was taken, or came too late. */
export type Sent = "taken" | Gone;

export interface Answers {
  deliver(question: OpenQuestion, answer: Json): Promise<void>;
  /** By the question's id; one whose answer was refused is open still, and isn't here. */
  sent: ReadonlyMap<string, Sent>;
  /** Whether an error was thrown for an answer: its card tells it, and no run has failed. */
  told(error: unknown): boolean;
  /**
   * The messages with no card of a question that is open still, nor of an answer that nobody took; who was faster
   * may have left one in its place.
   */
  shown(messages: BaseMessage[]): BaseMessage[];
}

/** questions are the open ones. */
export function useAnswers(stream: ChatStream, questions: OpenQuestion[]): Answers {
  const words = useWords();
  const changed = useReviewsChanged();
  const [sent, setSent] = useState<ReadonlyMap<string, Sent>>(new Map());
  const [refused, setRefused] = useState<ReadonlySet<string>>(new Set()); // ids of cards
  const [errors, setErrors] = useState<ReadonlySet<unknown>>(new Set());
  const [sending, setSending] = useState(0);

  /** The answer and the card that documents it are one step on the server. */
  async function deliver(question: OpenQuestion, answer: Json) {
    const card = cardMessage(question.id, question.raw ?? (question.value as Json), answer, words);
    setSent((old) => having(old, question.id, "taken"));
    setRefused((old) => new Set([...old].filter((id) => id !== card.id)));
    setSending((n) => n + 1);
    try {
      await stream.respond(answer, { interruptId: question.id, update: { messages: [card] } });
    } catch (thrown) {
      setRefused((old) => new Set([...old, card.id]));
      setErrors((old) => new Set(old).add(thrown));
      const { gone } = refusalOf(thrown);
      setSent((old) => having(old, question.id, gone));
      if (gone) changed(); // the server's hint may not be here yet
      throw thrown;
    } finally {
      setSending((n) => n - 1);
    }
  }
  // @langchain/react 1.1.0 keeps what it showed in advance, also over what the server has under the same id.
  const cards = useCards(stream, [...refused]);
  const open = questions.map((q) => cardId(q.id)).join();
  const shown = useCallback(
    (messages: BaseMessage[]) => {
      const untrue = new Set(open.split(",")); // an answer on its way is no decision yet
      if (refused.size === 0 && open === "") return messages;
      return messages.flatMap((m) => {
        const id = m.id ?? "";
        if (untrue.has(id)) return [];
        if (!refused.has(id)) return [m];
        const stored = cards?.get(id);
        return stored ? [as(m, stored)] : [];
      });
    },
    [refused, cards, open],
  );
  // The hook has the error a moment before whoever sent the answer.
  const told = useCallback((error: unknown) => sending > 0 || errors.has(error), [sending, errors]);
  return useMemo(() => ({ deliver, sent, told, shown }), [stream, words, sent, told, shown]);
}

/** The map with an entry, or without. */
function having<T>(map: ReadonlyMap<string, T>, key: string, value: T | undefined): ReadonlyMap<string, T> {
  const next = new Map(map);
  if (value === undefined) next.delete(key);
  else next.set(key, value);
  return next;
}

interface Stored {
  id?: string;
  content: BaseMessage["content"];
  response_metadata?: BaseMessage["response_metadata"];
}

/** The messages that the server has under some ids; asked again when a run has ended. */
function useCards(stream: ChatStream, ids: string[]): ReadonlyMap<string, Stored> | undefined {
  const { threadId, isLoading } = stream;
  return useQuery({
    queryKey: ["cards", threadId, ids.join(), isLoading],
    queryFn: async () => {
      const { values } = await request<{ values?: { messages?: Stored[] } }>(`/threads/${threadId}/state`);
      return new Map((values?.messages ?? []).flatMap((m) => (m.id && ids.includes(m.id) ? [[m.id, m] as const] : [])));
    },
    enabled: ids.length > 0,
    placeholderData: (old) => old,
  }).data;
}

/** A message as the server has it. */
const as = (message: BaseMessage, { content, response_metadata }: Stored): BaseMessage =>
  Object.assign(Object.create(Object.getPrototypeOf(message) as object) as BaseMessage, message, { content, response_metadata });
