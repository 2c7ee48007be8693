import { Plus, Trash2 } from "lucide-react";
import { useRef } from "react";
import { Button, IconButton } from "../ui/Button";
import { useWords } from "../words/words";
import css from "./SchemaForm.module.css";
import { FieldOf, useForm, type FieldProps } from "./SchemaForm";
import { initial, type Json, type Schema } from "./schema";

/** A list whose items are all of one kind. */
export function ArrayField({ schema, path, label, value, onChange }: FieldProps) {
  const words = useWords();
  const { root, errors } = useForm();
  const list = Array.isArray(value) ? value : [];
  const items = schema.items as Schema;
  // Fields keep what is being typed, so an item's key has to stay with it when others go.
  const keys = useRef<number[]>([]);
  const next = useRef(0);
  while (keys.current.length < list.length) keys.current.push(next.current++);
  const error = errors.get(path);

  function remove(index: number) {
    keys.current.splice(index, 1);
    onChange(list.filter((_, i) => i !== index));
  }
  return (
    <fieldset className={css.group}>
      <legend>{schema.title ?? label}</legend>
      {schema.description ? <p className={css.help}>{schema.description}</p> : null}
      {list.map((item, i) => (
        <div key={keys.current[i]} className={css.row}>
          <FieldOf schema={items} path={`${path}/${i}`} label={words.form.item(i + 1)} value={item} required
            onChange={(v) => onChange(list.map((old, k): Json => (k === i ? (v ?? null) : old)))} />
          <IconButton label={`${words.form.remove}: ${words.form.item(i + 1)}`} onClick={() => remove(i)}><Trash2 size={16} /></IconButton>
        </div>
      ))}
      {error ? <p className={css.error} role="alert">{error}</p> : null}
      <div><Button small onClick={() => onChange([...list, initial(items, root)])}><Plus size={15} aria-hidden /> {words.form.add}</Button></div>
    </fieldset>
  );
}
