// Questions of this page that somebody else answered: who it was, and what they chose.
import type { BaseMessage } from "@langchain/core/messages";
import { useMemo, useRef } from "react";
import { recordIn } from "../approval/cardMessage";
import { callNames, readQuestion } from "../approval/question";
import { verdictLine } from "../approval/verdicts";
import { useSession } from "../session/session";
import { Notice } from "../ui/Notice";
import { useWords } from "../words/words";
import { useDeciders } from "./stream/decided";
import type { Sent } from "./stream/answers";
import type { OpenQuestion } from "./stream/questions";

interface Props {
  threadId: string | null;
  questions: OpenQuestion[];
  /** Questions that this page answered. */
  sent: ReadonlyMap<string, Sent>;
  messages: BaseMessage[];
}

export function Elsewhere({ threadId, questions, sent, messages }: Props) {
  const words = useWords();
  const me = useSession().data?.principal;
  // Until the conversation goes on with another message: then it is an old story.
  const turn = messages.findLast((m) => m.getType() === "human")?.id;
  const shown = useRef({ turn, ids: new Set<string>() });
  if (shown.current.turn !== turn) shown.current = { turn, ids: new Set() };
  for (const { id } of questions) shown.current.ids.add(id);
  const open = new Set(questions.map((q) => q.id));
  const gone = [...shown.current.ids].filter((id) => !open.has(id) && sent.get(id) !== "taken");
  const deciders = useDeciders(threadId, gone.length > 0);
  const cards = useMemo(() => cardsIn(messages), [messages]);
  return gone.map((id) => {
    const answer = sent.get(id);
    const late = answer === "taken" ? undefined : answer;
    const found = deciders.get(id);
    if (!found) return late ? <Notice key={id} kind="wait" alert>{late === "decided" ? words.approval.anotherWasFaster : words.review[late]}</Notice> : null;
    const { by, decision } = found.decided;
    // A card tells it already; another tab of the same person is nobody else.
    if (!late && (cards.has(id) || (by !== null && by === me))) return null;
    const line = verdictLine(decision, callNames(readQuestion(found.payload)), words);
    const who = by ?? words.reviews.unnamed;
    return <Notice key={id} kind="wait" alert={late !== undefined}>{late ? words.review.faster(who, line) : words.approval.decidedElsewhere(who, line)}</Notice>;
  });
}

const cardsIn = (messages: BaseMessage[]) => new Set(messages.flatMap((m) => recordIn(m.response_metadata)?.interrupt_id ?? []));
