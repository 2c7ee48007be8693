// One decision for several requests that are the same to the byte.
import { useMemo, useState } from "react";
import { exact } from "../approval/Arguments";
import { answerOf, type Decision } from "../approval/decisions";
import { readQuestion } from "../approval/question";
import { Whole } from "../approval/Whole";
import type { Json } from "../schemaform/schema";
import { Button } from "../ui/Button";
import { TextField } from "../ui/Field";
import { Notice } from "../ui/Notice";
import { useWords } from "../words/words";
import { decisionBody } from "./answer";
import css from "./PendingReviews.module.css";
import { Subject } from "./Subject";
import { useChangeReview, type Review } from "./reviews";

interface Props {
  reviews: Review[];
  onClear(): void;
}

export function Bulk({ reviews, onClear }: Props) {
  const words = useWords();
  const change = useChangeReview();
  const [first] = reviews;
  const [reason, setReason] = useState("");
  const [told, setTold] = useState("");
  const [whole, setWhole] = useState(false);
  const precise = useMemo(() => first === undefined || exact(first.payload), [first]);
  if (!first) return told ? <p role="status">{told}</p> : null;

  async function decideAll(type: "approve" | "reject") {
    let done = 0;
    for (const review of reviews) {
      const answer = answerFor(review, type, reason.trim());
      if (answer === undefined) continue;
      await change.mutateAsync({ id: review.review_id, what: "decide", body: decisionBody(review, answer, reason, words) }).then(() => done++, () => {});
    }
    setTold(words.reviews.bulkDone(done, reviews.length));
    setReason("");
    onClear();
  }
  return (
    <section className={css.bulk} aria-label={words.reviews.selected(reviews.length)}>
      <strong>{words.reviews.selected(reviews.length)}</strong>
      <div className={css.subject}><Whole onCutOff={(cut) => setWhole(!cut && precise)}><Subject question={readQuestion(first.payload, first.response_schema ?? undefined)} /></Whole></div>
      {precise ? null : <Notice kind="wait">{words.approval.inexact}</Notice>}
      {answerFor(first, "reject", "") !== undefined ? <TextField bare label={words.reviews.bulkReason} placeholder={words.reviews.bulkReason} value={reason} onChange={setReason} /> : null}
      {answerFor(first, "approve", "") !== undefined ? <Button kind="good" disabled={change.isPending || !whole} onClick={() => void decideAll("approve")}>{words.reviews.bulkApprove}</Button> : null}
      {answerFor(first, "reject", "") !== undefined ? <Button kind="bad" disabled={change.isPending} onClick={() => void decideAll("reject")}>{words.reviews.bulkReject}</Button> : null}
      <Button kind="quiet" onClick={onClear}>{words.reviews.clear}</Button>
    </section>
  );
}

/** The answer that a decision is to a review; undefined where it isn't possible. */
function answerFor(review: Review, type: "approve" | "reject", message: string): Json | undefined {
  const question = readQuestion(review.payload, review.response_schema ?? undefined);
  switch (question.kind) {
    case "actions": {
      if (!question.actions.every((a) => a.allowed.includes(type))) return undefined;
      return answerOf(question, question.actions.map((): Decision => (type === "approve" ? { type } : { type, message })));
    }
    case "review": {
      const named = question.decisions.find((d) => d.trim().toLowerCase() === type);
      return named && { decision: named, ...(message ? { reviewer_notes: message } : {}) };
    }
    case "form":
      // An approved form needs its values, which nobody has looked at here.
      return type === "reject" && question.form.allowed.includes("reject") ? { approved: false, ...(message ? { message } : {}) } : undefined;
    default:
      return undefined;
  }
}
