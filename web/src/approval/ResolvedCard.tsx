// A question that was answered in a chat, read-only, drawn from the message that the answer left.
import { CheckCheck } from "lucide-react";
import { isObject, type Json, type JsonObject } from "../schemaform/schema";
import { Moment } from "../ui/Time";
import { useLocale, useWords } from "../words/words";
import type { Words } from "../words/en";
import { shownAmount } from "./amounts";
import { Arguments } from "./Arguments";
import type { ResolvedRecord } from "./cardMessage";
import css from "./cards.module.css";
import { decisionsIn } from "./decisions";
import { DecisionLine } from "./DecisionLine";
import { readQuestion, type FormField, type Question } from "./question";
import { isRefusal } from "./ReviewCard";
import { questionTitle } from "./questionTitle";

interface Props {
  record: ResolvedRecord;
  /** Who decided, and when, as the server knows it. */
  decided: { by: string | null; at: string } | undefined;
}

export function ResolvedCard({ record, decided }: Props) {
  const words = useWords();
  const question = readQuestion(record.question);
  const title = question.kind === "actions" ? question.actions.map((a) => a.name).join(", ") : question.kind === "review" ? question.reason || words.approval.mixed : questionTitle(question, words);
  return (
    <section className={`${css.card} ${css.done}`} aria-label={`${words.approval.answered}: ${title}`}>
      <header className={css.head}>
        <h3 className={css.title}><CheckCheck size={17} aria-hidden /> {title}</h3>
        {decided?.by ? <p className={css.meta}><span>{words.review.decidedBy(decided.by)}</span> <Moment at={decided.at} /></p> : null}
      </header>
      <Content question={question} answer={record.answer} />
    </section>
  );
}

/** What was asked and answered, read-only. */
export function Content({ question, answer }: { question: Question; answer: Json }) {
  const words = useWords();
  if (question.kind === "actions") {
    const decisions = decisionsIn(answer, question);
    return (
      <ol className={css.actions}>
        {question.actions.map((action, i) => (
          <li key={i} className={css.action}>
            {question.actions.length > 1 ? <h4 className={css.name}><code>{action.name}</code></h4> : null}
            <Arguments value={action.args} />
            {decisions[i] ? <DecisionLine decision={decisions[i]} action={action} /> : null}
          </li>
        ))}
      </ol>
    );
  }
  if (question.kind === "form" && isObject(answer)) return <FormAnswer fields={question.form.fields} answer={answer} labels={question.form} words={words} />;
  if (question.kind === "review" && isObject(answer)) return <ReviewAnswer context={question.context} answer={answer} />;
  return (
    <div className={css.body}>
      {question.kind === "outcome" ? <p><code>{question.step}</code></p> : null}
      {question.kind === "plain" ? <Arguments value={question.value} label={words.approval.question} /> : null}
      <Arguments value={answer} label={words.approval.answer} />
    </div>
  );
}

function ReviewAnswer({ context, answer }: { context: JsonObject; answer: JsonObject }) {
  const words = useWords();
  const decision = String(answer["decision"] ?? "");
  const notes = answer["reviewer_notes"];
  return (
    <div className={css.body}>
      {Object.keys(context).length > 0 ? <Arguments value={context} label={words.approval.context} /> : null}
      <div className={`${css.decision} ${isRefusal(decision) ? css.reject : css.approve}`}>
        <p className={css.verdict}><strong>{decision}</strong></p>
        {typeof notes === "string" && notes ? <p className={css.words}>{notes}</p> : null}
      </div>
    </div>
  );
}

interface FormAnswerProps {
  fields: FormField[];
  answer: { [key: string]: Json };
  labels: { approveLabel?: string; rejectLabel?: string };
  words: Words;
}

function FormAnswer({ fields, answer, labels, words }: FormAnswerProps) {
  const locale = useLocale();
  const approved = answer["approved"] === true;
  const values = isObject(answer["values"]) ? answer["values"] : {};
  const message = typeof answer["message"] === "string" ? answer["message"] : "";
  return (
    <div className={css.body}>
      <p className={`${css.decision} ${approved ? css.approve : css.reject}`}>
        <strong className={css.verdict}>{approved ? (labels.approveLabel ?? words.approval.approvedAll) : (labels.rejectLabel ?? words.approval.rejectedAll)}</strong>
      </p>
      {message ? <p className={css.words}>{message}</p> : null}
      {approved ? (
        <dl className={css.values}>
          {fields.map((field) => <div key={field.name}><dt>{field.label || field.name}</dt><dd>{shown(field, values[field.name], words, locale)}</dd></div>)}
        </dl>
      ) : null}
    </div>
  );
}

function shown(field: FormField, value: Json | undefined, words: Words, locale: string): string {
  if (value === undefined || value === null || value === "") return words.approval.none;
  if (typeof value === "boolean") return value ? words.approval.yes : words.approval.no;
  if (typeof value === "number") return shownAmount(value, locale, field.type === "currency" ? field.currency : undefined);
  if (field.type === "select") return field.options?.find((o) => o.value === value)?.label ?? String(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}
