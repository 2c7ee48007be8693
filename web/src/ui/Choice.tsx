// A labelled native list of choices: the system's own is the best one on a phone.
import { useId, type ComponentProps } from "react";
import css from "./Field.module.css";

interface Props extends Omit<ComponentProps<"select">, "onChange"> {
  label: string;
  /** Stands behind the label, e.g. "optional". */
  note?: string | undefined;
  /** The label is only read out. */
  bare?: boolean;
  options: readonly (readonly [value: string, text: string])[];
  onChange(value: string): void;
}

export function Choice({ label, note, bare, options, onChange, className, ...rest }: Props) {
  const id = useId();
  const select = (
    <select id={id} aria-label={bare ? label : undefined} className={[css.input, className].filter(Boolean).join(" ")} onChange={(e) => onChange(e.target.value)} {...rest}>
      {options.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
    </select>
  );
  if (bare) return select;
  return <div className={css.field}><label className={css.label} htmlFor={id}>{label}{note ? <span className={css.note}> {note}</span> : null}</label>{select}</div>;
}
