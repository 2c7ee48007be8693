import type { AIMessage as Message } from "@langchain/core/messages";
import { RotateCcw } from "lucide-react";
import { IconButton } from "../../ui/Button";
import { CopyButton } from "../../ui/CopyButton";
import { useLocale, useWords } from "../../words/words";
import { VersionSwitch } from "../branches/VersionSwitch";
import { useMessageActions } from "./actions";
import { partsOf, textOf, type Part } from "./content";
import type { Call } from "./entries";
import { Markdown } from "./Markdown";
import css from "./messages.module.css";
import { ToolCallCard } from "./ToolCallCard";
import { usageOf } from "./usage";

interface Props {
  message: Message;
  calls: Call[];
  /** The conversation's last answer, which can be asked for again. */
  last: boolean;
}

export function AiMessage({ message, calls, last }: Props) {
  const words = useWords();
  const locale = useLocale();
  const { running, forks, onShow, onRetry } = useMessageActions();
  const parts = partsOf(message);
  const fork = forks.get(message.id ?? "");
  const tokens = usageOf(message)?.total_tokens;
  const text = textOf(message);
  return (
    <article className={css.ai} aria-label={message.name ?? words.chat.agent}>
      {parts.map((part, i) => <Content key={i} part={part} streaming={running && last && i === parts.length - 1} />)}
      {calls.map((call) => <ToolCallCard key={call.id} call={call} />)}
      <footer className={css.foot}>
        {fork ? <VersionSwitch point={fork} onShow={onShow} /> : null}
        <span className={css.tools}>
          {text ? <CopyButton text={text} label={words.chat.copy} /> : null}
          {last && !running ? <IconButton label={words.chat.retry} onClick={() => onRetry(message)}><RotateCcw size={15} /></IconButton> : null}
        </span>
        {tokens ? <span className={css.status}>{words.chat.tokens(new Intl.NumberFormat(locale).format(tokens))}</span> : null}
      </footer>
    </article>
  );
}

function Content({ part, streaming }: { part: Part; streaming: boolean }) {
  const words = useWords();
  switch (part.kind) {
    case "text":
      return <Markdown text={part.text} />;
    case "reasoning":
      return (
        <details className={css.reasoning}>
          <summary>{streaming ? words.chat.thinking : words.chat.reasoning}</summary>
          <Markdown text={part.text} />
        </details>
      );
    case "image":
      return <img className={css.image} src={part.url} alt={words.chat.image} />;
    case "file":
      return <p>{part.url ? <a href={part.url} target="_blank" rel="noopener noreferrer">{part.name}</a> : `${words.chat.file}: ${part.name}`}</p>;
  }
}
