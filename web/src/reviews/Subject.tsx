import { Arguments, spelt } from "../approval/Arguments";
import { ownDescription } from "../approval/decisions";
import type { Question } from "../approval/question";
import { useWords } from "../words/words";
import css from "./ReviewRequest.module.css";

/** What a review is about, where nothing can be decided. */
export function Subject({ question }: { question: Question }) {
  const words = useWords();
  switch (question.kind) {
    case "actions":
      return question.actions.map((action, i) => (
        <section key={i} className={css.action} aria-label={action.name}>
          <h3 className={css.name}><code>{action.name}</code></h3>
          {ownDescription(action) ? <p className={css.reason}>{spelt(ownDescription(action))}</p> : null}
          <Arguments value={action.args} />
        </section>
      ));
    case "form":
      return question.form.context === undefined ? null : <Arguments value={question.form.context} label={words.review.context} />;
    case "review":
      return <Arguments value={question.context} label={words.review.context} />;
    case "outcome":
      return <p>{words.approval.unknownLead(question.step)}</p>;
    default:
      return <Arguments value={question.value} label={words.review.context} />;
  }
}
