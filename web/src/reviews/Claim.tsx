import { useSession } from "../session/session";
import { Button } from "../ui/Button";
import { Notice } from "../ui/Notice";
import { useLocale, useWords } from "../words/words";
import css from "./ReviewRequest.module.css";
import { useChangeReview, type Review } from "./reviews";

/** Who looks after a review, and for how long; its deadline can be moved. */
export function Claim({ review }: { review: Review }) {
  const words = useWords();
  const locale = useLocale();
  const me = useSession().data?.principal;
  const change = useChangeReview();
  const act = (what: "claim" | "release" | "extend", body?: object) => change.mutate({ id: review.review_id, what, ...(body ? { body } : {}) });
  const until = review.claimed_until ? new Date(review.claimed_until).toLocaleTimeString(locale, { timeStyle: "short" }) : "";
  const mine = review.assignee !== null && review.assignee === me;
  return (
    <>
      <div className={css.claim}>
        {review.status === "claimed" ? <span>{mine ? words.review.claimedByYou(until) : words.review.claimedBy(review.assignee ?? "", until)}</span> : null}
        {review.status === "pending" ? <Button small disabled={change.isPending || !review.may_decide} onClick={() => act("claim")}>{words.review.claim}</Button> : null}
        {mine ? <Button small disabled={change.isPending} onClick={() => act("release")}>{words.review.release}</Button> : null}
        {review.expires_at ? <Button small disabled={change.isPending} onClick={() => act("extend", { by: "1h" })}>{words.review.extend}</Button> : null}
      </div>
      {change.error ? <Notice kind="bad" alert>{change.error.message}</Notice> : null}
    </>
  );
}
