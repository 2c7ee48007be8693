// The rows of the message list: tool results stand with the call that they answer.
import type { AIMessage, BaseMessage, ToolMessage } from "@langchain/core/messages";
import { recordIn, type ResolvedRecord } from "../../approval/cardMessage";

export interface Call {
  id: string;
  name: string;
  args: unknown;
  result: ToolMessage | undefined;
}

export type Entry =
  | { kind: "human"; key: string; message: BaseMessage }
  | { kind: "ai"; key: string; message: AIMessage; calls: Call[]; last: boolean }
  | { kind: "card"; key: string; record: ResolvedRecord }
  | { kind: "tool"; key: string; message: ToolMessage }
  | { kind: "other"; key: string; message: BaseMessage };

export function entriesOf(messages: BaseMessage[]): Entry[] {
  const results = new Map<string, ToolMessage>();
  for (const m of messages) if (isTool(m)) results.set(m.tool_call_id, m);
  const called = new Set<string>();
  const entries: Entry[] = [];
  messages.forEach((message, i) => {
    const key = message.id ?? `at-${i}`;
    const record = recordIn(message.response_metadata);
    if (record) return entries.push({ kind: "card", key, record });
    switch (message.getType()) {
      case "human":
        return entries.push({ kind: "human", key, message });
      case "ai": {
        const calls = ((message as AIMessage).tool_calls ?? []).map((c, k): Call => {
          const id = c.id ?? `${key}-${k}`;
          called.add(id);
          return { id, name: c.name, args: c.args, result: results.get(id) };
        });
        return entries.push({ kind: "ai", key, message: message as AIMessage, calls, last: false });
      }
      case "tool":
        return called.has((message as ToolMessage).tool_call_id) ? undefined : entries.push({ kind: "tool", key, message: message as ToolMessage });
      default:
        return entries.push({ kind: "other", key, message });
    }
  });
  const last = entries.findLast((e) => e.kind === "ai");
  if (last?.kind === "ai") last.last = true;
  return entries;
}

/** Whether a question of the conversation was answered with a card. */
export const hasCards = (messages: BaseMessage[]): boolean => messages.some((m) => recordIn(m.response_metadata) !== undefined);

const isTool = (m: BaseMessage): m is ToolMessage => m.getType() === "tool";
