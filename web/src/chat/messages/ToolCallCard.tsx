// A tool call: what it was asked to do, how far it is, what came of it.
import { ChevronRight, Wrench } from "lucide-react";
import { Collapsible } from "radix-ui";
import { useToolCalls } from "@langchain/react";
import { Json } from "../../json/Json";
import { Badge, type BadgeKind } from "../../ui/Badge";
import { useWords } from "../../words/words";
import { useMessageActions } from "./actions";
import { textOf } from "./content";
import type { Call } from "./entries";
import css from "./messages.module.css";
import { notRun } from "./verdict";

type Status = "running" | "finished" | "error" | "waiting" | "rejected" | "expired" | "unknown";
const kinds: Record<Status, BadgeKind> = { running: "accent", finished: "good", error: "bad", waiting: "wait", rejected: "bad", expired: "bad", unknown: "plain" };

export function ToolCallCard({ call }: { call: Call }) {
  const words = useWords();
  const { stream, running, waitingCalls, progress } = useMessageActions();
  const live = useToolCalls(stream).find((c) => (c.id ?? c.callId) === call.id);
  const failed = call.result?.status === "error";
  const status: Status = call.result ? (failed ? (notRun(call, textOf(call.result)) ?? "error") : "finished")
    : waitingCalls.has(call.id) ? "waiting"
    : live?.status === "running" && running ? "running"
    : live?.error ? "error"
    : running ? "running" : "unknown";
  const result = call.result ? textOf(call.result) : live?.error;
  const told = progress.get(call.id);
  return (
    <Collapsible.Root className={css.tool}>
      <Collapsible.Trigger className={css.toolHead}>
        <ChevronRight size={15} aria-hidden className={css.chevron} />
        <Wrench size={14} aria-hidden />
        <code>{call.name}</code>
        <span className={css.gist}>{gist(call.args)}</span>
        <Badge kind={kinds[status]}>{words.chat.toolStatus[status]}</Badge>
      </Collapsible.Trigger>
      {told && !call.result ? <pre className={css.progress} aria-label={words.chat.progress}>{told.split("\n").slice(-4).join("\n")}</pre> : null}
      <Collapsible.Content className={css.toolBody}>
        {call.args === undefined ? null : <section><h4>{words.chat.arguments}</h4><Json value={call.args} label={words.chat.arguments} /></section>}
        {told ? <section><h4>{words.chat.progress}</h4><pre>{told}</pre></section> : null}
        {result ? <section><h4>{words.chat.result}</h4><Result text={result} label={words.chat.result} /></section> : null}
      </Collapsible.Content>
    </Collapsible.Root>
  );
}

function Result({ text, label }: { text: string; label: string }) {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return <Json value={value} label={label} />;
  } catch {
    // Most results are plain text.
  }
  return <pre className={css.result}>{text}</pre>;
}

/** The arguments in a few words. */
function gist(args: unknown): string {
  if (typeof args !== "object" || args === null) return "";
  return Object.values(args).map((v) => (typeof v === "string" ? v : JSON.stringify(v))).join(" · ").slice(0, 120);
}
