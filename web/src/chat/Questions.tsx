// The open questions at the end of the conversation.
import { useEffect, useRef } from "react";
import { cardMessage } from "../approval/cardMessage";
import { QuestionCard } from "../approval/QuestionCard";
import { useReviews } from "../reviews/reviews";
import { readQuestion } from "../approval/question";
import { questionTitle } from "../approval/questionTitle";
import type { Json } from "../schemaform/schema";
import { useAnnounce } from "../ui/Announcements";
import { useWords } from "../words/words";
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

  /** The answer and the card that documents it are one step on the server. */
  function deliver(question: OpenQuestion, answer: Json) {
    const card = cardMessage(question.id, question.raw ?? (question.value as Json), answer, words);
    return stream.respond(answer, { interruptId: question.id, update: { messages: [card] } });
  }
  // The same list as the navigation's: deadlines, and who may decide.
  const reviews = useReviews({ status: "open" }).data ?? [];
  return questions.map((question) => {
    const review = reviews.find((r) => r.thread_id === stream.threadId && r.interrupt_id === question.id);
    return (
      <QuestionCard key={question.id} value={question.raw ?? question.value} schema={question.schema} path={question.path.join(" › ")} since={review?.created_at ?? question.since}
        expires={review?.expires_at} barred={review && !review.may_decide ? (review.refusal ?? words.review.mayNot) : undefined} deliver={(answer) => deliver(question, answer)} />
    );
  });
}
