// The messages, of which only those in sight are in the document. It stays at the end while
// the reader is there.
import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown } from "lucide-react";
import { useEffect, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import type { BaseMessage } from "@langchain/core/messages";
import { Button } from "../../ui/Button";
import { useWords } from "../../words/words";
import { entriesOf } from "./entries";
import { useGrowth } from "./growth";
import { MessageRow } from "./MessageRow";
import css from "./messages.module.css";

interface Props {
  messages: BaseMessage[];
  /** What stands before the first message of a new conversation. */
  empty: ReactNode;
  /** What follows the last message: questions, progress, errors. */
  tail: ReactNode;
}

export function MessageList({ messages, empty, tail }: Props) {
  const words = useWords();
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const drawn = useGrowth(messages);
  const entries = useMemo(() => entriesOf(drawn), [drawn]);
  const rows = useVirtualizer({
    count: entries.length,
    getScrollElement: () => box.current,
    estimateSize: () => 110,
    getItemKey: (i) => entries[i]!.key,
    overscan: 8,
    gap: 10,
  });
  const { atEnd, toEnd, toStart } = useStickToEnd(box, content);
  // The browser would scroll smoothly, and stop where the first row on its way is measured.
  function onKey(event: KeyboardEvent) {
    if (event.target !== box.current || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.key === "Home") toStart();
    else if (event.key === "End") toEnd();
    else return;
    event.preventDefault();
  }

  return (
    <div className={css.outer}>
      <div ref={box} className={css.scroller} role="region" aria-label={words.chat.messages} tabIndex={0} onKeyDown={onKey}>
        <div ref={content} className={css.content}>
          {entries.length === 0 ? empty : null}
          <ol className={css.list} style={{ height: rows.getTotalSize() }} aria-label={words.chat.messages}>
            {rows.getVirtualItems().map((row) => (
              <li key={row.key} ref={rows.measureElement} data-index={row.index} className={css.row} style={{ transform: `translateY(${row.start}px)` }}
                aria-setsize={entries.length} aria-posinset={row.index + 1}>
                <MessageRow entry={entries[row.index]!} />
              </li>
            ))}
          </ol>
          <div className={css.tail}>{tail}</div>
        </div>
      </div>
      {atEnd ? null : <Button className={css.toEnd} small onClick={toEnd}><ArrowDown size={15} aria-hidden /> {words.chat.newMessages}</Button>}
    </div>
  );
}

/** Keeps the end in sight as long as the reader hasn't scrolled away from it. */
function useStickToEnd(box: React.RefObject<HTMLDivElement | null>, content: React.RefObject<HTMLDivElement | null>) {
  const [atEnd, setAtEnd] = useState(true);
  const stick = useRef(true);
  const toEnd = () => {
    stick.current = true;
    box.current!.scrollTop = box.current!.scrollHeight;
  };
  const toStart = () => {
    stick.current = false;
    box.current!.scrollTop = 0;
  };
  useLayoutEffect(toEnd, []);
  useEffect(() => {
    const element = box.current!;
    let height = element.scrollHeight;
    const onScroll = () => {
      // The content growing or the window shrinking scrolls, too; only the reader leaves the end.
      const grew = element.scrollHeight !== height;
      height = element.scrollHeight;
      const now = element.scrollHeight - element.scrollTop - element.clientHeight < 40;
      if (now || !grew) stick.current = now;
      setAtEnd(stick.current);
    };
    const follow = new ResizeObserver(() => {
      if (stick.current) toEnd();
      height = element.scrollHeight;
    });
    follow.observe(content.current!);
    follow.observe(element);
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      follow.disconnect();
      element.removeEventListener("scroll", onScroll);
    };
  }, [box, content]);
  return { atEnd, toEnd, toStart };
}
