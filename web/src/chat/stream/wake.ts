// An idle conversation has no open stream: what others do in it, in another tab or through
// the API, is learnt from the server's feed of runs.
import { STREAM_CONTROLLER } from "@langchain/react";
import { useEffect, useRef } from "react";
import { request } from "../../api/request";
import { useFeed } from "../../feed/feed";
import type { Thread } from "../threads/threads";
import type { ChatStream } from "./useChatStream";

/**
 * Reads the conversation again when it changed while this page had no stream of it, and says so. threadId is
 * absent until the server has it.
 */
export function useWake(stream: ChatStream, threadId: string | undefined, changed: () => void): void {
  const controller = stream[STREAM_CONTROLLER];
  const live = useRef(false); // streams stay open from the first run or question on
  const known = useRef<string | undefined>(undefined);
  if (stream.isLoading || stream.interrupts.length > 0) live.current = true;
  useEffect(() => {
    live.current = false;
    known.current = undefined;
  }, [threadId]);

  async function look() {
    if (live.current || !threadId || stream.isThreadLoading) return;
    const { updated_at: updated } = await request<Thread>(`/threads/${threadId}?select=updated_at`);
    if (known.current !== undefined && known.current !== updated && !live.current) {
      await controller.hydrate(threadId);
      changed();
    }
    known.current = updated;
  }
  const { isThreadLoading: loading } = stream;
  useEffect(() => {
    if (!loading) void look().catch(() => {});
  }, [threadId, loading]);
  useFeed("/feeds/runs", () => void look().catch(() => {})); // a later hint tries again
}
