import { useEffect, useState } from "react";

/**
 * The stream's questions without those that were answered elsewhere, in another
 * tab or by another reviewer. @langchain/react 1.1.0 only forgets the ones that
 * its own page answers; the server tells everybody with `input.answered`.
 */
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
