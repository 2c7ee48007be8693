// The decision about a review: exactly the allowed ones, notes, and one button that submits.
import { useState } from "react";
import { FormCard } from "../approval/FormCard";
import { OutcomeCard } from "../approval/OutcomeCard";
import { PlainCard } from "../approval/PlainCard";
import type { Question } from "../approval/question";
import { refusalOf, type Refusal } from "../approval/refusal";
import { isObject, type Json } from "../schemaform/schema";
import { TextArea } from "../ui/Field";
import { useAnnounce } from "../ui/Announcements";
import { useWords } from "../words/words";
import { ActionDecisions } from "./ActionDecisions";
import { decisionBody } from "./answer";
import { NamedDecision } from "./NamedDecision";
import css from "./ReviewRequest.module.css";
import { useChangeReview, type Review } from "./reviews";

interface Props {
  review: Review;
  question: Question;
  /** Somebody else had decided before. */
  onFaster(by: string | null, decision: string | null): void;
}

export function DecisionForm({ review, question, onFaster }: Props) {
  const words = useWords();
  const announce = useAnnounce();
  const change = useChangeReview();
  const [notes, setNotes] = useState("");
  const [refusal, setRefusal] = useState<Refusal | null>(null);

  function send(given: Json) {
    setRefusal(null);
    // agent.Review hands the notes on to the agent.
    const answer = question.kind === "review" && isObject(given) && notes.trim() ? { ...given, reviewer_notes: notes.trim() } : given;
    change.mutate(
      { id: review.review_id, what: "decide", body: decisionBody(review, answer, notes, words) },
      { onSuccess: () => announce(words.review.submitted_), onError: fail },
    );
  }
  function fail(error: unknown) {
    const why = refusalOf(error);
    if (why.faster) onFaster(why.faster.by, why.faster.decision);
    setRefusal(why);
  }
  const answer = { sending: change.isPending, refusal, send };
  const notesField = <TextArea label={words.review.notes} note={words.approval.optional} value={notes} onChange={setNotes} />;
  return (
    <section className={css.form} aria-label={words.review.decision}>
      {question.kind === "actions" ? <ActionDecisions question={question} notes={notesField} {...answer} /> : null}
      {question.kind === "review" ? <NamedDecision question={question} notes={notesField} {...answer} /> : null}
      {question.kind === "form" ? <FormCard question={question} notes={notesField} {...answer} /> : null}
      {question.kind === "outcome" ? <OutcomeCard question={question} notes={notesField} {...answer} /> : null}
      {question.kind === "plain" ? <PlainCard question={question} schema={review.response_schema ?? undefined} notes={notesField} {...answer} /> : null}
    </section>
  );
}
