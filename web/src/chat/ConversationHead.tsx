import { Layers, Menu as MenuIcon } from "lucide-react";
import { lazy, Suspense } from "react";
import { IconButton } from "../ui/Button";
import { Choice } from "../ui/Choice";
import { useWords } from "../words/words";
import { agentTitle, type Agent } from "./agents";
import type { Branches } from "./branches/useBranches";
import css from "./Conversation.module.css";
import type { ChatStream } from "./stream/useChatStream";

const Inspector = lazy(() => import("./inspector/Inspector").then((m) => ({ default: m.Inspector })));

interface Props {
  agent: Agent;
  agents: Agent[];
  stream: ChatStream;
  branches: Branches;
  started: boolean;
  inspecting: boolean;
  onInspect(open: boolean): void;
  onAgent(id: string): void;
  onList(): void;
}

/** Who one is talking to; before the first message another agent can be chosen. */
export function ConversationHead({ agent, agents, stream, branches, started, inspecting, onInspect, onAgent, onList }: Props) {
  const words = useWords();
  return (
    <header className={css.head}>
      <IconButton label={words.threads.title} className={css.menu} onClick={onList}><MenuIcon size={20} /></IconButton>
      {started ? <h1>{agentTitle(agent)}</h1> : (
        <Choice bare label={words.chat.agent} value={agent.assistant_id} onChange={onAgent} options={agents.map((a) => [a.assistant_id, agentTitle(a)] as const)} />
      )}
      <span className={css.grow} />
      {started ? <IconButton label={words.inspector.open} onClick={() => onInspect(true)}><Layers size={18} /></IconButton> : null}
      {inspecting ? <Suspense fallback={null}><Inspector stream={stream} branches={branches} onClose={() => onInspect(false)} /></Suspense> : null}
    </header>
  );
}
