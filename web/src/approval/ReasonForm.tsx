import { useState, type FormEvent, type KeyboardEvent } from "react";
import { Button, type ButtonKind } from "../ui/Button";
import { TextArea } from "../ui/Field";
import { useWords } from "../words/words";
import css from "./cards.module.css";

interface Props {
  label: string;
  submit: string;
  kind?: ButtonKind;
  required?: boolean;
  sending: boolean;
  onSubmit(text: string): void;
  onCancel(): void;
}

/** A text that goes with a decision. */
export function ReasonForm({ label, submit, kind = "primary", required, sending, onSubmit, onCancel }: Props) {
  const words = useWords();
  const [text, setText] = useState("");
  const [missing, setMissing] = useState(false);
  function onForm(event: FormEvent) {
    event.preventDefault();
    if (required && text.trim() === "") return setMissing(true);
    onSubmit(text.trim());
  }
  function onKey(event: KeyboardEvent) {
    if (event.key === "Escape" && text === "" && !event.nativeEvent.isComposing) onCancel();
  }
  return (
    <form className={css.form} onSubmit={onForm} onKeyDown={onKey}>
      <TextArea label={label} value={text} onChange={setText} autoFocus error={missing && text.trim() === "" ? words.form.missing : undefined} />
      <div className={css.buttons}>
        <Button kind={kind} type="submit" disabled={sending}>{submit}</Button>
        <Button kind="quiet" onClick={onCancel}>{words.app.cancel}</Button>
      </div>
    </form>
  );
}
