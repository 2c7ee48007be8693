import { Link } from "@tanstack/react-router";
import { verdicts } from "../approval/verdicts";
import { useWords } from "../words/words";
import { counted, keyOf, toolsOf } from "./subject";
import type { Entry } from "./audit";
import css from "./AuditPage.module.css";

/** What an entry is about: the agent, every call, the review, and what else was said. */
export function About({ entry }: { entry: Entry }) {
  const words = useWords();
  const w = words.audit;
  const { body } = entry;
  const causes: Record<string, string> = w.causes;
  const tools = toolsOf(entry);
  const key = keyOf(entry);
  const decided = verdicts(entry.decision, tools, words);
  return (
    <>
      {[entry.agent?.replaceAll("_", " "), tools.length === 1 ? tools[0] : tools.length > 1 ? w.calls(tools.length) : ""].filter(Boolean).join(" · ")}
      {key ? <>{key.name} <small>{key.roles.join(", ")}</small></> : null}
      {entry.review_id ? <> <Link to="/reviews/$reviewId" params={{ reviewId: entry.review_id }}>{words.executions.openReview}</Link></> : null}
      {tools.length > 1 ? (
        <ul className={css.calls} aria-label={w.calls(tools.length)}>
          {decided.length === tools.length
            ? decided.map(({ name, text }, i) => <li key={i}><code>{name}</code>: {text}</li>)
            : counted(tools).map(([name, times]) => <li key={name}><code>{name}</code>{times > 1 ? ` × ${times}` : ""}</li>)}
        </ul>
      ) : null}
      {body.notes ? <small className={css.remark}>“{body.notes}”</small> : null}
      {body.cause ? <small className={css.remark}>{causes[body.cause] ?? body.cause}</small> : null}
    </>
  );
}
