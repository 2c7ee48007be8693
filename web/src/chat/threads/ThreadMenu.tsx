import { useNavigate } from "@tanstack/react-router";
import { Ellipsis, Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { Button, IconButton } from "../../ui/Button";
import { TextField } from "../../ui/Field";
import { Menu, MenuItem } from "../../ui/Menu";
import { Panel } from "../../ui/Panel";
import { useWords } from "../../words/words";
import css from "./ThreadList.module.css";
import { useDeleteThread, useRenameThread, type Thread } from "./threads";

/** What can be done with a conversation in the list. */
export function ThreadMenu({ thread, title, current }: { thread: Thread; title: string; current: boolean }) {
  const words = useWords();
  const [asking, setAsking] = useState<"rename" | "delete" | null>(null);
  return (
    <>
      <Menu trigger={<IconButton className={css.more} label={words.threads.actions(title)}><Ellipsis size={17} /></IconButton>}>
        <MenuItem icon={<Pencil size={16} />} onSelect={() => setAsking("rename")}>{words.threads.rename}</MenuItem>
        <MenuItem bad icon={<Trash2 size={16} />} onSelect={() => setAsking("delete")}>{words.threads.delete}</MenuItem>
      </Menu>
      {asking === "rename" ? <Rename thread={thread} title={title} close={() => setAsking(null)} /> : null}
      {asking === "delete" ? <Delete thread={thread} current={current} close={() => setAsking(null)} /> : null}
    </>
  );
}

function Rename({ thread, title, close }: { thread: Thread; title: string; close(): void }) {
  const words = useWords();
  const rename = useRenameThread();
  const [text, setText] = useState(title);
  return (
    <Panel open onOpenChange={close} title={words.threads.rename}>
      <form onSubmit={(e) => { e.preventDefault(); rename.mutate({ id: thread.thread_id, title: text.trim() }, { onSuccess: close }); }}>
        <TextField label={words.threads.renameLabel} value={text} onChange={setText} maxLength={200} error={rename.error?.message} />
        <br />
        <Button kind="primary" type="submit">{words.app.save}</Button>
      </form>
    </Panel>
  );
}

function Delete({ thread, current, close }: { thread: Thread; current: boolean; close(): void }) {
  const words = useWords();
  const remove = useDeleteThread();
  const navigate = useNavigate();
  function confirm() {
    remove.mutate(thread.thread_id, {
      onSuccess() {
        close();
        if (current) void navigate({ to: "/app/chat/{-$threadId}", params: { threadId: undefined }, search: {} });
      },
    });
  }
  return (
    <Panel open onOpenChange={close} title={words.threads.deleteTitle} lead={words.threads.deleteLead}>
      {remove.error ? <p role="alert">{remove.error.message}</p> : null}
      <div><Button kind="bad" onClick={confirm} disabled={remove.isPending}>{words.threads.delete}</Button> <Button onClick={close}>{words.app.cancel}</Button></div>
    </Panel>
  );
}
