// What the buttons of a conversation do.
import { STREAM_CONTROLLER } from "@langchain/react";
import { v7 } from "@langchain/core/utils/uuid";
import { useCallback, useMemo, useRef, useState } from "react";
import type { BaseMessage } from "@langchain/core/messages";
import { request } from "../api/request";
import { readQuestion } from "../approval/question";
import type { Branches } from "./branches/useBranches";
import { textOf } from "./messages/content";
import type { MessageActions } from "./messages/actions";
import { hasCards } from "./messages/entries";
import { useDeciders } from "./stream/decided";
import { useToolProgress } from "./stream/progress";
import type { OpenQuestion } from "./stream/questions";
import type { ChatStream } from "./stream/useChatStream";

const none: ReadonlySet<string> = new Set();

/** messages are those of the branch as they are shown. */
export function useActions(stream: ChatStream, branches: Branches, questions: OpenQuestion[], messages: BaseMessage[]) {
  const [failure, setFailure] = useState("");
  const progress = useToolProgress(stream);
  const deciders = useDeciders(stream.threadId, useMemo(() => hasCards(branches.messages), [branches.messages]));
  const waiting = waitingCalls(questions, messages);
  // Rows render again when what they use changes, not with every token: the newest of all else is read when a button is pressed.
  const latest = useRef({ stream, branches });
  latest.current = { stream, branches };
  const controller = stream[STREAM_CONTROLLER];
  const handle = useMemo(() => stream, [controller]);
  const running = stream.isLoading;

  const attempt = useCallback((work: Promise<void>) => {
    setFailure("");
    work.catch((error: unknown) => setFailure(error instanceof Error ? error.message : String(error)));
  }, []);

  // @langchain/react 1.1.0 forgets the state of a message that failed as the first of its thread.
  const [failed, setFailed] = useState<ReadonlySet<string>>(none);
  const send = useCallback((text: string, again?: string) => {
    const id = again ?? v7();
    const { stream: now, branches: shown } = latest.current;
    setFailed((ids) => new Set([...ids].filter((old) => old !== id)));
    // Also called when the run fails that the message began: then it did arrive.
    const onError = () => void arrived(latest.current.stream.threadId, id).then((there) => there || setFailed((ids) => new Set(ids).add(id)));
    const options = { onError, ...(now.isLoading ? { multitaskStrategy: "enqueue" } : {}) };
    // What fails here is in stream.error, and the message is marked.
    shown.submit({ messages: [{ type: "human", content: text, id }] }, options).catch(() => {});
  }, []);

  const actions = useMemo<MessageActions>(
    () => ({
      stream: handle,
      running,
      failed,
      waitingCalls: waiting.size === 0 ? none : new Set(waiting),
      progress,
      deciders,
      forks: branches.forks,
      onShow: (checkpoint) => latest.current.branches.show(checkpoint),
      onEdit: (message, text) => attempt(latest.current.branches.edit(message, text)),
      onRetry: (message) => {
        const asked = humanBefore(latest.current.branches.messages, message);
        if (asked) attempt(latest.current.branches.retry(asked));
      },
      onResend: (message) => send(textOf(message), message.id),
    }),
    [handle, running, failed, [...waiting].join(), progress, deciders, forkKey(branches), attempt, send],
  );
  const last = branches.messages.at(-1);
  return { actions, send, failure, unsent: last?.id !== undefined && failed.has(last.id) && !wasSent(stream, last.id) };
}

/** Whether the server has a message; no if it can't be asked. */
async function arrived(threadId: string | null, id: string): Promise<boolean> {
  if (!threadId) return false;
  try {
    const { values } = await request<{ values?: { messages?: { id?: string }[] } }>(`/threads/${threadId}/state`);
    return (values?.messages ?? []).some((m) => m.id === id);
  } catch {
    return false;
  }
}

const wasSent = (stream: ChatStream, id: string) => stream[STREAM_CONTROLLER].messageMetadataStore.getSnapshot().get(id)?.optimisticStatus === "sent";

const forkKey = ({ forks }: Branches) => [...forks].map(([id, f]) => `${id}:${f.chosen}/${f.options.length}`).join();

/** The calls that open questions are about; questions without ids are about the last message's calls of that name. */
function waitingCalls(questions: OpenQuestion[], messages: BaseMessage[]): Set<string> {
  const ids = new Set<string>();
  const last = messages.findLast((m) => m.getType() === "ai") as { tool_calls?: { id?: string; name: string }[] } | undefined;
  for (const { value, path } of questions) {
    const question = readQuestion(value);
    if (question.kind !== "actions") {
      // A form or another question of a tool: its call is the one that runs.
      if (path.length === 0) for (const call of last?.tool_calls ?? []) if (call.id) ids.add(call.id);
      continue;
    }
    for (const action of question.actions) {
      if (action.callId) ids.add(action.callId);
      else for (const call of last?.tool_calls ?? []) if (call.name === action.name && call.id) ids.add(call.id);
    }
  }
  return ids;
}

function humanBefore(messages: BaseMessage[], message: BaseMessage): BaseMessage | undefined {
  const index = messages.findIndex((m) => m.id === message.id);
  return messages.slice(0, index).findLast((m) => m.getType() === "human");
}
