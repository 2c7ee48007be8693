// agent.Review: a reason, what there is to know, and the decisions by name.
import { useState } from "react";
import { Button, type ButtonKind } from "../ui/Button";
import { TextArea, TextField } from "../ui/Field";
import { useWords } from "../words/words";
import { spelt } from "./Arguments";
import css from "./cards.module.css";
import type { Question } from "./question";
import { Refused } from "./Refused";
import type { AnswerProps } from "./useAnswer";
import { WholeArguments } from "./WholeArguments";

interface Props extends AnswerProps {
  question: Question & { kind: "review" };
}

export function ReviewCard({ question: { reason, context, decisions }, sending, refusal, send }: Props) {
  const words = useWords();
  const [notes, setNotes] = useState("");
  const [own, setOwn] = useState("");
  const [whole, setWhole] = useState(true);
  const decide = (decision: string) => send({ decision, ...(notes.trim() ? { reviewer_notes: notes.trim() } : {}) });
  const kind = (decision: string, i: number): ButtonKind => (isRefusal(decision) ? "bad" : i === 0 ? "good" : "plain");
  return (
    <div className={css.body}>
      {reason ? <p className={css.description}>{spelt(reason)}</p> : null}
      {Object.keys(context).length > 0 ? <WholeArguments value={context} label={words.approval.context} onWhole={setWhole} /> : null}
      <TextArea label={words.approval.message} value={notes} onChange={setNotes} />
      {decisions.length === 0 ? <TextField label={words.approval.value} value={own} onChange={setOwn} /> : null}
      <Refused refusal={refusal} />
      <div className={css.buttons}>
        {decisions.map((d, i) => (
          <Button key={d} kind={kind(d, i)} disabled={sending || (!whole && !isRefusal(d))} onClick={() => decide(d)}>{shownDecision(d, words.approval)}</Button>
        ))}
        {decisions.length === 0 ? <Button kind="primary" disabled={sending || !whole || own.trim() === ""} onClick={() => decide(own.trim())}>{words.approval.confirm}</Button> : null}
      </div>
    </div>
  );
}

/** Decisions that let nothing happen are always possible. */
export const isRefusal = (decision: string) => /^\s*(reject|deny|decline|refuse|cancel|no)\b/i.test(decision);

/** The page's own word for a decision it knows, else the agent's. */
function shownDecision(decision: string, words: { approve: string; reject: string }): string {
  const name = decision.trim().toLowerCase();
  return name === "approve" ? words.approve : name === "reject" ? words.reject : decision;
}
