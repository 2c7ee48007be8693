// Pending Reviews: all that waits for a person, live. On a wide screen what is chosen stands
// beside the list in full, so that it can be decided from the keyboard.
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Inbox } from "lucide-react";
import { useState } from "react";
import { useWide } from "../app/useWide";
import { useAgents } from "../chat/agents";
import { Empty } from "../ui/Empty";
import { Loading } from "../ui/Loading";
import { Notice } from "../ui/Notice";
import { Page } from "../ui/Page";
import { useWords } from "../words/words";
import { Bulk } from "./Bulk";
import css from "./PendingReviews.module.css";
import { NotifySwitch } from "./NotifySwitch";
import { ReviewFilters } from "./ReviewFilters";
import { ReviewRequest } from "./ReviewRequest";
import { ReviewTable } from "./ReviewTable";
import { isOpen, useReviews, type Review, type ReviewFilter, type ReviewStatus } from "./reviews";
import { useListKeys } from "./useListKeys";

const route = getRouteApi("/reviews");

export function PendingReviews() {
  const words = useWords();
  const navigate = useNavigate();
  const filter: ReviewFilter = route.useSearch();
  const wide = useWide();
  const agents = useAgents().data ?? [];
  const reviews = useReviews({ ...filter, status: filter.status ?? "open" });
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const [chosen, setChosen] = useState<string | null>(null);
  const list = reviews.data ?? [];
  const shown = list.find((r) => r.review_id === chosen) ?? (wide ? list[0] : undefined);
  const open = (id: string) => void navigate({ to: "/reviews/$reviewId", params: { reviewId: id } });
  useListKeys(list, shown?.review_id, setChosen, open);
  const { status, ...narrower } = filter;
  const kind = statusShown(status);
  const w = words.reviews;

  return (
    <Page wide title={w.titles[kind]} actions={<NotifySwitch />}
      filters={<ReviewFilters filter={filter} agents={agents} onChange={(next) => void navigate({ to: "/reviews", search: next, replace: true })} />}>
      <div className={css.split}>
        <div className={css.list}>
          {reviews.error ? <Notice kind="bad" alert>{reviews.error.message}</Notice> : null}
          <Bulk reviews={list.filter((r) => marked.has(r.review_id))} onClear={() => setMarked(new Set())} />
          {reviews.isPending ? <Loading /> : null}
          {reviews.isSuccess && list.length === 0 ? <Empty icon={<Inbox size={40} strokeWidth={1.3} aria-hidden />} title={Object.values(narrower).some(Boolean) ? w.noneFound : w.empties[kind]} /> : null}
          {list.length > 0 ? <ReviewTable reviews={list} chosen={wide ? shown?.review_id : undefined} marked={marked} onMark={setMarked} onChoose={wide ? setChosen : open} onReach={wide ? setChosen : undefined} /> : null}
          {list.length > 0 && wide ? <p className={css.keys}>{shown && verdictKeys(shown) ? w.keys : w.keysEnded}</p> : null}
        </div>
        {wide && shown ? <div className={css.detail} data-review-detail><ReviewRequest key={shown.review_id} id={shown.review_id} beside /></div> : null}
      </div>
    </Page>
  );
}

/** Whether a and r choose something: a form and a question of the agent's own have buttons alone. */
const verdictKeys = (review: Review) => isOpen(review) && review.may_decide && (review.kind === "tool_calls" || review.kind === "review");

/** What the list is called: an address may have another status, or several. */
const statusShown = (status: string | undefined): ReviewStatus | "open" =>
  status === "pending" || status === "claimed" || status === "decided" || status === "expired" || status === "superseded" ? status : "open";
