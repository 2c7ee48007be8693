// The chat: conversations at the side, one of them in the middle.
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { ApiError } from "../api/request";
import { Empty } from "../ui/Empty";
import { useWords } from "../words/words";
import { useAgents, type Agent } from "./agents";
import css from "./ChatPage.module.css";
import { Conversation } from "./Conversation";
import { prepareMarkdown } from "./messages/Markdown";
import { ThreadList } from "./threads/ThreadList";
import { useThread, useThreadsChanged } from "./threads/threads";

const Panel = lazy(() => import("../ui/Panel").then((m) => ({ default: m.Panel })));

const route = getRouteApi("/app/chat/{-$threadId}");
const favourite = "parley-agent";
/** The demo agent that shows what a first look is for: it asks before it acts. */
const first = "human_in_the_loop";

export function ChatPage() {
  const words = useWords();
  const { threadId } = route.useParams();
  const { agent: wanted } = route.useSearch();
  const navigate = useNavigate();
  const agents = useAgents();
  const changed = useThreadsChanged();
  useEffect(prepareMarkdown, []);
  const [listOpen, setListOpen] = useState(false);
  // The conversation that began on this page stays mounted when it gets its id and address.
  const born = useRef<{ thread: string; agent: Agent; key: string } | null>(null);
  const fresh = useRef(0);
  if (threadId === undefined && born.current) {
    born.current = null;
    fresh.current += 1;
  }
  const own = born.current?.thread === threadId ? born.current : null;
  const thread = useThread(own ? undefined : threadId); // an own one may not be there yet

  const list = agents.data ?? [];
  const named = (id: string | undefined) => list.find((a) => a.assistant_id === id || a.graph_id === id);
  const chosen = named(wanted) ?? named(localStorage.getItem(favourite) ?? undefined) ?? named(first) ?? list[0];
  const owner = named(thread.data?.metadata.assistant_id) ?? named(thread.data?.metadata.graph_id);
  const agent = own?.agent ?? (threadId === undefined ? chosen : thread.isSuccess ? (owner ?? chosen) : undefined);
  const key = own?.key ?? threadId ?? `new-${fresh.current}-${agent?.assistant_id}`;

  function began(id: string) {
    if (!agent || id === threadId) return;
    born.current = { thread: id, agent, key };
    changed();
    void navigate({ to: "/app/chat/{-$threadId}", params: { threadId: id }, search: {}, replace: true });
  }

  function choose(id: string) {
    localStorage.setItem(favourite, id);
    void navigate({ to: "/app/chat/{-$threadId}", params: { threadId: undefined }, search: { agent: id } });
  }

  const missing = thread.error instanceof ApiError && (thread.error.status === 404 || thread.error.status === 422) && !own;
  return (
    <div className={css.page}>
      <aside className={css.side}><ThreadList current={threadId} /></aside>
      {listOpen ? (
        <Suspense>
          <Panel side="left" open onOpenChange={setListOpen} title={words.threads.title}>
            <ThreadList current={threadId} onChosen={() => setListOpen(false)} />
          </Panel>
        </Suspense>
      ) : null}
      {missing ? <Empty title={words.threads.unknown}><Link to="/app/chat/{-$threadId}" params={{ threadId: undefined }} search={{}}>{words.threads.create}</Link></Empty> : null}
      {agents.isSuccess && list.length === 0 ? <Empty title={words.chat.noAgents} /> : null}
      {agents.error ? <Empty title={agents.error.message} /> : null}
      {agent && !missing ? (
        <Conversation key={key} agent={agent} agents={list} threadId={threadId} onBegan={began} onAgent={choose} onList={() => setListOpen(true)} />
      ) : null}
    </div>
  );
}
