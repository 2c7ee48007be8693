import { Arguments } from "../approval/Arguments";
import { decisionsIn, type Decision } from "../approval/decisions";
import { DecisionLine } from "../approval/DecisionLine";
import type { Question } from "../approval/question";
import { Content } from "../approval/ResolvedCard";
import { verdicts } from "../approval/verdicts";
import { Diff } from "../json/Diff";
import { duration, Moment } from "../ui/Time";
import { useWords } from "../words/words";
import css from "./ReviewRequest.module.css";
import type { Review } from "./reviews";

/** How a review ended: what was decided, about each call on its own. */
export function Outcome({ review, question }: { review: Review; question: Question }) {
  const words = useWords();
  const { decided } = review;
  const waited = words.review.waited(duration(review.waiting_seconds * 1000, words));
  if (!decided || review.status !== "decided") {
    return <section className={css.outcome}><p>{review.status === "expired" ? words.review.expired : words.review.superseded}</p><small>{waited}</small></section>;
  }
  const decisions = question.kind === "actions" ? decisionsIn(decided.answer, question) : [];
  const found = verdicts(decided.decision, [], words);
  // Without notes of the reviewer's own they are the reasons of the calls, which stand with those.
  const reasons = decisions.map((d) => ("message" in d ? d.message : "")).filter(Boolean).join("\n");
  const notes = decisions.length > 1 && decided.notes === reasons ? null : decided.notes;
  return (
    <section className={css.outcome} aria-label={words.review.decision} tabIndex={-1} data-outcome>
      <p><strong>{found.length === 1 ? found[0]!.text : words.review.oneByOne}</strong></p>
      <p>{words.review.decidedBy(decided.by ?? words.reviews.unnamed)}, <Moment at={decided.at} />. <small>{waited}</small></p>
      {notes ? <blockquote className={css.quote}>{notes}</blockquote> : null}
      {question.kind === "actions" ? <Calls question={question} decisions={decisions} /> : question.kind === "form" ? <Content question={question} answer={decided.answer} /> : <Arguments value={decided.answer} label={words.review.answer} />}
    </section>
  );
}

interface CallsProps {
  question: Question & { kind: "actions" };
  decisions: Decision[];
}

function Calls({ question: { actions }, decisions }: CallsProps) {
  const alone = actions.length === 1;
  // A single call that was simply approved or refused has been told above.
  if (alone && decisions[0]?.type !== "edit") return null;
  return (
    <ul className={css.verdicts}>
      {actions.map((action, i) => {
        const decision = decisions[i];
        if (!decision) return null;
        return (
          <li key={i} aria-label={action.name}>
            <DecisionLine decision={decision} action={action} named={!alone}
              edit={decision.type === "edit" ? <Diff before={action.args} after={decision.args} /> : undefined} />
          </li>
        );
      })}
    </ul>
  );
}
