import { useState } from "react";
import { TextArea } from "../ui/Field";
import { useWords } from "../words/words";
import css from "./SchemaForm.module.css";
import { useForm, type FieldProps } from "./SchemaForm";
import type { Json } from "./schema";

/** Any value, as JSON. Text that isn't JSON yet is an error and leaves the value as it was. */
export function JsonField({ schema, path, label, value, required, onChange }: FieldProps) {
  const words = useWords();
  const { errors } = useForm();
  const [text, setText] = useState(value === undefined ? "" : JSON.stringify(value, null, 2));
  const [broken, setBroken] = useState(false);

  function change(next: string) {
    setText(next);
    if (next.trim() === "" && !required) {
      setBroken(false);
      return onChange(undefined);
    }
    try {
      onChange(JSON.parse(next) as Json);
      setBroken(false);
    } catch {
      setBroken(true);
    }
  }
  return (
    <TextArea className={css.code} label={schema.title ?? (label || "JSON")} help={schema.description} note={required ? undefined : words.approval.optional}
      rows={3} spellCheck={false} value={text} onChange={change} error={broken ? words.inspector.notJson : errors.get(path)} />
  );
}
