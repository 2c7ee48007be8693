// One page that shows everything useStream returns.
import { STREAM_CONTROLLER, useMessageMetadata, useStream, useSubmissionQueue } from "@langchain/react";
import { useEffect, useRef } from "react";
import { makeOptions } from "../options.js";
import { countSubscriptions } from "../scoped.js";
import { useOpenQuestions } from "./answered.js";
import { Panel } from "./panels.jsx";

/** The options of useStream: the same object's parts in every render. */
export function useOptions(props) {
  const made = useRef(null);
  made.current ??= makeOptions(props);
  return { ...made.current, threadId: props.thread };
}

export function Chat({ name, ...props }) {
  const stream = useStream(useOptions(props));
  return <View name={name} stream={stream} panels={props.panels} />;
}

/** All of a stream: its fields and what hooks tell of it. */
export function View({ name, stream, panels = [] }) {
  const controller = stream[STREAM_CONTROLLER];
  countSubscriptions(name, controller.registry);
  const last = useRef(controller);
  if (last.current !== controller) {
    last.current = controller;
    window.note("newController", name);
  }
  return (
    <>
      <Fields name={name} stream={stream} Message={MessageWithMetadata} />
      <Queue name={name} stream={stream} />
      {panels.map((panel) => <Panel key={panel.id} stream={stream} panel={panel} />)}
    </>
  );
}

/** The fields of a stream; a suspended one has no more. */
export function Fields({ name, stream, Message = PlainMessage }) {
  window.streams[name] = stream;
  const loading = (stream.isLoading ?? stream.isStreaming) ? "Loading..." : "Not loading";
  useEffect(() => window.note("label", name, loading), [name, loading]);
  const open = useOpenQuestions(stream);
  const status = stream.values?.status;
  useEffect(() => window.note("status", status), [status]);
  return (
    <>
      <p data-field="loading">{loading}</p>
      <p data-field="threadLoading">{String(stream.isThreadLoading ?? false)}</p>
      <p data-field="threadId">{stream.threadId ?? "none"}</p>
      <p data-field="error">{stream.error ? String(stream.error.message ?? stream.error) : ""}</p>
      <pre data-field="values">{JSON.stringify(stream.values ?? null)}</pre>
      <pre data-field="interrupts">{JSON.stringify(stream.interrupts)}</pre>
      <pre data-field="open">{JSON.stringify(open.map((question) => question.id))}</pre>
      <pre data-field="toolCalls">{JSON.stringify(stream.toolCalls.map((c) => c.name))}</pre>
      <pre data-field="subagents">{JSON.stringify([...stream.subagents.values()].map(({ id, name, status, namespace }) => ({ id, name, status, namespace })))}</pre>
      <pre data-field="subgraphs">{JSON.stringify([...stream.subgraphs.values()])}</pre>
      <ul>
        {stream.messages.map((message, i) => <Message key={message.id ?? i} message={message} stream={stream} />)}
      </ul>
    </>
  );
}

function Queue({ name, stream }) {
  const { entries, size } = useSubmissionQueue(stream);
  useEffect(() => window.note("queue", size), [name, size]);
  return <pre data-field="queue">{JSON.stringify(entries.map((e) => ({ id: e.id, text: e.values?.messages?.[0]?.content })))}</pre>;
}

function MessageWithMetadata({ message, stream }) {
  return <PlainMessage message={message} metadata={useMessageMetadata(stream, message.id)} />;
}

function PlainMessage({ message, metadata }) {
  const card = message.response_metadata?.cards;
  return (
    <li data-message={message.id} data-type={message.getType()} data-status={metadata?.optimisticStatus}
      data-parent={metadata?.parentCheckpointId} data-card={card?.kind}>
      {message.text}
    </li>
  );
}
