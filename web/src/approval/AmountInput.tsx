import { useState } from "react";
import type { Json } from "../schemaform/schema";
import field from "../ui/Field.module.css";
import { useLocale } from "../words/words";
import { numberIn, shownNumber } from "./amounts";
import css from "./cards.module.css";

interface Props {
  id: string;
  /** ISO 4217 code; absent for a plain number. */
  currency: string | undefined;
  value: Json | undefined;
  onChange(value: Json | undefined): void;
}

/** A number as the reader's locale writes it, with the currency behind it. What is no number stays text. */
export function AmountInput({ currency, value, onChange, ...ids }: Props) {
  const locale = useLocale();
  const [typed, setTyped] = useState(() => (typeof value === "number" ? shownNumber(value, locale, currency) : String(value ?? "")));
  function change(text: string) {
    setTyped(text);
    onChange(text.trim() === "" ? undefined : (numberIn(text, locale) ?? text));
  }
  function leave() {
    if (typeof value === "number") setTyped(shownNumber(value, locale, currency));
  }
  return (
    <span className={css.amount}>
      <input className={field.input} inputMode="decimal" autoComplete="off" value={typed} onChange={(e) => change(e.target.value)} onBlur={leave} {...ids} />
      {currency ? <span>{currency}</span> : null}
    </span>
  );
}
