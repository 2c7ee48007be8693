// What a filtered log shows: by what it was chosen, how much of it there is so far, and the way back to all of it.
import { X } from "lucide-react";
import type { AuditSearch } from "../app/routes";
import { Button, IconButton } from "../ui/Button";
import { useLocale, useWords } from "../words/words";
import css from "./AuditPage.module.css";

interface Props {
  filter: AuditSearch;
  count: number;
  /** There are more entries that have not been looked through. */
  more: boolean;
  onChange(filter: AuditSearch): void;
}

export function Found({ filter, count, more, onChange }: Props) {
  const words = useWords();
  const w = words.audit;
  const locale = useLocale();
  const chosen = Object.entries(filter).filter((pair): pair is [keyof AuditSearch, string] => Boolean(pair[1]));
  if (chosen.length === 0) return null;
  const actions: Record<string, string> = w.actions;
  const names: Record<keyof AuditSearch, string> = {
    action: w.action, principal: w.principal, agent: w.agent, since: w.since, until: w.until, review_id: w.review, execution_id: w.execution,
  };
  const day = (text: string) => new Date(`${text}T12:00:00`).toLocaleDateString(locale, { dateStyle: "medium" });
  const shown = (key: keyof AuditSearch, value: string) => (key === "action" ? (actions[value] ?? value) : key === "since" || key === "until" ? day(value) : value);
  const shownCount = new Intl.NumberFormat(locale).format(count);
  return (
    <div className={css.found}>
      <p role="status">{more ? w.foundSoFar(shownCount) : w.found(count, shownCount)}</p>
      <ul className={css.chips} aria-label={w.filters}>
        {chosen.map(([key, value]) => (
          <li key={key} className={css.chip}>
            <span>{names[key]}: {shown(key, value)}</span>
            <IconButton label={w.dropFilter(names[key])} onClick={() => onChange({ ...filter, [key]: undefined })}><X size={13} /></IconButton>
          </li>
        ))}
      </ul>
      <Button small kind="quiet" onClick={() => onChange({})}>{w.clear}</Button>
    </div>
  );
}
