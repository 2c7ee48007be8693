import { Link } from "@tanstack/react-router";
import { Badge, type BadgeKind } from "../ui/Badge";
import table from "../ui/Table.module.css";
import { shortened } from "../ui/shortened";
import { duration, useNow } from "../ui/Time";
import { useLocale, useWords } from "../words/words";
import css from "./PendingReviews.module.css";
import { reviewTitle } from "./reviewTitle";
import { isOpen, type Review, type ReviewStatus } from "./reviews";

const kinds: Record<ReviewStatus, BadgeKind> = { pending: "wait", claimed: "accent", decided: "good", expired: "bad", superseded: "plain" };

interface Props {
  reviews: Review[];
  chosen: string | undefined;
  marked: ReadonlySet<string>;
  onMark(marked: ReadonlySet<string>): void;
  onChoose(id: string): void;
  /** The keyboard has come to a row. */
  onReach: ((id: string) => void) | undefined;
}

export function ReviewTable({ reviews, chosen, marked, onMark, onChoose, onReach }: Props) {
  const words = useWords();
  const w = words.reviews;
  // Only what is the same to the byte may be decided together.
  // Columns in which nobody has anything would only take room.
  const has = {
    requester: reviews.some((r) => r.requester),
    deadline: reviews.some((r) => r.expires_at && isOpen(r)),
    state: reviews.some((r) => r.status !== "pending"),
  };
  const digest = reviews.find((r) => marked.has(r.review_id))?.digest;
  return (
    <table className={`${table.table} ${css.table}`}>
      <thead>
        <tr>
          <th><span hidden>{w.selected(0)}</span></th><th>{w.action}</th><th>{w.agent}</th>
          {has.requester ? <th>{w.requester}</th> : null}
          <th>{reviews.some(isOpen) ? w.age : w.waited}</th>
          {has.deadline ? <th>{w.deadline}</th> : null}
          {has.state ? <th>{reviews.some(isOpen) ? w.assignee : w.status}</th> : null}
        </tr>
      </thead>
      <tbody>
        {reviews.map((review) => {
          const id = review.review_id;
          const toggle = () => {
            const next = new Set(marked);
            if (!next.delete(id)) next.add(id);
            onMark(next);
          };
          return (
            <tr key={id} className={css.row} aria-selected={id === chosen} onClick={() => onChoose(id)}>
              <td onClick={(e) => e.stopPropagation()}>
                {isOpen(review) ? (
                  <input type="checkbox" aria-label={w.select(reviewTitle(review, words))} checked={marked.has(id)} onChange={toggle}
                    disabled={!review.may_decide || (digest !== undefined && digest !== review.digest)} title={digest !== undefined && digest !== review.digest ? w.bulkHint : undefined} />
                ) : null}
              </td>
              <td className={`${table.grow} ${css.what}`}>
                <Link to="/reviews/$reviewId" params={{ reviewId: id }} className={table.link} data-review={id} onFocus={() => onReach?.(id)} onClick={(e) => { if (!e.metaKey && !e.ctrlKey) { e.preventDefault(); onChoose(id); } e.stopPropagation(); }}>
                  {reviewTitle(review, words)}
                </Link>
                <br /><small>{review.message === null ? review.suspend_reason : shortened(review.message, 140)}</small>
              </td>
              <td className={css.agent}>{review.agent.replaceAll("_", " ")}</td>
              {has.requester ? <td>{review.requester}</td> : null}
              <td className={table.tight} data-label={isOpen(review) ? w.age : w.waited}><Age review={review} /></td>
              {has.deadline ? <td data-label={review.expires_at && isOpen(review) ? w.deadline : undefined}><Deadline review={review} /></td> : null}
              {has.state ? <td>{review.status === "pending" ? null : <Badge kind={kinds[review.status]}>{review.status === "claimed" ? review.assignee : w.statuses[review.status]}</Badge>}</td> : null}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Age({ review }: { review: Review }) {
  const words = useWords();
  const locale = useLocale();
  const now = useNow();
  const ms = isOpen(review) ? now - new Date(review.created_at).getTime() : review.waiting_seconds * 1000;
  return <time dateTime={review.created_at} title={new Date(review.created_at).toLocaleString(locale)}>{duration(ms, words)}</time>;
}

function Deadline({ review }: { review: Review }) {
  const words = useWords();
  const locale = useLocale();
  const now = useNow();
  if (!review.expires_at || !isOpen(review)) return null;
  const left = new Date(review.expires_at).getTime() - now;
  return <time className={left < 3_600_000 ? css.due : undefined} dateTime={review.expires_at} title={new Date(review.expires_at).toLocaleString(locale)}>{duration(left, words)}</time>;
}
