// SDK 1.11.0 (of @langchain/react 1.1.0) forgets a question when its own page
// answers it, but doesn't know the event by which the server tells the others.
import { useEffect, useState } from "react";

/** The stream's questions without those that anybody answered. */
export function useOpenQuestions(stream) {
  const [answered, setAnswered] = useState(new Set());
  const thread = stream.getThread();
  useEffect(
    () =>
      thread?.onEvent((event) => {
        if (event.method !== "input.answered") return;
        setAnswered((ids) => new Set([...ids, ...event.params.data.interrupt_ids]));
      }),
    [thread],
  );
  return stream.interrupts.filter((question) => !answered.has(question.id));
}
