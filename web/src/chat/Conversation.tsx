// One conversation with one agent.
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useSession } from "../session/session";
import { Button } from "../ui/Button";
import { Notice } from "../ui/Notice";
import { useWords } from "../words/words";
import { agentTitle, type Agent } from "./agents";
import { checkpointsKey } from "./branches/checkpoints";
import { useBranches } from "./branches/useBranches";
import { Composer } from "./composer/Composer";
import { Queue } from "./composer/Queue";
import { ConnectionBanner } from "./ConnectionBanner";
import css from "./Conversation.module.css";
import { ConversationHead } from "./ConversationHead";
import { Actions } from "./messages/actions";
import { MessageList } from "./messages/MessageList";
import { Questions } from "./Questions";
import { Nested } from "./nested/Nested";
import { RunState } from "./RunState";
import { useAnswers } from "./stream/answers";
import { useStoredFailure } from "./stream/failure";
import { useOpenQuestions } from "./stream/questions";
import { useChatStream } from "./stream/useChatStream";
import { useWake } from "./stream/wake";
import { useThreadsChanged } from "./threads/threads";
import { Suggestions } from "./Suggestions";
import { useActions } from "./useActions";

interface Props {
  agent: Agent;
  agents: Agent[];
  threadId: string | undefined;
  onBegan(thread: string): void;
  onAgent(id: string): void;
  onList(): void;
}

const route = getRouteApi("/app/chat/{-$threadId}");

export function Conversation({ agent, agents, threadId, onBegan, onAgent, onList }: Props) {
  const words = useWords();
  const mayRun = useSession().data?.can.run ?? true;
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { at } = route.useSearch();
  const crowded = route.useLoaderData();
  const changed = useThreadsChanged();
  const [inspecting, setInspecting] = useState(false);
  const [ran, setRan] = useState(threadId === undefined); // whether this page has begun a run, and was told what came of it
  const [stored, setStored] = useState(threadId !== undefined); // whether the server has the thread

  const { stream, connection } = useChatStream({
    crowded, agent, threadId, onThreadId: onBegan,
    onRunChanged(own) {
      setStored(true);
      if (own) setRan(true);
      changed();
      void queries.invalidateQueries({ queryKey: checkpointsKey(stream.threadId) });
    },
  });
  useWake(stream, stored ? threadId : undefined, changed);
  const branches = useBranches(stream, stored ? threadId : undefined, at, (leaf) => void navigate({ to: ".", search: (old) => ({ ...old, at: leaf }), replace: true }));
  const questions = useOpenQuestions(stream);
  const answers = useAnswers(stream, questions);
  const messages = useMemo(() => answers.shown(branches.messages), [answers.shown, branches.messages]);
  const { actions, send, failure, unsent } = useActions(stream, branches, questions, messages);
  const before = useStoredFailure(ran ? undefined : threadId);
  const open = branches.older ? [] : questions;
  const running = stream.isLoading && open.length === 0; // a thread that waits for an answer is told to be loading
  return (
    <section className={css.conversation} aria-label={agentTitle(agent)}>
      <ConversationHead agent={agent} agents={agents} stream={stream} branches={branches} started={threadId !== undefined}
        inspecting={inspecting} onInspect={setInspecting} onAgent={onAgent} onList={onList} />
      <ConnectionBanner connection={connection} />
      {branches.older ? <Notice kind="wait">{words.chat.olderBranch} <Button small onClick={() => branches.show(branches.newest)}>{words.chat.newest}</Button></Notice> : null}
      <Actions value={actions}>
        <MessageList
          messages={messages}
          empty={stream.isThreadLoading ? <p className={css.muted}>{words.app.loading}</p> : threadId === undefined && mayRun ? <Suggestions agent={agent} onSend={(text) => send(text)} /> : null}
          tail={
            <>
              {branches.older ? null : <Nested stream={stream} />}
              <Questions stream={stream} questions={open} answers={answers} messages={messages} />
              <RunState stream={stream} told={answers.told} asking={open.length > 0} failure={failure} before={branches.older ? undefined : before} unsent={unsent} onRetry={() => void branches.submit(null)} />
            </>
          }
        />
      </Actions>
      <Queue stream={stream} />
      {mayRun ? <Composer running={running} asking={open.length > 0} draftKey={`parley-draft-${threadId ?? agent.assistant_id}`} onSend={(text) => send(text)} onStop={() => void stream.stop()} /> : <p className={css.readOnly}>{words.chat.readOnly}</p>}
    </section>
  );
}
