import { Link } from "@tanstack/react-router";
import { callNames, readQuestion } from "../approval/question";
import { verdictLine, verdicts } from "../approval/verdicts";
import type { Review } from "../reviews/reviews";
import { Badge } from "../ui/Badge";
import { duration, exactDuration } from "../ui/Time";
import { useLocale, useWords } from "../words/words";
import css from "./ExecutionPage.module.css";
import type { Execution } from "./executions";
import { timelineOf, type TimelineEvent } from "./timeline";

export function Timeline({ execution, reviews }: { execution: Execution; reviews: Review[] }) {
  const locale = useLocale();
  const events = timelineOf(execution, reviews);
  const longest = Math.max(1, ...(execution.steps ?? []).map((s) => s.duration_ms ?? 0));
  const clock = new Intl.DateTimeFormat(locale, { timeStyle: "medium" });
  return (
    <ol className={css.timeline}>
      {events.map((event) => (
        <li key={event.key} className={`${css.event} ${css[colour(event, execution)]}`}>
          <What event={event} execution={execution} />
          <time className={css.when} dateTime={event.at}>{clock.format(new Date(event.at))}</time>
          <Detail event={event} longest={longest} />
        </li>
      ))}
    </ol>
  );
}

function colour(event: TimelineEvent, execution: Execution): "wait" | "good" | "bad" | "accent" | "event" {
  switch (event.kind) {
    case "suspended": return "wait";
    case "decided": return event.review.status === "decided" ? "good" : "bad";
    case "step": return event.step.error ? "bad" : "accent";
    case "ended": return execution.status === "completed" ? "good" : "bad";
    default: return "event";
  }
}

function What({ event, execution }: { event: TimelineEvent; execution: Execution }) {
  const words = useWords();
  const w = words.executions;
  switch (event.kind) {
    case "created":
      return <p className={css.what}><strong>{w.created}</strong></p>;
    case "step":
      return (
        <p className={css.what}>
          <Badge>{w[event.step.type]}</Badge> <code>{event.step.name}</code>
          {event.step.ended_at ? null : <Badge kind="accent">{w.running}</Badge>}
          {event.slowest ? <Badge kind="wait">{w.slowest}</Badge> : null}
        </p>
      );
    case "suspended":
      return (
        <p className={css.what}>
          <strong>{w.suspended}</strong>
          <Link to="/reviews/$reviewId" params={{ reviewId: event.review.review_id }}>{event.review.suspend_reason || w.openReview}</Link>
        </p>
      );
    case "decided": {
      const { status, decided } = event.review;
      if (status !== "decided" || !decided) return <p className={css.what}><strong>{status === "expired" ? w.expired : w.superseded}</strong></p>;
      const found = verdicts(decided.decision, [], words);
      const who = decided.by ?? words.reviews.unnamed;
      return <p className={css.what}><strong>{found.length === 1 ? w.decidedAt(who, found[0]!.text) : w.decidedEach(who)}</strong></p>;
    }
    case "ended":
      return <p className={css.what}><strong>{execution.status === "completed" ? w.completed : w.failed}</strong></p>;
  }
}

/** The nodes above a step's own, where it ran inside of another graph. */
const place = (namespace: string | undefined) => (namespace ?? "").split("|").slice(0, -1).map((part) => part.split(":")[0]).join(" › ");

function Detail({ event, longest }: { event: TimelineEvent; longest: number }) {
  const words = useWords();
  const w = words.executions;
  const locale = useLocale();
  const number = new Intl.NumberFormat(locale);
  if (event.kind === "decided") {
    const { decided, waiting_seconds: waited, payload } = event.review;
    const calls = decided && verdicts(decided.decision, [], words).length > 1 ? verdictLine(decided.decision, callNames(readQuestion(payload)), words) : "";
    return <p className={css.detail}>{[calls, w.waitedFor(duration(waited * 1000, words)), decided?.notes ? `“${decided.notes}”` : ""].filter(Boolean).join(" · ")}</p>;
  }
  if (event.kind !== "step") return null;
  const { step } = event;
  const parts = [
    step.duration_ms === undefined ? "" : exactDuration(step.duration_ms, locale),
    step.time_to_first_token_ms === undefined ? "" : w.firstToken(exactDuration(step.time_to_first_token_ms, locale)),
    step.tokens ? w.tokens(number.format(step.tokens.input), number.format(step.tokens.output)) : "",
    place(step.namespace),
  ].filter(Boolean);
  return (
    <>
      {step.duration_ms === undefined ? null : <div className={event.slowest ? `${css.bar} ${css.slow}` : css.bar} aria-hidden><i style={{ width: `${(100 * step.duration_ms) / longest}%` }} /></div>}
      <p className={css.detail}>{parts.join(" · ")}</p>
      {step.error ? <p className={`${css.detail} ${css.error}`}>{step.error}</p> : null}
    </>
  );
}
