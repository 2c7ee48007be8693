// Tool calls under review: each with its arguments in full and a list of exactly its decisions.
import { useState, type FormEvent, type ReactNode } from "react";
import { answerOf, type Decision } from "../approval/decisions";
import type { Question } from "../approval/question";
import { issuesBelow } from "../approval/refusal";
import { Refused } from "../approval/Refused";
import type { AnswerProps } from "../approval/useAnswer";
import { Button } from "../ui/Button";
import { useWords } from "../words/words";
import { ActionDecision } from "./ActionDecision";
import css from "./ReviewRequest.module.css";

interface Props extends AnswerProps {
  question: Question & { kind: "actions" };
  notes: ReactNode;
}

export function ActionDecisions({ question, notes, sending, refusal, send }: Props) {
  const words = useWords();
  const { actions, perCall } = question;
  const [decisions, setDecisions] = useState<(Decision | undefined)[]>(() => actions.map(() => undefined));
  const complete = decisions.every((d) => d !== undefined);

  function submit(event: FormEvent) {
    event.preventDefault();
    if (complete) send(answerOf(question, decisions as Decision[]));
  }
  const prefixes = (i: number) => (perCall ? [""] : [`/decisions/${i}`]).flatMap((p) => [`${p}/edited_action/args`, `${p}/editedAction/args`]);
  return (
    <form className={css.form} onSubmit={submit} noValidate>
      {actions.map((action, i) => (
        <ActionDecision key={i} action={action} alone={actions.length === 1} decision={decisions[i]} issues={issuesBelow(refusal, prefixes(i))}
          onDecide={(decision) => setDecisions((all) => all.map((old, k) => (k === i ? decision : old)))} />
      ))}
      {notes}
      <Refused refusal={refusal} />
      <div><Button kind="primary" type="submit" disabled={sending || !complete}>{sending ? words.approval.sending : words.review.submit}</Button></div>
    </form>
  );
}
