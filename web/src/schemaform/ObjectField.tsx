import { Trash2 } from "lucide-react";
import { IconButton } from "../ui/Button";
import { useWords } from "../words/words";
import css from "./SchemaForm.module.css";
import { FieldOf, useForm, type FieldProps } from "./SchemaForm";
import { inferred, isObject, type Json, type Schema } from "./schema";

/** An object: its declared parts, and those that the value has beside them. */
export function ObjectField({ schema, path, label, value, onChange }: FieldProps) {
  const words = useWords();
  const { errors } = useForm();
  const object = isObject(value) ? value : {};
  const properties: Record<string, Schema> = schema.properties ?? {};
  const extra = Object.keys(object).filter((key) => !(key in properties));
  const set = (key: string, next: Json | undefined) => {
    const { [key]: _, ...rest } = object;
    if (next === undefined) return onChange(rest);
    onChange(key in object ? { ...object, [key]: next } : { ...rest, [key]: next });
  };
  const more: Schema = isObject(schema.additionalProperties) ? (schema.additionalProperties as Schema) : {};
  const error = errors.get(path);
  const fields = (
    <>
      {Object.entries(properties).map(([key, part]) => (
        <FieldOf key={key} schema={part} path={`${path}/${key}`} label={key} value={object[key]} onChange={(v) => set(key, v)} required={schema.required?.includes(key) ?? false} />
      ))}
      {extra.map((key) => (
        <div key={key} className={css.row}>
          <FieldOf schema={Object.keys(more).length > 0 ? more : inferred(object[key]!)} path={`${path}/${key}`} label={key} value={object[key]} onChange={(v) => set(key, v)} required />
          <IconButton label={`${words.form.remove}: ${key}`} onClick={() => set(key, undefined)}><Trash2 size={16} /></IconButton>
        </div>
      ))}
      {error ? <p className={css.error} role="alert">{error}</p> : null}
    </>
  );
  if (label === "") return <div className={css.fields}>{fields}</div>;
  return <fieldset className={css.group}><legend>{schema.title ?? label}</legend>{fields}</fieldset>;
}
