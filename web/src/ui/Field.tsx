// A control with its label, help and error, tied together for screen readers.
import { useId, type ComponentProps, type ReactNode } from "react";
import css from "./Field.module.css";

interface FrameProps {
  label: string;
  help?: string | undefined;
  error?: string | undefined;
  /** Stands behind the label, e.g. "optional". */
  note?: string | undefined;
  /** The label is only read out. */
  bare?: boolean | undefined;
  /** The control: it gets the ids that tie it to the texts around it. */
  children(ids: { id: string; "aria-describedby"?: string; "aria-invalid"?: true }): ReactNode;
}

export function Field({ label, help, error, note, bare, children }: FrameProps) {
  const id = useId();
  const described = [help && `${id}-help`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div className={css.field}>
      <label className={bare ? css.hidden : css.label} htmlFor={id}>
        {label}
        {note ? <span className={css.note}> {note}</span> : null}
      </label>
      {children({ id, ...(described ? { "aria-describedby": described } : {}), ...(error ? { "aria-invalid": true } : {}) })}
      {help ? <p id={`${id}-help`} className={css.help}>{help}</p> : null}
      {error ? <p id={`${id}-error`} role="alert" className={css.error}>{error}</p> : null}
    </div>
  );
}

interface TextProps extends Omit<ComponentProps<"input">, "onChange" | "value"> {
  label: string;
  value: string;
  onChange(value: string): void;
  help?: string | undefined;
  error?: string | undefined;
  note?: string | undefined;
  bare?: boolean | undefined;
}

export function TextField({ label, help, error, note, bare, onChange, className, ...rest }: TextProps) {
  return (
    <Field label={label} help={help} error={error} note={note} bare={bare}>
      {(ids) => <input className={[css.input, className].filter(Boolean).join(" ")} onChange={(e) => onChange(e.target.value)} {...rest} {...ids} />}
    </Field>
  );
}

interface AreaProps extends Omit<ComponentProps<"textarea">, "onChange" | "value"> {
  label: string;
  value: string;
  onChange(value: string): void;
  help?: string | undefined;
  error?: string | undefined;
  note?: string | undefined;
  bare?: boolean | undefined;
}

/** A text of several lines, which grows with it. */
export function TextArea({ label, help, error, note, bare, onChange, className, ...rest }: AreaProps) {
  return (
    <Field label={label} help={help} error={error} note={note} bare={bare}>
      {(ids) => <textarea rows={2} className={[css.input, css.area, className].filter(Boolean).join(" ")} onChange={(e) => onChange(e.target.value)} {...rest} {...ids} />}
    </Field>
  );
}
