import { useEffect, useRef, useState } from "react";
import type { BaseMessage } from "@langchain/core/messages";

/**
 * The messages as they are drawn: a new, gone or finished one at once, but of one that only
 * grows, no more than a frame each can be seen.
 */
export function useGrowth(messages: BaseMessage[]): BaseMessage[] {
  const [drawn, setDrawn] = useState(messages);
  const latest = useRef(messages);
  latest.current = messages;
  const frame = useRef(0);
  const growing = drawn !== messages && onlyLastGrew(drawn, messages);
  if (drawn !== messages && !growing) setDrawn(messages);
  useEffect(() => {
    if (!growing || frame.current) return;
    const draw = () => {
      frame.current = 0;
      setDrawn(latest.current);
    };
    // A hidden tab draws no frames; it catches up slowly.
    frame.current = document.hidden ? (setTimeout(draw, 500) as unknown as number) : requestAnimationFrame(draw);
  });
  return growing ? drawn : messages;
}

function onlyLastGrew(before: BaseMessage[], after: BaseMessage[]): boolean {
  const last = after.length - 1;
  return before.length === after.length && last >= 0 && before[last]!.id === after[last]!.id && after.every((m, i) => i === last || m === before[i]);
}
