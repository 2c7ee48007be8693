import { Arguments } from "../approval/Arguments";
import { decisionsIn } from "../approval/decisions";
import type { Question } from "../approval/question";
import { Diff } from "../json/Diff";
import { duration, Moment } from "../ui/Time";
import { useWords } from "../words/words";
import css from "./ReviewRequest.module.css";
import type { Review } from "./reviews";

/** How a review ended. */
export function Outcome({ review, question }: { review: Review; question: Question }) {
  const words = useWords();
  const { decided } = review;
  const waited = words.review.waited(duration(review.waiting_seconds * 1000, words));
  if (!decided || review.status !== "decided") {
    return <section className={css.outcome}><p>{review.status === "expired" ? words.review.expired : words.review.superseded}</p><small>{waited}</small></section>;
  }
  const edits = question.kind === "actions" ? decisionsIn(decided.answer, question).map((d, i) => ({ d, action: question.actions[i] })) : [];
  return (
    <section className={css.outcome} aria-label={words.review.decision}>
      <p><strong>{decided.decision ?? words.approval.answered}</strong></p>
      <p>{words.review.decidedBy(decided.by ?? words.reviews.unnamed)}, <Moment at={decided.at} />. <small>{waited}</small></p>
      {decided.notes ? <blockquote className={css.quote}>{decided.notes}</blockquote> : null}
      {edits.map(({ d, action }, i) => (d.type === "edit" && action ? <Diff key={i} before={action.args} after={d.args} /> : null))}
      {question.kind === "actions" ? null : <Arguments value={decided.answer} label={words.review.answer} />}
    </section>
  );
}
