import { useState, type FormEvent } from "react";
import { Button } from "../ui/Button";
import { TextArea } from "../ui/Field";
import { Ago } from "../ui/Time";
import { useWords } from "../words/words";
import css from "./ReviewRequest.module.css";
import { isOpen, useChangeReview, type Review } from "./reviews";

/** What reviewers tell each other. */
export function Comments({ review }: { review: Review }) {
  const words = useWords();
  const change = useChangeReview();
  const [text, setText] = useState("");
  if (review.comments.length === 0 && !isOpen(review)) return null;

  function send(event: FormEvent) {
    event.preventDefault();
    if (text.trim() === "") return;
    change.mutate({ id: review.review_id, what: "comments", body: { text: text.trim() } }, { onSuccess: () => setText("") });
  }
  return (
    <section className={css.comments}>
      <h3>{words.review.comments}</h3>
      <ul className={css.comments}>
        {review.comments.map((comment, i) => <li key={i}><small>{comment.by} · <Ago at={comment.at} /></small>{comment.text}</li>)}
      </ul>
      {isOpen(review) ? (
        <form onSubmit={send}>
          <TextArea label={words.review.comment} value={text} onChange={setText} error={change.error?.message} />
          <div><Button small type="submit" disabled={change.isPending || text.trim() === ""}>{words.review.commentSend}</Button></div>
        </form>
      ) : null}
    </section>
  );
}
