import { memo } from "react";
import type { ResolvedRecord } from "../../approval/cardMessage";
import { ResolvedCard } from "../../approval/ResolvedCard";
import { useMessageActions } from "./actions";
import { AiMessage } from "./AiMessage";
import { textOf } from "./content";
import type { Entry } from "./entries";
import { HumanMessage } from "./HumanMessage";
import css from "./messages.module.css";
import { ToolCallCard } from "./ToolCallCard";

/** One row; rows whose message stayed the same are not rendered again while another one grows. */
export const MessageRow = memo(
  function MessageRow({ entry }: { entry: Entry }) {
    switch (entry.kind) {
      case "human":
        return <HumanMessage message={entry.message} />;
      case "ai":
        return <AiMessage message={entry.message} calls={entry.calls} last={entry.last} />;
      case "card":
        return <Card record={entry.record} />;
      case "tool":
        return <ToolCallCard call={{ id: entry.message.tool_call_id, name: entry.message.name ?? "", args: undefined, result: entry.message }} />;
      default:
        return <p className={css.other}>{textOf(entry.message)}</p>;
    }
  },
  ({ entry: a }, { entry: b }) => a.kind === b.kind && same(a, b),
);

function Card({ record }: { record: ResolvedRecord }) {
  return <ResolvedCard record={record} decided={useMessageActions().deciders.get(record.interrupt_id)?.decided} />;
}

function same(a: Entry, b: Entry): boolean {
  if (a.kind === "card" && b.kind === "card") return a.record === b.record;
  if (a.kind === "card" || b.kind === "card" || a.message !== b.message) return false;
  if (a.kind !== "ai" || b.kind !== "ai") return true;
  return a.last === b.last && a.calls.every((c, i) => c.result === b.calls[i]?.result);
}
