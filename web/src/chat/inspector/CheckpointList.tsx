import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Ago } from "../../ui/Time";
import { useWords } from "../../words/words";
import { branching, useCheckpoints } from "../branches/checkpoints";
import css from "./Inspector.module.css";

interface Props {
  threadId: string | undefined;
  shown: string;
  running: boolean;
  /** Shows a checkpoint's state in the inspector. */
  onInspect(id: string): void;
  /** Shows the conversation as it was there. */
  onShow(id: string): void;
  onRerun(id: string): void;
}

/** All checkpoints, newest first; those that led to what is shown are marked. */
export function CheckpointList({ threadId, shown, running, onInspect, onShow, onRerun }: Props) {
  const words = useWords();
  const list = useCheckpoints(threadId).data ?? [];
  const path = new Set(branching(list, shown || undefined).path.map((c) => c.id));
  const sources: Record<string, string> = words.inspector.source;
  return (
    <ol className={css.checkpoints}>
      {list.map((c, i) => (
        <li key={c.id} className={[css.checkpoint, path.has(c.id) && css.onPath, c.id === shown && css.shown].filter(Boolean).join(" ")} aria-current={c.id === shown ? "step" : undefined}>
          <p>
            <strong>{words.inspector.step(c.step)}</strong> <Badge>{sources[c.source] ?? c.source}</Badge>
            {i === 0 ? <Badge kind="accent">{words.inspector.current}</Badge> : null}
          </p>
          <p className={css.meta}><Ago at={c.createdAt} /> {c.next.length > 0 ? <span>→ {c.next.join(", ")}</span> : null}</p>
          <p className={css.buttons}>
            <Button small onClick={() => onInspect(c.id)}>{words.inspector.state}</Button>
            <Button small onClick={() => onShow(c.id)}>{words.inspector.show}</Button>
            <Button small disabled={running} onClick={() => onRerun(c.id)}>{words.inspector.forkHere}</Button>
          </p>
        </li>
      ))}
    </ol>
  );
}
