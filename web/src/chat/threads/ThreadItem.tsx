import { Link } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { Badge, type BadgeKind } from "../../ui/Badge";
import { Ago } from "../../ui/Time";
import { useWords } from "../../words/words";
import css from "./ThreadList.module.css";
import { threadTitle, type Thread, type ThreadStatus } from "./threads";

const ThreadMenu = lazy(() => import("./ThreadMenu").then((m) => ({ default: m.ThreadMenu })));

const kinds: Record<ThreadStatus, BadgeKind> = { idle: "plain", busy: "accent", interrupted: "wait", error: "bad" };

interface Props {
  thread: Thread;
  current: boolean;
  onChosen?: (() => void) | undefined;
}

export function ThreadItem({ thread, current, onChosen }: Props) {
  const words = useWords();
  const title = threadTitle(thread, words.threads.untitled);
  return (
    <li className={current ? `${css.item} ${css.current}` : css.item}>
      <Link to="/app/chat/{-$threadId}" params={{ threadId: thread.thread_id }} search={{}} className={css.link} onClick={onChosen} aria-current={current ? "true" : undefined}>
        <span className={css.title}>{title}</span>
        <span className={css.meta}>
          {thread.status === "idle" ? null : <Badge kind={kinds[thread.status]}>{words.threads.status[thread.status]}</Badge>}
          <span className={css.agent}>{(thread.metadata.graph_id ?? "").replaceAll("_", " ")}</span>
          <Ago at={thread.updated_at} />
        </span>
      </Link>
      <Suspense><ThreadMenu thread={thread} title={title} current={current} /></Suspense>
    </li>
  );
}
