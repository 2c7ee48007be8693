// Until when a key works: for some days, up to a day, or for good.
import { Choice } from "../ui/Choice";
import { TextField } from "../ui/Field";
import { useLocale, useWords } from "../words/words";

export type Expiry = { kind: "never" } | { kind: "days"; days: number } | { kind: "date"; date: string };

/** The moment at which it ends; null for never, undefined for a date that is missing or over. */
export function endOf(expiry: Expiry, now: number): Date | null | undefined {
  if (expiry.kind === "never") return null;
  const at = expiry.kind === "days" ? new Date(now + expiry.days * 86_400_000) : new Date(`${expiry.date}T23:59:59`);
  return at.getTime() > now ? at : undefined; // no date is NaN, which is never greater
}

interface Props {
  value: Expiry;
  error: string | undefined;
  onChange(value: Expiry): void;
}

export function ExpiryField({ value, error, onChange }: Props) {
  const w = useWords().access;
  const locale = useLocale();
  const chosen = value.kind === "days" ? String(value.days) : value.kind;
  const options: [string, string][] = [["never", w.never], ...[7, 30, 90, 365].map((days): [string, string] => [String(days), w.afterDays(days)]), ["date", w.onDate]];
  const end = endOf(value, Date.now());
  return (
    <div>
      <Choice label={w.expires} value={chosen} options={options}
        onChange={(next) => onChange(next === "never" ? { kind: next } : next === "date" ? { kind: next, date: "" } : { kind: "days", days: Number(next) })} />
      {value.kind === "date" ? <TextField label={w.lastDay} type="date" value={value.date} error={error} onChange={(date) => onChange({ kind: "date", date })} /> : null}
      {value.kind === "days" && end ? <small>{w.endsOn(end.toLocaleDateString(locale, { dateStyle: "long" }))}</small> : null}
    </div>
  );
}
