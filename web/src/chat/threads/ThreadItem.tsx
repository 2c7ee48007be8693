import { Link } from "@tanstack/react-router";
import { Ellipsis } from "lucide-react";
import { lazy } from "react";
import { Badge, type BadgeKind } from "../../ui/Badge";
import { OnDemand } from "../../ui/OnDemand";
import { Ago } from "../../ui/Time";
import { useWords } from "../../words/words";
import css from "./ThreadList.module.css";
import { threadTitle, type Thread, type ThreadStatus } from "./threads";

const load = () => import("./ThreadMenu");
const ThreadMenu = lazy(() => load().then((m) => ({ default: m.ThreadMenu })));

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
      <OnDemand label={words.threads.actions(title)} icon={<Ellipsis size={17} />} className={css.more} prepare={load}>
        <ThreadMenu thread={thread} title={title} current={current} />
      </OnDemand>
    </li>
  );
}
