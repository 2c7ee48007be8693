// agent.Review: a decision by name, with notes.
import { useState, type FormEvent, type ReactNode } from "react";
import type { Question } from "../approval/question";
import { Refused } from "../approval/Refused";
import { isRefusal } from "../approval/ReviewCard";
import type { AnswerProps } from "../approval/useAnswer";
import { WholeArguments } from "../approval/WholeArguments";
import { Button } from "../ui/Button";
import { TextField } from "../ui/Field";
import { useWords } from "../words/words";
import { DecisionList } from "./DecisionList";
import css from "./ReviewRequest.module.css";

interface Props extends AnswerProps {
  question: Question & { kind: "review" };
  notes: ReactNode;
}

export function NamedDecision({ question: { context, decisions }, notes, sending, refusal, send }: Props) {
  const words = useWords();
  const [decision, setDecision] = useState<string | undefined>(decisions.length === 0 ? "" : undefined);
  const [whole, setWhole] = useState(true);
  const blocked = !whole && !(decision && isRefusal(decision));

  function submit(event: FormEvent) {
    event.preventDefault();
    if (decision?.trim()) send({ decision: decision.trim() });
  }
  return (
    <form className={css.form} onSubmit={submit} noValidate>
      {Object.keys(context).length > 0 ? (
        <section><h3>{words.review.context}</h3><WholeArguments value={context} label={words.review.context} onWhole={setWhole} /></section>
      ) : null}
      {decisions.length > 0 ? (
        <DecisionList label={words.review.decision} value={decision} onChange={setDecision} options={decisions.map((d) => ({ value: d, text: d, disabled: !whole && !isRefusal(d) }))} />
      ) : <TextField label={words.review.decision} value={decision ?? ""} onChange={setDecision} />}
      {notes}
      <Refused refusal={refusal} />
      <div><Button kind="primary" type="submit" disabled={sending || blocked || !decision?.trim()}>{sending ? words.approval.sending : words.review.submit}</Button></div>
    </form>
  );
}
