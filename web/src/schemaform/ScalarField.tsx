// Texts, numbers, yes or no, and choices.
import { useState } from "react";
import { Choice } from "../ui/Choice";
import { TextArea, TextField } from "../ui/Field";
import { useWords } from "../words/words";
import css from "./SchemaForm.module.css";
import { useForm, type FieldProps } from "./SchemaForm";
import { nullable, typeOf, type Json } from "./schema";

export function ScalarField(props: FieldProps) {
  const { schema } = props;
  if (schema.enum || schema.const !== undefined) return <EnumField {...props} />;
  switch (typeOf(schema)) {
    case "boolean":
      return props.value === undefined && !props.required ? <OptionalYesNo {...props} /> : <YesNo {...props} />;
    case "number":
    case "integer":
      return <NumberField {...props} />;
    default:
      return <StringField {...props} />;
  }
}

/** What all controls say beside their value. */
function useTexts({ schema, path, label, required }: FieldProps) {
  const words = useWords();
  const { errors } = useForm();
  return {
    label: schema.title ?? label,
    help: schema.description,
    error: errors.get(path),
    note: required ? undefined : words.approval.optional,
  };
}

function StringField(props: FieldProps) {
  const { value, required, schema, onChange } = props;
  const texts = useTexts(props);
  const [began] = useState(value);
  const text = value === undefined || value === null ? "" : String(value);
  const change = (next: string) => onChange(next === "" && began === undefined && !required ? undefined : next === "" && nullable(schema) ? null : next);
  const long = (schema.maxLength ?? 0) > 200 || text.length > 60 || text.includes("\n") || schema.format === "textarea";
  if (long || !schema.format) return <TextArea {...texts} rows={long ? 3 : 1} value={text} onChange={change} spellCheck={false} />;
  const types: Record<string, string> = { date: "date", email: "email", uri: "url", time: "time" };
  return <TextField {...texts} type={types[schema.format] ?? "text"} value={text} onChange={change} />;
}

function NumberField(props: FieldProps) {
  const { value, required, onChange } = props;
  const texts = useTexts(props);
  // What is typed stays as it is typed; "1." is on its way to a number.
  const [typed, setTyped] = useState(value === undefined || value === null ? "" : String(value));
  function change(text: string) {
    setTyped(text);
    const number = Number(text);
    if (text.trim() === "") onChange(required ? "" : undefined);
    else onChange(Number.isFinite(number) ? number : text);
  }
  return <TextField {...texts} inputMode="decimal" autoComplete="off" value={typed} onChange={change} />;
}

function YesNo(props: FieldProps) {
  const { value, onChange } = props;
  const { label, help, error } = useTexts(props);
  return (
    <div>
      <label className={css.check}>
        <input type="checkbox" checked={value === true} onChange={(e) => onChange(e.target.checked)} /> {label}
      </label>
      {help ? <p className={css.help}>{help}</p> : null}
      {error ? <p className={css.error} role="alert">{error}</p> : null}
    </div>
  );
}

function OptionalYesNo(props: FieldProps) {
  const words = useWords();
  const { label } = useTexts(props);
  return (
    <Choice label={label} value="" onChange={(v) => props.onChange(v === "true")}
      options={[["", words.form.unset], ["true", words.form.isTrue], ["false", words.form.isFalse]]} />
  );
}

function EnumField(props: FieldProps) {
  const { schema, value, required, onChange } = props;
  const words = useWords();
  const { label, error } = useTexts(props);
  const values = schema.enum ?? [schema.const as Json];
  const known = values.some((v) => JSON.stringify(v) === JSON.stringify(value));
  const options = values.map((v) => [JSON.stringify(v), typeof v === "string" ? v : JSON.stringify(v)] as const);
  return (
    <div>
      <Choice label={label} aria-invalid={error ? true : undefined} value={known ? JSON.stringify(value) : ""}
        onChange={(v) => onChange(v === "" ? undefined : (JSON.parse(v) as Json))}
        options={known && required ? options : [["", known ? words.form.unset : words.approval.choose], ...options]} />
      {error ? <p className={css.error} role="alert">{error}</p> : null}
    </div>
  );
}
