import { duration, useNow } from "../ui/Time";
import { useLocale, useWords } from "../words/words";
import css from "./cards.module.css";

interface Props {
  since: string | undefined;
  /** null: never; undefined: not known. */
  expires?: string | null | undefined;
}

const hour = 3_600_000;

/** How long a question waits, and when it stops waiting. */
export function Waiting({ since, expires }: Props) {
  const words = useWords();
  const locale = useLocale();
  const now = useNow();
  const left = expires ? new Date(expires).getTime() - now : Infinity;
  return (
    <>
      {since ? <span title={new Date(since).toLocaleString(locale)}>{words.approval.waiting(duration(now - new Date(since).getTime(), words))}</span> : null}
      {expires ? <span className={left < hour ? css.due : undefined} title={new Date(expires).toLocaleString(locale)}>{words.approval.deadline(duration(left, words))}</span> : null}
      {expires === null ? <span>{words.approval.never}</span> : null}
    </>
  );
}
