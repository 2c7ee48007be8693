import { useStream } from "@langchain/react";
import { useState } from "react";
import { useOpenQuestions } from "./open-questions.js";

const page = new URL(location.href);
const apiUrl = page.searchParams.get("api") ?? "http://localhost:2024";

/** The thread is in the address, so that a reload or a second tab shows it again. */
function rememberThread(id) {
  page.searchParams.set("thread", id);
  history.replaceState(null, "", page);
}

export function Chat() {
  const stream = useStream({
    apiUrl,
    assistantId: "approval",
    threadId: page.searchParams.get("thread"),
    onThreadId: rememberThread,
  });
  const questions = useOpenQuestions(stream);
  const [failures, setFailures] = useState({}); // of answers, by question
  // The card of an answer that didn't get through isn't true: its question is still open.
  const untrue = questions.filter((question) => failures[question.id]).map((question) => `card-${question.id}`);
  const messages = stream.messages.filter((message) => message.text && !untrue.includes(message.id));
  return (
    <>
      <h1>Approval</h1>
      <ol>
        {messages.map((message, i) => (
          <li key={message.id ?? i} className={message.response_metadata?.card ? "card" : message.getType()}>
            {message.text}
          </li>
        ))}
      </ol>
      {questions.map((question) => (
        <Question
          key={question.id} question={question} stream={stream} failure={failures[question.id]}
          onFailure={(text) => setFailures((all) => ({ ...all, [question.id]: text }))}
        />
      ))}
      {stream.error && questions.length === 0 ? <p role="alert">{String(stream.error.message ?? stream.error)}</p> : null}
      <Composer stream={stream} blocked={questions.length > 0} />
    </>
  );
}

function Question({ question, stream, failure, onFailure }) {
  const [action] = question.value.actionRequests;

  function decide(type) {
    // The card becomes a message of the thread in the same step as the answer:
    // the page shows it at once, and it is there for good.
    const card = {
      type: "ai",
      content: `${type === "approve" ? "Approved" : "Rejected"}: ${action.args.request}`,
      id: `card-${question.id}`,
      response_metadata: { card: { decision: type } },
    };
    const decision = type === "approve" ? { type } : { type, message: "The reviewer said no." };
    onFailure("");
    stream
      .respond({ decisions: [decision] }, { interruptId: question.id, update: { messages: [card] } })
      .catch((error) => onFailure(String(error.message ?? error)));
  }

  return (
    <section className="question" aria-label="Approval needed">
      <p>{action.description}</p>
      <div>
        <button onClick={() => decide("approve")}>Approve</button>{" "}
        <button onClick={() => decide("reject")}>Reject</button>
      </div>
      {failure ? <p role="alert">{failure}</p> : null}
    </section>
  );
}

function Composer({ stream, blocked }) {
  const [text, setText] = useState("");

  function send(event) {
    event.preventDefault();
    stream.submit({ messages: [{ type: "human", content: text }] }).catch(() => {}); // stream.error shows it
    setText("");
  }

  return (
    <form onSubmit={send}>
      <input aria-label="Message" placeholder="Refund order 4711" value={text} onChange={(e) => setText(e.target.value)} />
      {stream.isLoading ? (
        <button type="button" onClick={() => stream.stop()}>Stop</button>
      ) : (
        <button disabled={blocked || text === ""}>Send</button>
      )}
    </form>
  );
}
