// Review Request: what is asked, by whom, why, with everything that will happen, and the decision.
import { Link } from "@tanstack/react-router";
import { useMemo, useRef, useState } from "react";
import { ApiError } from "../api/request";
import { callNames, readQuestion } from "../approval/question";
import { verdictLine } from "../approval/verdicts";
import { Waiting } from "../approval/Waiting";
import { InSight, Whole } from "../approval/Whole";
import { Json } from "../json/Json";
import { Badge } from "../ui/Badge";
import { Empty } from "../ui/Empty";
import { useFocusKept, useFocusWithin } from "../ui/focus";
import { Notice } from "../ui/Notice";
import { Moment } from "../ui/Time";
import { useWords } from "../words/words";
import { Claim } from "./Claim";
import { Comments } from "./Comments";
import { DecisionForm } from "./DecisionForm";
import { Outcome } from "./Outcome";
import { Presence } from "./Presence";
import css from "./ReviewRequest.module.css";
import { Subject } from "./Subject";
import { isOpen, useReview } from "./reviews";

/** beside: it stands next to the list, which has its heading. */
export function ReviewRequest({ id, beside }: { id: string; beside?: boolean }) {
  const words = useWords();
  const found = useReview(id);
  const review = found.data;
  // What was looked at when the page opened: a new suspension says so before it may be decided.
  const [seen, setSeen] = useState<number | null>(null);
  const [faster, setFaster] = useState<{ by: string | null; decision: string | null } | null>(null);
  const [messageCut, setMessageCut] = useState(false);
  const box = useRef<HTMLElement>(null);
  const { within, on } = useFocusWithin();
  useFocusKept(box, within, review?.status === "decided" ? "decided" : "open", "[data-outcome]");
  const question = useMemo(() => review && readQuestion(review.payload, review.response_schema ?? undefined), [review?.payload, review?.response_schema]);
  if (!review || !question) {
    const unknown = found.error instanceof ApiError && found.error.status === 404;
    return found.error ? <Empty title={unknown ? words.review.unknown : found.error.message} /> : <p role="status">{words.app.loading}</p>;
  }
  const w = words.review;
  const open = isOpen(review);
  const changed = seen !== null && seen !== review.generation;
  if (seen === null) setSeen(review.generation);
  const facts = (
    <dl className={css.facts}>
      <div><dt>{words.reviews.agent}</dt><dd>{review.agent.replaceAll("_", " ")}</dd></div>
      <div><dt>{w.submitted}</dt><dd><Moment at={review.created_at} /></dd></div>
      {review.requester ? <div><dt>{words.reviews.requester}</dt><dd>{review.requester}</dd></div> : null}
      {review.execution_id ? (
        <div><dt>{w.execution}</dt><dd><Link to="/app/executions/$executionId" params={{ executionId: review.execution_id }}><code>{review.execution_id}</code></Link></dd></div>
      ) : null}
      <div><dt>{w.thread}</dt><dd><Link to="/app/chat/{-$threadId}" params={{ threadId: review.thread_id }} search={{}}>{words.executions.openThread}</Link></dd></div>
    </dl>
  );
  return (
    <article ref={box} className={css.request} aria-label={w.title} {...on}>
      {beside ? <h2><Link to="/reviews/$reviewId" params={{ reviewId: id }}>{w.title}</Link></h2> : facts}
      <p className={css.state}>
        <Badge kind={open ? "wait" : review.status === "decided" ? "good" : review.status === "expired" ? "bad" : "plain"}>{words.reviews.statuses[review.status]}</Badge>
        {open ? <Waiting since={review.created_at} expires={review.expires_at} /> : null}
        {open && review.on_expiry && review.expires_at ? <span>{w.onExpiry[review.on_expiry]}</span> : null}
        {review.role ? <span>{w.escalated(review.role)}</span> : null}
      </p>
      {open ? <Presence id={id} /> : null}
      {open ? <Claim review={review} /> : <Outcome review={review} question={question} />}
      {review.message ? <section><h3>{w.message}</h3><Whole onCutOff={setMessageCut}><blockquote className={css.quote}>{review.message}</blockquote></Whole></section> : null}
      {review.input && typeof review.input === "object" ? <details className={css.more}><summary>{w.input}</summary><Json value={review.input} label={w.input} /></details> : null}
      {review.suspend_reason ? <section><h3>{w.reason}</h3><p className={css.reason}>{review.suspend_reason}</p></section> : null}
      {changed ? <Notice kind="wait" alert>{w.changed}</Notice> : null}
      {open && review.may_decide ? (
        <InSight value={!messageCut}>
          <DecisionForm key={review.generation} review={review} question={question} onFaster={(by, decision) => setFaster({ by, decision })} />
        </InSight>
      ) : <Subject question={question} />}
      {open && !review.may_decide ? <Notice kind="wait">{w.mayNot}{review.refusal ? `: ${review.refusal}` : ""}</Notice> : null}
      {faster ? <Notice kind="wait" alert>{w.faster(faster.by ?? words.reviews.unnamed, verdictLine(faster.decision, callNames(question), words))}</Notice> : null}
      <Comments review={review} />
      {beside ? facts : null}
      <p className={css.digest}>{w.digest}: <code>{review.digest}</code></p>
    </article>
  );
}
