// Sending an answer: one at a time, and what the server said about the last one.
import { useState, type ReactNode } from "react";
import type { Json } from "../schemaform/schema";
import { refusalOf, type Refusal } from "./refusal";

/** What every card gets. */
export interface AnswerProps {
  sending: boolean;
  /** This person may not answer. */
  barred?: boolean;
  refusal: Refusal | null;
  send(answer: Json): void;
  /** What belongs before the buttons, if anything does: a reviewer's notes. */
  notes?: ReactNode;
}

export function useAnswer(deliver: (answer: Json) => Promise<void>): AnswerProps {
  const [sending, setSending] = useState(false);
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  async function attempt(answer: Json) {
    setSending(true);
    setRefusal(null);
    try {
      await deliver(answer);
    } catch (error) {
      setRefusal(refusalOf(error));
    } finally {
      setSending(false);
    }
  }
  return {
    sending,
    refusal,
    send: (answer) => {
      if (!sending) void attempt(answer);
    },
  };
}
