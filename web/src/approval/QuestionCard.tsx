// An open question: its head says what it is and how long it waits, its body is the card of its kind.
import { Hand } from "lucide-react";
import { lazy, Suspense, useMemo } from "react";
import type { Json, Schema } from "../schemaform/schema";
import { useFocusAfter, useFocusWithin } from "../ui/focus";
import { Notice } from "../ui/Notice";
import { useWords } from "../words/words";
import { ActionsCard } from "./ActionsCard";
import css from "./cards.module.css";
import { FormCard } from "./FormCard";
import { OutcomeCard } from "./OutcomeCard";
import { readQuestion } from "./question";
import { questionTitle } from "./questionTitle";
import { ReviewCard } from "./ReviewCard";
import { useAnswer } from "./useAnswer";
import { Waiting } from "./Waiting";

const PlainCard = lazy(() => import("./PlainCard").then((m) => ({ default: m.PlainCard })));

interface Props {
  value: unknown;
  schema: Schema | undefined;
  /** Where in the agent it was asked: "" for the agent itself. */
  path?: string;
  since?: string | undefined;
  expires?: string | null | undefined;
  /** Why this person may not answer. */
  barred?: string | undefined;
  deliver(answer: Json): Promise<void>;
}

export function QuestionCard({ value, schema, path, since, expires, barred, deliver }: Props) {
  const words = useWords();
  const question = useMemo(() => readQuestion(value, schema), [value, schema]);
  const { sending, ...rest } = useAnswer(deliver);
  const answer = { ...rest, sending: sending || barred !== undefined, barred: barred !== undefined };
  const title = questionTitle(question, words);
  const { within, on } = useFocusWithin();
  useFocusAfter(within, () => document.querySelector<HTMLElement>("[data-question], [data-composer]"));
  return (
    <section className={css.card} aria-label={title} tabIndex={-1} data-question {...on}>
      <header className={css.head}>
        <h3 className={css.title}><Hand size={17} aria-hidden /> {title}</h3>
        <p className={css.meta}>
          {path ? <span>{words.approval.partOf(path)}</span> : null}
          {sending ? <span role="status">{words.approval.sending}</span> : null}
          <Waiting since={since} expires={expires} />
        </p>
      </header>
      {barred === undefined ? null : <Notice kind="wait">{words.review.mayNot}: {barred}</Notice>}
      {question.kind === "actions" ? <ActionsCard question={question} {...answer} /> : null}
      {question.kind === "form" ? <FormCard question={question} {...answer} /> : null}
      {question.kind === "review" ? <ReviewCard question={question} {...answer} /> : null}
      {question.kind === "outcome" ? <OutcomeCard question={question} {...answer} /> : null}
      {/* The schema may come behind the question: then the form begins with its values. */}
      {question.kind === "plain" ? <Suspense><PlainCard key={schema ? "form" : "text"} question={question} schema={schema} {...answer} /></Suspense> : null}
    </section>
  );
}
