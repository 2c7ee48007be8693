import type { Json } from "../schemaform/schema";
import { Choice } from "../ui/Choice";
import { Field, TextArea, TextField } from "../ui/Field";
import field$ from "../ui/Field.module.css";
import { useWords } from "../words/words";
import css from "./cards.module.css";
import { AmountInput } from "./AmountInput";
import type { FormField } from "./question";

interface Props {
  field: FormField;
  value: Json | undefined;
  error: string | undefined;
  onChange(value: Json | undefined): void;
}

/** The control that a field's type asks for; an unknown type is a text. */
export function FormControl({ field, value, error, onChange }: Props) {
  const words = useWords();
  const note = field.required ? undefined : words.approval.optional;
  const texts = { label: field.label || field.name, help: field.help, error, note };
  const text = typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value);
  switch (field.type) {
    case "checkbox":
      return (
        <div className={css.wide}>
          <label className={css.check}>
            <input type="checkbox" checked={value === true} onChange={(e) => onChange(e.target.checked)} /> {texts.label}
          </label>
          {field.help ? <p className={field$.help}>{field.help}</p> : null}
          {error ? <p role="alert" className={field$.error}>{error}</p> : null}
        </div>
      );
    case "select": {
      const options = (field.options ?? []).map((o) => [o.value, o.label] as const);
      return (
        <div>
          <Choice label={texts.label} note={note} aria-invalid={error ? true : undefined} value={text} onChange={(v) => onChange(v === "" ? undefined : v)}
            options={field.required && text !== "" ? options : [["", words.approval.choose], ...options]} />
          {error ? <p role="alert" className={field$.error}>{error}</p> : null}
        </div>
      );
    }
    case "textarea":
      return <div className={css.wide}><TextArea {...texts} rows={3} value={text} maxLength={field.maxLength || undefined} onChange={(v) => onChange(v === "" ? undefined : v)} /></div>;
    case "currency":
    case "number":
      return <Field {...texts}>{(ids) => <AmountInput {...ids} currency={field.type === "currency" ? field.currency : undefined} value={value} onChange={onChange} />}</Field>;
    case "date":
      return <TextField {...texts} type="date" value={text} onChange={(v) => onChange(v === "" ? undefined : v)} />;
    default:
      return <TextField {...texts} value={text} maxLength={field.maxLength || undefined} onChange={(v) => onChange(v === "" ? undefined : v)} />;
  }
}
