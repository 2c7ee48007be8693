// The open questions at the end of the conversation.
import type { BaseMessage } from "@langchain/core/messages";
import { useEffect, useRef } from "react";
import { QuestionCard } from "../approval/QuestionCard";
import { useReviews } from "../reviews/reviews";
import { readQuestion } from "../approval/question";
import { questionTitle } from "../approval/questionTitle";
import { useAnnounce } from "../ui/Announcements";
import { useWords } from "../words/words";
import { Elsewhere } from "./Elsewhere";
import type { Answers } from "./stream/answers";
import type { OpenQuestion } from "./stream/questions";
import type { ChatStream } from "./stream/useChatStream";

interface Props {
  stream: ChatStream;
  questions: OpenQuestion[];
  answers: Answers;
  /** The conversation's messages as they are shown. */
  messages: BaseMessage[];
}

export function Questions({ stream, questions, answers, messages }: Props) {
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

  // The same list as the navigation's: deadlines, and who may decide.
  const reviews = useReviews({ status: "open" }).data ?? [];
  const cards = questions.map((question) => {
    const review = reviews.find((r) => r.thread_id === stream.threadId && r.interrupt_id === question.id);
    return (
      <QuestionCard key={question.id} value={question.raw ?? question.value} schema={question.schema} path={question.path.join(" › ")} since={review?.created_at ?? question.since}
        expires={review?.expires_at} barred={review && !review.may_decide ? (review.refusal ?? words.review.mayNot) : undefined} deliver={(answer) => answers.deliver(question, answer)} />
    );
  });
  return <>{cards}<Elsewhere threadId={stream.threadId} questions={questions} sent={answers.sent} messages={messages} /></>;
}
