// What works inside of the agent: subagents it called, and graphs in its nodes.
import { useMessages, useValues, type AnyStream, type SubagentDiscoverySnapshot, type SubgraphDiscoverySnapshot } from "@langchain/react";
import { Bot, ChevronRight, Workflow } from "lucide-react";
import { Collapsible } from "radix-ui";
import { useState, type ReactNode } from "react";
import { Json } from "../../json/Json";
import { Badge, type BadgeKind } from "../../ui/Badge";
import { useWords } from "../../words/words";
import { textOf } from "../messages/content";
import { entriesOf } from "../messages/entries";
import { Markdown } from "../messages/Markdown";
import messages from "../messages/messages.module.css";
import { ToolCallCard } from "../messages/ToolCallCard";
import css from "./Nested.module.css";

const kinds: Record<"running" | "complete" | "error", BadgeKind> = { running: "accent", complete: "good", error: "bad" };

export function Nested({ stream }: { stream: AnyStream }) {
  const words = useWords();
  const subagents = [...stream.subagents.values()];
  // A subagent runs as a graph in the tools node: it is shown once, under its own name.
  const taken = new Set(subagents.map((agent) => agent.namespace.join()));
  const subgraphs = [...stream.subgraphs.values()].filter((graph) => !taken.has(graph.namespace.join()));
  if (subagents.length + subgraphs.length === 0) return null;
  return (
    <section className={css.nested} aria-label={words.chat.activity}>
      {subagents.map((agent) => (
        <Card key={agent.id} icon={<Bot size={16} aria-hidden />} kind={words.chat.subagent} name={agent.name} status={agent.status} lead={agent.error ?? agent.taskInput}>
          <Conversation stream={stream} target={agent} />
        </Card>
      ))}
      {subgraphs.map((graph) => (
        <Card key={graph.id} icon={<Workflow size={16} aria-hidden />} kind={words.chat.subgraph} name={graph.nodeName} status={graph.status} lead={undefined}>
          <Conversation stream={stream} target={graph} />
        </Card>
      ))}
    </section>
  );
}

interface CardProps {
  icon: ReactNode;
  kind: string;
  name: string;
  status: "running" | "complete" | "error";
  lead: string | undefined;
  children: ReactNode;
}

/** Opening it subscribes to what goes on inside. */
function Card({ icon, kind, name, status, lead, children }: CardProps) {
  const words = useWords();
  const [open, setOpen] = useState(false);
  return (
    <Collapsible.Root open={open} onOpenChange={setOpen} className={messages.tool}>
      <Collapsible.Trigger className={messages.toolHead}>
        <ChevronRight size={15} aria-hidden className={messages.chevron} />
        {icon}
        <span className={css.name}>{name}</span>
        <span className={messages.gist}>{lead ?? kind}</span>
        <Badge kind={kinds[status]}>{words.chat.nestedStatus[status]}</Badge>
      </Collapsible.Trigger>
      <Collapsible.Content className={messages.toolBody}>{open ? children : null}</Collapsible.Content>
    </Collapsible.Root>
  );
}

function Conversation({ stream, target }: { stream: AnyStream; target: SubagentDiscoverySnapshot | SubgraphDiscoverySnapshot }) {
  const words = useWords();
  const list = useMessages(stream, target);
  const values = useValues<Record<string, unknown>>(stream, target);
  if (list.length === 0) return values ? <Json value={values} label={words.inspector.state} /> : <p>{words.inspector.empty}</p>;
  return (
    <ol className={css.messages}>
      {entriesOf(list).map((entry) => (
        <li key={entry.key} className={css.message}>
          {entry.kind === "human" ? <p className={css.human}>{textOf(entry.message)}</p> : null}
          {entry.kind === "ai" ? (
            <>
              <Markdown text={textOf(entry.message)} />
              {entry.calls.map((call) => <ToolCallCard key={call.id} call={call} />)}
            </>
          ) : null}
        </li>
      ))}
    </ol>
  );
}
