import { useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { request } from "../../api/request";
import { Button } from "../../ui/Button";
import { TextArea } from "../../ui/Field";
import { useWords } from "../../words/words";
import { checkpointsKey } from "../branches/checkpoints";
import css from "./Inspector.module.css";

/** Writes values into the state, as a checkpoint of their own. */
export function EditState({ threadId, onWritten }: { threadId: string; onWritten(): void }) {
  const words = useWords();
  const queries = useQueryClient();
  const [text, setText] = useState("{\n  \n}");
  const [failure, setFailure] = useState("");

  async function write(event: FormEvent) {
    event.preventDefault();
    let values: unknown;
    try {
      values = JSON.parse(text);
    } catch {
      return setFailure(words.inspector.notJson);
    }
    try {
      await request(`/threads/${threadId}/state`, { body: { values } });
      await queries.invalidateQueries({ queryKey: checkpointsKey(threadId) });
      onWritten();
      location.reload(); // the stream has no other way to read an idle thread again
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    }
  }
  return (
    <details>
      <summary>{words.inspector.editState}</summary>
      <form className={css.form} onSubmit={(e) => void write(e)}>
        <TextArea label={words.inspector.editState} help={words.inspector.editLead} rows={4} spellCheck={false} value={text} onChange={setText} error={failure || undefined} />
        <div><Button type="submit">{words.inspector.editApply}</Button></div>
      </form>
    </details>
  );
}
