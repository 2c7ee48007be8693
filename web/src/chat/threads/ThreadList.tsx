import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useDeferredValue, useState } from "react";
import { useFeed } from "../../feed/feed";
import { useSession } from "../../session/session";
import { Button } from "../../ui/Button";
import { Choice } from "../../ui/Choice";
import { TextField } from "../../ui/Field";
import { Loading } from "../../ui/Loading";
import { Notice } from "../../ui/Notice";
import { useWords } from "../../words/words";
import { ThreadItem } from "./ThreadItem";
import css from "./ThreadList.module.css";
import { threadTitle, useThreads, useThreadsChanged, type ThreadStatus } from "./threads";

const statuses: ThreadStatus[] = ["interrupted", "busy", "idle", "error"];

/** All conversations, newest first, kept up to date by the server's feed. */
export function ThreadList({ current, onChosen }: { current: string | undefined; onChosen?(): void }) {
  const words = useWords();
  const [status, setStatus] = useState<ThreadStatus | "">("");
  const [search, setSearch] = useState("");
  const wanted = useDeferredValue(search.trim().toLowerCase());
  const mayRun = useSession().data?.can.run ?? true;
  const threads = useThreads(status);
  useFeed("/feeds/runs", useThreadsChanged());

  const all = threads.data?.pages.flat() ?? [];
  const found = wanted ? all.filter((t) => t.thread_id === wanted || threadTitle(t, words.threads.untitled).toLowerCase().includes(wanted)) : all;
  return (
    <section className={css.list} aria-label={words.threads.title}>
      <div className={css.head}>
        {mayRun ? (
          <Link to="/app/chat/{-$threadId}" params={{ threadId: undefined }} search={{}} className={css.create} onClick={onChosen}>
            <Plus size={17} aria-hidden /> {words.threads.create}
          </Link>
        ) : null}
        <div className={css.filters}>
          <TextField bare type="search" label={words.threads.search} placeholder={words.threads.search} value={search} onChange={setSearch} />
          <Choice bare label={words.threads.filter} value={status} onChange={(s) => setStatus(s as ThreadStatus | "")}
            options={[["", words.threads.all], ...statuses.map((s) => [s, words.threads.status[s]] as const)]} />
        </div>
      </div>
      {threads.isPending ? <Loading /> : null}
      {threads.error ? <Notice kind="bad" alert>{threads.error.message}</Notice> : null}
      {threads.isSuccess && found.length === 0 ? <p className={css.empty}>{all.length === 0 ? words.threads.empty : words.threads.noneFound}</p> : null}
      <ul className={css.items}>
        {found.map((thread) => <ThreadItem key={thread.thread_id} thread={thread} current={thread.thread_id === current} onChosen={onChosen} />)}
      </ul>
      {threads.hasNextPage ? <Button small kind="quiet" onClick={() => void threads.fetchNextPage()}>{words.app.more}</Button> : null}
    </section>
  );
}
