// A form that the agent sent: its fields, bounds and texts all come from the payload, so a
// form of any formType works.
import { useState, type FormEvent } from "react";
import { isObject, type Json, type JsonObject } from "../schemaform/schema";
import { Button } from "../ui/Button";
import { TextArea } from "../ui/Field";
import { useLocale, useWords } from "../words/words";
import { spelt } from "./Arguments";
import css from "./cards.module.css";
import { FormControl } from "./FormControl";
import { fieldErrors, initialValues } from "./formValues";
import type { Question } from "./question";
import { issuesBelow } from "./refusal";
import { Refused } from "./Refused";
import type { AnswerProps } from "./useAnswer";
import { WholeArguments } from "./WholeArguments";

interface Props extends AnswerProps {
  question: Question & { kind: "form" };
}

export function FormCard({ question: { form }, sending, refusal, send, notes }: Props) {
  const words = useWords();
  const locale = useLocale();
  const [values, setValues] = useState<JsonObject>(() => initialValues(form));
  const [tried, setTried] = useState(false);
  const [declining, setDeclining] = useState(false);
  const [message, setMessage] = useState("");
  const [whole, setWhole] = useState(true);
  const own = tried ? fieldErrors(form, values, words, locale) : new Map<string, string>();
  const sent = issuesBelow(refusal, ["/values"]);

  function set(name: string, value: Json | undefined) {
    const { [name]: _, ...rest } = values;
    setValues(value === undefined ? rest : { ...rest, [name]: value });
  }
  function approve(event: FormEvent) {
    event.preventDefault();
    setTried(true);
    if (fieldErrors(form, values, words, locale).size === 0) send({ approved: true, values });
  }
  const context = isObject(form.context) && Object.keys(form.context).length > 0 ? form.context : undefined;
  return (
    <form className={css.body} onSubmit={approve} noValidate>
      {form.description ? <p className={css.description}>{spelt(form.description)}</p> : null}
      {context ? <WholeArguments value={context} label={words.approval.context} onWhole={setWhole} /> : null}
      <div className={css.fields}>
        {form.fields.map((field) => (
          <FormControl key={field.name} field={field} value={values[field.name]} error={own.get(field.name) ?? sent.get(`/${field.name}`)} onChange={(v) => set(field.name, v)} />
        ))}
      </div>
      {declining ? <TextArea label={words.approval.rejectReason} value={message} onChange={setMessage} autoFocus /> : null}
      {notes}
      <Refused refusal={refusal} />
      <div className={css.buttons}>
        {form.allowed.includes("approve") && !declining ? (
          <Button kind="good" type="submit" disabled={sending || !whole}>{form.approveLabel ?? words.approval.approve}</Button>
        ) : null}
        {form.allowed.includes("reject") ? (
          <Button kind="bad" disabled={sending} onClick={() => (declining ? send({ approved: false, ...(message.trim() ? { message: message.trim() } : {}) }) : setDeclining(true))}>
            {form.rejectLabel ?? words.approval.reject}
          </Button>
        ) : null}
        {declining ? <Button kind="quiet" onClick={() => setDeclining(false)}>{words.app.cancel}</Button> : null}
      </div>
    </form>
  );
}
