// The open questions at the end of the conversation.
import { useEffect, useRef, useState } from "react";
import { cardMessage } from "../approval/cardMessage";
import { QuestionCard } from "../approval/QuestionCard";
import { refusalOf } from "../approval/refusal";
import { useReviews, useReviewsChanged } from "../reviews/reviews";
import { readQuestion } from "../approval/question";
import { questionTitle } from "../approval/questionTitle";
import type { Json } from "../schemaform/schema";
import { useAnnounce } from "../ui/Announcements";
import { useWords } from "../words/words";
import { Elsewhere, type Sent } from "./Elsewhere";
import type { OpenQuestion } from "./stream/questions";
import type { ChatStream } from "./stream/useChatStream";

export function Questions({ stream, questions }: { stream: ChatStream; questions: OpenQuestion[] }) {
  const words = useWords();
  const announce = useAnnounce();
  const told = useRef(new Set<string>());
  useEffect(() => {
    for (const question of questions) {
      if (told.current.has(question.id)) continue;
      told.current.add(question.id);
      announce(questionTitle(readQuestion(question.value), words));
    }
  }, [questions, announce, words]);

  const [sent, setSent] = useState<ReadonlyMap<string, Sent>>(new Map());
  const changed = useReviewsChanged();
  const note = (id: string, how: Sent | undefined) =>
    setSent((old) => new Map([...[...old].filter(([other]) => other !== id), ...(how ? [[id, how] as const] : [])]));

  /** The answer and the card that documents it are one step on the server. */
  async function deliver(question: OpenQuestion, answer: Json) {
    const card = cardMessage(question.id, question.raw ?? (question.value as Json), answer, words);
    note(question.id, "taken");
    try {
      await stream.respond(answer, { interruptId: question.id, update: { messages: [card] } });
    } catch (error) {
      const { gone } = refusalOf(error);
      note(question.id, gone);
      if (gone) changed(); // the server's hint may not be here yet
      throw error;
    }
  }
  // The same list as the navigation's: deadlines, and who may decide.
  const reviews = useReviews({ status: "open" }).data ?? [];
  const cards = questions.map((question) => {
    const review = reviews.find((r) => r.thread_id === stream.threadId && r.interrupt_id === question.id);
    return (
      <QuestionCard key={question.id} value={question.raw ?? question.value} schema={question.schema} path={question.path.join(" › ")} since={review?.created_at ?? question.since}
        expires={review?.expires_at} barred={review && !review.may_decide ? (review.refusal ?? words.review.mayNot) : undefined} deliver={(answer) => deliver(question, answer)} />
    );
  });
  return <>{cards}<Elsewhere stream={stream} questions={questions} sent={sent} /></>;
}
