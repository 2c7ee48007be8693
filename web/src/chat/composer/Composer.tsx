import { ArrowUp, Square } from "lucide-react";
import { useEffect, useRef, useState, type FormEvent, type KeyboardEvent } from "react";
import { IconButton } from "../../ui/Button";
import { useWords } from "../../words/words";
import css from "./Composer.module.css";

interface Props {
  running: boolean;
  /** A question is open: a message now changes course. */
  asking: boolean;
  /** Where the draft is kept over reloads. */
  draftKey: string;
  onSend(text: string): void;
  onStop(): void;
}

/** Where the user writes. While the agent works, what is sent waits its turn. */
export function Composer({ running, asking, draftKey, onSend, onStop }: Props) {
  const words = useWords();
  const area = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useState(() => sessionStorage.getItem(draftKey) ?? "");
  useEffect(() => {
    if (text) sessionStorage.setItem(draftKey, text);
    else sessionStorage.removeItem(draftKey);
  }, [draftKey, text]);
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) area.current?.focus();
  }, []);

  function submit(event?: FormEvent) {
    event?.preventDefault();
    if (text.trim() === "") return;
    onSend(text.trim());
    setText("");
  }
  function onKey(event: KeyboardEvent) {
    // Enter also ends the choice of a Chinese or Japanese input method.
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) submit(event as unknown as FormEvent);
  }
  return (
    <form className={css.composer} onSubmit={submit}>
      {asking ? <p className={css.note}>{words.chat.blocked}</p> : null}
      <div className={css.box}>
        <textarea ref={area} rows={1} data-composer aria-label={words.chat.message} placeholder={words.chat.placeholder} title={words.chat.hint} enterKeyHint="send"
          value={text} onChange={(e) => setText(e.target.value)} onKeyDown={onKey} />
        {running && text.trim() === "" ? (
          <IconButton label={words.chat.stop} className={css.stop} onClick={onStop}><Square size={15} fill="currentColor" /></IconButton>
        ) : (
          <IconButton type="submit" label={running ? words.chat.queueIt : words.chat.send} className={css.send} disabled={text.trim() === ""}><ArrowUp size={19} /></IconButton>
        )}
      </div>
    </form>
  );
}
