// Who decided about the questions of a conversation: the server's reviews know it, the messages don't.
import { useMemo } from "react";
import { useReviews, type Decided, type Review } from "../../reviews/reviews";
import { useSession } from "../../session/session";

export type Deciders = ReadonlyMap<string, Pick<Review, "payload"> & { decided: Decided }>;

const none: Deciders = new Map();

/** The decided reviews of a thread, by the question's id; only asked for where somebody wants to know. */
export function useDeciders(threadId: string | null | undefined, wanted: boolean): Deciders {
  const may = useSession().data?.can.read ?? false;
  const { data } = useReviews({ status: "decided", thread_id: threadId ?? "" }, { enabled: wanted && may && Boolean(threadId) });
  return useMemo(() => {
    const of = (data ?? []).filter((r) => r.thread_id === threadId);
    return of.length === 0 ? none : new Map(of.flatMap(({ interrupt_id: id, payload, decided }) => (decided ? [[id, { payload, decided }] as const] : [])));
  }, [data, threadId]);
}
