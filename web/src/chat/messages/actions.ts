// What a message's buttons do and what a row needs to know, handed down past the list.
import type { AnyStream } from "@langchain/react";
import { createContext, useContext } from "react";
import type { BaseMessage } from "@langchain/core/messages";
import type { ForkPoint } from "../branches/useForkPoints";
import type { Deciders } from "../stream/decided";
import type { Progress } from "../stream/progress";

export interface MessageActions {
  stream: AnyStream;
  running: boolean;
  /** Messages whose sending, or whose run, failed. */
  failed: ReadonlySet<string>;
  /** Calls about which a question is open. */
  waitingCalls: ReadonlySet<string>;
  progress: Progress;
  /** Who decided about questions that were answered. */
  deciders: Deciders;
  forks: ReadonlyMap<string, ForkPoint>;
  onShow(checkpoint: string): void;
  onEdit(message: BaseMessage, text: string): void;
  onRetry(message: BaseMessage): void;
  onResend(message: BaseMessage): void;
}

export const Actions = createContext<MessageActions | null>(null);

export function useMessageActions(): MessageActions {
  const actions = useContext(Actions);
  if (!actions) throw new Error("A message stands outside of a conversation.");
  return actions;
}
