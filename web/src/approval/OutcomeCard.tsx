// A step that was running when the server died: a person finds out whether it took effect.
import { useState } from "react";
import type { Json } from "../schemaform/schema";
import { Button } from "../ui/Button";
import { TextArea } from "../ui/Field";
import { useWords } from "../words/words";
import css from "./cards.module.css";
import type { Question } from "./question";
import { Refused } from "./Refused";
import { typedValue } from "./typedValue";
import type { AnswerProps } from "./useAnswer";

interface Props extends AnswerProps {
  question: Question & { kind: "outcome" };
}

export function OutcomeCard({ question, sending, refusal, send, notes }: Props) {
  const words = useWords();
  const [result, setResult] = useState("");
  const [asking, setAsking] = useState(false);
  const done = (): Json => ({ type: "done", ...(result.trim() ? { result: typedValue(result) } : {}) });
  return (
    <div className={css.body}>
      <p>{words.approval.unknownLead(question.step)}</p>
      <p><small>{words.approval.idempotencyKey}: <code>{question.idempotencyKey}</code></small></p>
      {asking ? <TextArea label={`${words.chat.result} (${words.approval.valueHint})`} value={result} onChange={setResult} /> : null}
      {notes}
      <Refused refusal={refusal} />
      <div className={css.buttons}>
        <Button disabled={sending} onClick={() => send({ type: "retry" })}>{words.approval.outcome.retry}</Button>
        <Button kind={asking ? "good" : "plain"} disabled={sending} onClick={() => (asking ? send(done()) : setAsking(true))}>{words.approval.outcome.done}</Button>
        <Button kind="bad" disabled={sending} onClick={() => send({ type: "fail" })}>{words.approval.outcome.failed}</Button>
      </div>
    </div>
  );
}
