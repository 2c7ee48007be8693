// Changing the arguments of an action, by the form that the tool's JSON Schema makes, or as JSON.
import { Tabs } from "radix-ui";
import { useEffect, useRef, useState, type FormEvent, type KeyboardEvent } from "react";
import { SchemaForm } from "../schemaform/SchemaForm";
import { inferred, typeOf, type Json } from "../schemaform/schema";
import { validate, type Errors } from "../schemaform/validate";
import { Button } from "../ui/Button";
import { TextArea } from "../ui/Field";
import { useWords } from "../words/words";
import css from "./cards.module.css";
import type { Action } from "./question";

interface Props {
  action: Action;
  from: Json;
  /** What the server said about the arguments that were sent last. */
  issues: Map<string, string>;
  sending: boolean;
  onSubmit(args: Json): void;
  onCancel(): void;
}

export function EditAction({ action, from, issues, sending, onSubmit, onCancel }: Props) {
  const words = useWords();
  const schema = action.schema ?? inferred(action.args);
  const formless = typeOf(schema) !== "object" || !schema.properties;
  const [value, setValue] = useState(from);
  const [text, setText] = useState(() => JSON.stringify(from, null, 2));
  const [tab, setTab] = useState(formless ? "json" : "form");
  const [tried, setTried] = useState(false);
  const [changed, setChanged] = useState(false);

  const typed = tab === "json" ? parsed(text) : value;
  const own: Errors = typed === undefined ? new Map([["", words.inspector.notJson]]) : tried ? validate(typed, schema, words) : new Map();
  const errors: Errors = own.size > 0 || changed ? own : issues;

  function change(next: Json) {
    setValue(next);
    setChanged(true);
  }
  function switchTo(next: string) {
    if (next === "json") setText(JSON.stringify(value, null, 2));
    else if (typed !== undefined) setValue(typed);
    else return;
    setTab(next);
  }
  function submit(event: FormEvent) {
    event.preventDefault();
    setTried(true);
    setChanged(false);
    if (typed !== undefined && validate(typed, schema, words).size === 0) onSubmit(typed);
  }
  // It may come after the press that opened it.
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector<HTMLElement>("[role=tabpanel]:not([hidden]) :is(input, textarea, select)")?.focus(), []);
  function onKey(event: KeyboardEvent) {
    if (event.key === "Escape" && !changed && !event.nativeEvent.isComposing) onCancel();
  }
  return (
    <form ref={form} className={css.form} onSubmit={submit} onKeyDown={onKey} aria-label={words.approval.editTitle} noValidate>
      <Tabs.Root value={tab} onValueChange={switchTo}>
        <Tabs.List className={css.tabs} aria-label={words.approval.editTitle}>
          <Tabs.Trigger value="form" disabled={formless}>{words.approval.asForm}</Tabs.Trigger>
          <Tabs.Trigger value="json">{words.approval.asJson}</Tabs.Trigger>
        </Tabs.List>
        <Tabs.Content value="form" tabIndex={-1}><SchemaForm schema={schema} value={value} errors={errors} onChange={change} /></Tabs.Content>
        <Tabs.Content value="json" tabIndex={-1}>
          <TextArea className={css.code} label={words.approval.editTitle} rows={6} spellCheck={false} value={text}
            onChange={(t) => { setText(t); setChanged(true); }} error={[...errors].map(([path, e]) => (path ? `${path}: ${e}` : e)).join("\n") || undefined} />
        </Tabs.Content>
      </Tabs.Root>
      <div className={css.buttons}>
        <Button kind="good" type="submit" disabled={sending}>{words.approval.editSend}</Button>
        <Button kind="quiet" onClick={onCancel}>{words.app.cancel}</Button>
      </div>
    </form>
  );
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
