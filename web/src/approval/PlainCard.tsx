// A question of the agent's own: its value, and an answer by the schema it came with, or free.
import { useState, type FormEvent } from "react";
import { SchemaForm } from "../schemaform/SchemaForm";
import { initial, typeOf, type Json, type Schema } from "../schemaform/schema";
import { validate } from "../schemaform/validate";
import { Button } from "../ui/Button";
import { TextArea } from "../ui/Field";
import { useWords } from "../words/words";
import { Arguments } from "./Arguments";
import css from "./cards.module.css";
import type { Question } from "./question";
import { issuesBelow } from "./refusal";
import { Refused } from "./Refused";
import { typedValue } from "./typedValue";
import type { AnswerProps } from "./useAnswer";

interface Props extends AnswerProps {
  question: Question & { kind: "plain" };
  schema: Schema | undefined;
}

export function PlainCard({ question, schema, sending, refusal, send, notes }: Props) {
  const words = useWords();
  const formed = schema !== undefined && typeOf(schema) !== undefined;
  const [text, setText] = useState("");
  const [value, setValue] = useState<Json>(() => (formed ? initial(schema, schema) : null));
  const [tried, setTried] = useState(false);
  const errors = formed && tried ? validate(value, schema, words) : issuesBelow(refusal, [""]);

  function submit(event: FormEvent) {
    event.preventDefault();
    setTried(true);
    if (!formed) return text.trim() === "" ? undefined : send(typedValue(text));
    if (validate(value, schema, words).size === 0) send(value);
  }
  return (
    <form className={css.body} onSubmit={submit} noValidate>
      {typeof question.value === "string" ? <p className={css.description}>{question.value}</p> : <Arguments value={question.value} label={words.approval.question} />}
      {formed ? <SchemaForm schema={schema} value={value} errors={errors} onChange={setValue} /> : (
        <TextArea label={words.approval.value} help={words.approval.valueHint} value={text} onChange={setText} error={tried && text.trim() === "" ? words.form.missing : undefined} />
      )}
      {notes}
      <Refused refusal={refusal} />
      <div className={css.buttons}><Button kind="primary" type="submit" disabled={sending}>{words.approval.respondSend}</Button></div>
    </form>
  );
}
