import { useSubmissionQueue, type AnyStream } from "@langchain/react";
import { X } from "lucide-react";
import { IconButton } from "../../ui/Button";
import { useWords } from "../../words/words";
import css from "./Composer.module.css";

/** Messages that wait until the agent is done. */
export function Queue({ stream }: { stream: AnyStream }) {
  const words = useWords();
  const queue = useSubmissionQueue(stream);
  if (queue.size === 0) return null;
  return (
    <section className={css.queue} aria-label={words.chat.queue}>
      <h3>{words.chat.queue}</h3>
      <ul>
        {queue.entries.map((entry) => (
          <li key={entry.id}>
            <span>{textIn(entry.values)}</span>
            <IconButton label={words.chat.queueRemove} onClick={() => void queue.cancel(entry.id)}><X size={15} /></IconButton>
          </li>
        ))}
      </ul>
    </section>
  );
}

function textIn(values: unknown): string {
  const messages = (values as { messages?: { content?: unknown }[] } | null | undefined)?.messages;
  const content = messages?.at(-1)?.content;
  return typeof content === "string" ? content : JSON.stringify(values);
}
