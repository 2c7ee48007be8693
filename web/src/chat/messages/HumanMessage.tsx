import { useMessageMetadata } from "@langchain/react";
import type { BaseMessage } from "@langchain/core/messages";
import { Pencil } from "lucide-react";
import { useState, type FormEvent } from "react";
import { Button, IconButton } from "../../ui/Button";
import { CopyButton } from "../../ui/CopyButton";
import { TextArea } from "../../ui/Field";
import { useWords } from "../../words/words";
import { VersionSwitch } from "../branches/VersionSwitch";
import { useMessageActions } from "./actions";
import { textOf } from "./content";
import css from "./messages.module.css";

export function HumanMessage({ message }: { message: BaseMessage }) {
  const words = useWords();
  const { stream, running, failed, forks, onShow, onEdit, onResend } = useMessageActions();
  const told = useMessageMetadata(stream, message.id);
  const status = told?.optimisticStatus ?? (told === undefined && failed.has(message.id ?? "") ? "failed" : undefined);
  const [editing, setEditing] = useState(false);
  const text = textOf(message);
  const fork = forks.get(message.id ?? "");
  if (editing) return <Editor text={text} onCancel={() => setEditing(false)} onSave={(next) => { setEditing(false); onEdit(message, next); }} />;
  return (
    <article className={css.human} aria-label={words.chat.you}>
      <p className={css.bubble} data-status={status}>{text}</p>
      <footer className={css.foot}>
        {status === "pending" ? <span className={css.status}>{words.chat.pending}</span> : null}
        {status === "sent" && running ? <span className={css.status}>{words.chat.sent}</span> : null}
        {status === "failed" ? (
          <span className={css.failed} role="alert">{words.chat.failed} <Button small onClick={() => onResend(message)}>{words.chat.retrySend}</Button></span>
        ) : null}
        {fork ? <VersionSwitch point={fork} onShow={onShow} /> : null}
        <span className={css.tools}>
          <CopyButton text={text} label={words.chat.copy} />
          {message.id && status !== "failed" && status !== "pending" ? (
            <IconButton label={words.chat.edit} disabled={running} onClick={() => setEditing(true)}><Pencil size={15} /></IconButton>
          ) : null}
        </span>
      </footer>
    </article>
  );
}

function Editor({ text, onSave, onCancel }: { text: string; onSave(text: string): void; onCancel(): void }) {
  const words = useWords();
  const [next, setNext] = useState(text);
  function save(event: FormEvent) {
    event.preventDefault();
    if (next.trim() !== "") onSave(next.trim());
  }
  return (
    <form className={css.editor} onSubmit={save} onKeyDown={(e) => e.key === "Escape" && onCancel()}>
      <TextArea label={words.chat.editTitle} value={next} onChange={setNext} autoFocus />
      <div className={css.buttons}>
        <Button kind="primary" type="submit" disabled={next.trim() === ""}>{words.chat.editSave}</Button>
        <Button kind="quiet" onClick={onCancel}>{words.app.cancel}</Button>
      </div>
    </form>
  );
}
